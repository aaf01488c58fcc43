"""Hash function of the packet buffer: a constant matrix over GF(2), nothing but XOR trees."""

from amaranth import Cat, Value

from firmware_models.abi import formats

KEY_BITS = formats.HASH_KEY.width
_mask = (1 << 64) - 1
_salt = 0
"""Chosen so that the low bits of SeqID, pulse, job, node and VP stay independent: see docs/packet_buffer.md."""


def hash_columns(index_bits: int, *, salt: int = _salt) -> list[int]:
    """Columns of the matrix: the hash of a key is the XOR of the columns of its bits that are set.

    The columns are the leading bits of a fixed sequence (SplitMix64), so that every field of the key, and every bit of
    it, reaches every bit of the index.

    Parameters
    ----------
    index_bits : int
        Bits of the hash, 1 to 64.

    Returns
    -------
    list of int
        A column of `index_bits` bits for each bit of the key, from the least significant one.

    Raises
    ------
    ValueError
        If `index_bits` is out of range.
    """
    if not isinstance(index_bits, int) or not 1 <= index_bits <= 64:
        raise ValueError(f"index_bits must be 1 to 64, not {index_bits!r}")
    columns = []
    state = salt
    while len(columns) < KEY_BITS:
        state = (state + 0x9E3779B97F4A7C15) & _mask
        mixed = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & _mask
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _mask
        column = (mixed ^ mixed >> 31) >> (64 - index_bits)
        # A bit that reached nothing would be no part of the key.
        if column:
            columns.append(column)
    return columns


def hash_index(key, index_bits: int) -> Value:
    """The hash of `key` (a view of ``HashKey``) in hardware: `index_bits` XOR trees of half of the key's bits each."""
    bits = key.as_value()
    columns = hash_columns(index_bits)
    return Cat(
        Cat(bits[k] for k in range(KEY_BITS) if columns[k] >> row & 1).xor() for row in range(index_bits)
    )
