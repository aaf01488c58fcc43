"""Operands that arithmetic of floats must get right, and what NumPy says of sums of doubles."""

import random

import numpy as np

CANONICAL_NAN = 0x7FF8000000000000

_magnitudes = {
    "zero": 0x0000000000000000,
    "smallest subnormal": 0x0000000000000001,
    "a subnormal": 0x0004000000000001,
    "largest subnormal": 0x000FFFFFFFFFFFFF,
    "smallest normal": 0x0010000000000000,
    "second normal": 0x0010000000000001,
    "end of the lowest binade": 0x001FFFFFFFFFFFFF,
    "near the lowest binade": 0x0020000000000000,
    "half an ulp of 1": 0x3CA0000000000000,
    "half an ulp of 1, and a bit": 0x3CA0000000000001,
    "a quarter ulp of 1": 0x3C90000000000000,
    "an ulp of 1": 0x3CB0000000000000,
    "three halves of an ulp of 1": 0x3CB8000000000000,
    "just below 1": 0x3FEFFFFFFFFFFFFF,
    "1": 0x3FF0000000000000,
    "1 and an ulp": 0x3FF0000000000001,
    "1 and two ulps": 0x3FF0000000000002,
    "just below 2": 0x3FFFFFFFFFFFFFFF,
    "2": 0x4000000000000000,
    "1e8": 0x4197D78400000000,
    "2 to 53": 0x4340000000000000,
    "2 to 53, and one": 0x4340000000000001,
    "half an ulp of the largest": 0x7C90000000000000,
    "just below half an ulp of the largest": 0x7C8FFFFFFFFFFFFF,
    "half of the largest": 0x7FDFFFFFFFFFFFFF,
    "largest power of 2": 0x7FE0000000000000,
    "largest": 0x7FEFFFFFFFFFFFFF,
    "infinity": 0x7FF0000000000000,
    "signalling NaN": 0x7FF0000000000001,
    "quiet NaN": 0x7FF8000000000000,
    "quiet NaN with payload": 0x7FFFFFFFFFFFFFFF,
}

CORNERS = [sign << 63 | bits for bits in _magnitudes.values() for sign in (0, 1)]
"""The bits of one number or more of every class, with both signs."""


CORNERS_32 = [sign << 31 | bits for sign in (0, 1) for bits in (
    0x00000000, 0x00000001, 0x00400001, 0x007FFFFF, 0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000, 0x33000000,
    0x33800000, 0x33800001, 0x34000000, 0x34400000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3F800002, 0x3FFFFFFF,
    0x40000000, 0x4B800000, 0x4B800001, 0x72FFFFFF, 0x73000000, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFF, 0x7F800000,
    0x7F800001, 0x7FC00000, 0x7FFFFFFF,
)]
"""The same classes of singles, in the same order but for a few."""


def expected_sum(a: int, b: int) -> int:
    """The bits of a + b as NumPy computes it, every NaN as the canonical one."""
    with np.errstate(all="ignore"):
        total = np.array([a], np.uint64).view(np.float64) + np.array([b], np.uint64).view(np.float64)
    return CANONICAL_NAN if np.isnan(total[0]) else int(total.view(np.uint64)[0])


def random_pair(numbers: random.Random) -> tuple[int, int]:
    """Any bits, or a pair that cancels, or one whose exponents are within reach of each other."""
    a, b = numbers.getrandbits(64), numbers.getrandbits(64)
    kind = numbers.randrange(3)
    if kind == 1:
        b = (a ^ 1 << 63) + numbers.randrange(-4, 5)
    elif kind == 2:
        exponent = min(max((a >> 52 & 0x7FF) + numbers.randrange(-56, 57), 0), 0x7FF)
        b = b & ~(0x7FF << 52) | exponent << 52
    return a, b & (1 << 64) - 1
