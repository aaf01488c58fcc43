"""Single error correction, double error detection: an odd-weight-column code (Hsiao)."""

from itertools import combinations

from amaranth import Cat, Const, Module, Signal, Value


def check_columns(data_bits: int) -> list[int]:
    """Check bits that each data bit takes part in, as numbers: distinct, of odd weight, lightest first.

    With the columns of the check bits themselves (weight 1) they make a code of distance 4: two errors give a
    syndrome of even weight, which no single one has.

    Raises
    ------
    ValueError
        If `data_bits` is no positive integer.
    """
    if not isinstance(data_bits, int) or data_bits < 1:
        raise ValueError(f"data_bits must be a positive integer, not {data_bits!r}")
    n_checks = next(r for r in range(3, 64) if (1 << (r - 1)) - r >= data_bits)
    columns = [
        sum(1 << bit for bit in chosen)
        for weight in range(3, n_checks + 1, 2)
        for chosen in combinations(range(n_checks), weight)
    ]
    # Spread over the list, so that the check bits have about as many inputs each.
    return sorted(columns[:data_bits], key=lambda column: (column.bit_count(), column * 0x9E3779B1 % (1 << 16)))


class Secded:
    """The code for words of `data_bits`: data first, check bits above.

    Parameters
    ----------
    data_bits : int
        Bits of a word without check bits. At least 1.
    """

    def __init__(self, data_bits: int):
        self.columns = check_columns(data_bits)
        self.data_bits = data_bits
        self.check_bits = max(self.columns).bit_length()
        self.width = data_bits + self.check_bits

    def _checks(self, bits: Value) -> Value:
        return Cat(
            Cat(bits[k] for k, column in enumerate(self.columns) if column >> row & 1).xor()
            for row in range(self.check_bits)
        )

    def encode(self, bits) -> Value:
        """The codeword of `bits`."""
        bits = Value.cast(bits)
        return Cat(bits, self._checks(bits))

    def encode_int(self, bits: int) -> int:
        """The codeword of a number."""
        checks = 0
        for k, column in enumerate(self.columns):
            checks ^= column if bits >> k & 1 else 0
        return bits | checks << self.data_bits

    def decode(self, m: Module, word, *, name: str):
        """Adds a decoder to `m`: the data of `word` (corrected), whether one bit was wrong, whether more were."""
        word = Value.cast(word)
        syndrome = Signal(self.check_bits, name=f"{name}_syndrome")
        fixed = Signal(self.data_bits, name=f"{name}_fixed")
        single, double = Signal(name=f"{name}_single"), Signal(name=f"{name}_double")
        m.d.comb += [
            syndrome.eq(self._checks(word[: self.data_bits]) ^ word[self.data_bits :]),
            fixed.eq(word[: self.data_bits] ^ Cat(syndrome == column for column in self.columns)),
        ]
        flips = Cat(
            *(syndrome == column for column in self.columns),
            *(syndrome == Const(1 << row, self.check_bits) for row in range(self.check_bits)),
        )
        m.d.comb += [single.eq(flips.any()), double.eq((syndrome != 0) & ~flips.any())]
        return fixed, single, double
