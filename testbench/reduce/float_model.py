"""Exact rational model of binary floating-point addition and multiplication, slow and plain.

Independent of the hardware: numbers are fractions, rounding is done by definition.
"""

from fractions import Fraction

from rtl.reduce.float_format import FloatFormat


def split(bits: int, fmt: FloatFormat) -> tuple[int, int, int]:
    """Sign, stored exponent and fraction."""
    return (
        bits >> (fmt.width - 1),
        bits >> fmt.fraction_bits & fmt.max_exponent,
        bits & ((1 << fmt.fraction_bits) - 1),
    )


def value(bits: int, fmt: FloatFormat) -> Fraction:
    """The number that finite `bits` stand for; both zeros are 0."""
    sign, exponent, fraction = split(bits, fmt)
    significand = fraction + ((1 << fmt.fraction_bits) if exponent else 0)
    magnitude = significand * Fraction(2) ** (max(exponent, 1) - fmt.bias - fmt.fraction_bits)
    return -magnitude if sign else magnitude


def rounded(magnitude: Fraction, fmt: FloatFormat) -> int:
    """The bits of the number nearest to a `magnitude` of at least 0; of two, the one whose last bit is 0.

    Non-negative numbers in ascending order have consecutive bits; the one beyond the largest finite number is infinity,
    which takes the place of the power of two that would follow.
    """
    low, high = 0, fmt.infinity
    while high - low > 1:
        middle = (low + high) // 2
        if value(middle, fmt) <= magnitude:
            low = middle
        else:
            high = middle
    beyond = Fraction(2) ** (fmt.max_exponent - fmt.bias) if high == fmt.infinity else value(high, fmt)
    below, above = magnitude - value(low, fmt), beyond - magnitude
    if below == above:
        return low if low % 2 == 0 else high
    return low if below < above else high


def add(a: int, b: int, fmt: FloatFormat) -> int:
    """The bits of a + b, to nearest even; every NaN is the canonical one."""
    sign_a, exponent_a, fraction_a = split(a, fmt)
    sign_b, exponent_b, fraction_b = split(b, fmt)
    special_a, special_b = exponent_a == fmt.max_exponent, exponent_b == fmt.max_exponent
    if (special_a and fraction_a) or (special_b and fraction_b) or (special_a and special_b and sign_a != sign_b):
        return fmt.canonical_nan
    if special_a or special_b:
        return a if special_a else b
    total = value(a, fmt) + value(b, fmt)
    if total == 0:
        # Only two negative zeros give a negative zero.
        sign = sign_a & sign_b
    else:
        sign = int(total < 0)
    return sign << (fmt.width - 1) | rounded(abs(total), fmt)


def multiply(a: int, b: int, fmt: FloatFormat) -> int:
    """The bits of a * b, to nearest even; every NaN is the canonical one."""
    sign_a, exponent_a, fraction_a = split(a, fmt)
    sign_b, exponent_b, fraction_b = split(b, fmt)
    special_a, special_b = exponent_a == fmt.max_exponent, exponent_b == fmt.max_exponent
    zero_a, zero_b = not (exponent_a or fraction_a), not (exponent_b or fraction_b)
    if (special_a and (fraction_a or zero_b)) or (special_b and (fraction_b or zero_a)):
        return fmt.canonical_nan
    sign = (sign_a ^ sign_b) << (fmt.width - 1)
    if special_a or special_b:
        return sign | fmt.infinity
    return sign | rounded(abs(value(a, fmt) * value(b, fmt)), fmt)
