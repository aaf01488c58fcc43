"""Binary floating-point formats of IEEE 754, as parameters of the arithmetic units."""

from dataclasses import dataclass

from amaranth.lib import data


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """An IEEE 754 binary interchange format: sign, biased exponent, fraction, from the top down.

    Parameters
    ----------
    exponent_bits : int
        Bits of the biased exponent. At least 2.
    fraction_bits : int
        Bits of the fraction as stored, without the hidden bit. At least 2.
    """

    exponent_bits: int
    fraction_bits: int

    def __post_init__(self) -> None:
        for name in ("exponent_bits", "fraction_bits"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 2:
                raise ValueError(f"{name} must be an integer of at least 2, not {value!r}")

    @property
    def width(self) -> int:
        """Bits of a number."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def significand_bits(self) -> int:
        """Bits of a significand: the fraction and the hidden bit."""
        return self.fraction_bits + 1

    @property
    def bias(self) -> int:
        """Bias: the number that is added to an exponent to store it."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def max_exponent(self) -> int:
        """The stored exponent of infinities and NaNs: all ones."""
        return (1 << self.exponent_bits) - 1

    @property
    def infinity(self) -> int:
        """The bits of +infinity."""
        return self.max_exponent << self.fraction_bits

    @property
    def canonical_nan(self) -> int:
        """The bits of the one NaN that the units produce: positive, quiet, no payload."""
        return self.infinity | 1 << (self.fraction_bits - 1)

    @property
    def layout(self) -> data.StructLayout:
        """The fields of a number."""
        return data.StructLayout({"fraction": self.fraction_bits, "exponent": self.exponent_bits, "sign": 1})


FLOAT64 = FloatFormat(exponent_bits=11, fraction_bits=52)
"""IEEE 754 binary64."""

FLOAT32 = FloatFormat(exponent_bits=8, fraction_bits=23)
"""IEEE 754 binary32."""

FLOAT8 = FloatFormat(exponent_bits=3, fraction_bits=4)
"""A format so small that every pair of numbers can be tried."""

FLOAT6 = FloatFormat(exponent_bits=3, fraction_bits=2)
"""A still smaller one, within reach of formal proofs."""
