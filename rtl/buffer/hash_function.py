"""Hash functions of the packet buffer: constant matrices over GF(2), nothing but XOR trees."""

from amaranth import Cat, Value

from firmware_models.abi import formats

KEY_BITS = formats.HASH_KEY.width
_mask = (1 << 64) - 1
_salts = (1506804712, 177459894, 920066489, 980366530)
"""Of four banks, searched for: with consecutive numbers in any two fields, or in JobID, SeqID, pulse and fragment, each
bank has as many keys in one row as in another. See docs/packet_buffer.md."""


def hash_columns(index_bits: int, *, bank: int = 0) -> list[int]:
    """Columns of the matrix: the hash of a key is the XOR of the columns of its bits that are set.

    The columns are the leading bits of a fixed sequence (SplitMix64), so that every field of the key, and every bit of
    it, reaches every bit of the index. Each bank has a sequence of its own.

    Parameters
    ----------
    index_bits : int
        Bits of the hash, 1 to 64.
    bank : int
        Which of the functions, from 0.

    Returns
    -------
    list of int
        A column of `index_bits` bits for each bit of the key, from the least significant one.

    Raises
    ------
    ValueError
        If `index_bits` or `bank` is out of range.
    """
    if not isinstance(index_bits, int) or not 1 <= index_bits <= 64:
        raise ValueError(f"index_bits must be 1 to 64, not {index_bits!r}")
    if not isinstance(bank, int) or bank < 0:
        raise ValueError(f"bank must be an integer from 0 on, not {bank!r}")
    columns = []
    state = _salts[bank % len(_salts)] ^ bank // len(_salts) * 0xD1342543DE82EF95 & _mask
    while len(columns) < KEY_BITS:
        state = (state + 0x9E3779B97F4A7C15) & _mask
        mixed = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & _mask
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _mask
        column = (mixed ^ mixed >> 31) >> (64 - index_bits)
        # A bit that reached nothing would be no part of the key.
        if column:
            columns.append(column)
    return columns


def hash_index(key, index_bits: int, *, bank: int = 0) -> Value:
    """The hash of `key` (a view of ``HashKey``) in hardware: `index_bits` XOR trees of half of the key's bits each."""
    bits = Value.cast(key)
    columns = hash_columns(index_bits, bank=bank)
    return Cat(
        Cat(bits[k] for k in range(KEY_BITS) if columns[k] >> row & 1).xor() for row in range(index_bits)
    )
