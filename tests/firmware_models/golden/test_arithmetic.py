"""Element arithmetic against Python's own floats and integers, and against IEEE 754's rules."""

import itertools
import math
import random
import struct

import numpy as np
import pytest

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.golden import canonical_nan, combine, dtype_of, operators_of

NAN = 0x7FF8000000000000
SPECIAL = [
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000FFFFFFFFFFFFF,
    0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
    0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 0x3FF0000000000000,
    0xBFF0000000000000, 0x3CA0000000000000, 0x3CA0000000000001, 0x4330000000000000, 0x7FD0000000000000,
]
"""Zeros, subnormals, least and greatest normals, infinities, NaNs of all kinds, ones, halves of a last place."""


def to_float(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def to_bits(value):
    return NAN if math.isnan(value) else struct.unpack("<Q", struct.pack("<d", value))[0]


def expected(operator, x, y):
    """The result in Python's floats, whose sum and product are the host's IEEE 754 ones."""
    a, b = to_float(x), to_float(y)
    if operator is Operator.SUM:
        return to_bits(a + b)
    if operator is Operator.PROD:
        return to_bits(a * b)
    if math.isnan(a) or math.isnan(b):
        return NAN
    # The sign decides between zeros.
    least, greatest = sorted((a, b), key=lambda value: (value, math.copysign(1, value)))
    return to_bits(least if operator is Operator.MIN else greatest)


@pytest.mark.parametrize("operator", [Operator.SUM, Operator.PROD, Operator.MIN, Operator.MAX])
def test_float64(operator):
    """All pairs of special values, and random bit patterns; either way round gives the same bits."""
    rng = random.Random("float64")
    pairs = list(itertools.product(SPECIAL, repeat=2))
    pairs += [(rng.getrandbits(64), rng.getrandbits(64)) for _ in range(2000)]
    # Exponents close to each other, so that the fractions meet.
    pairs += [(x, x ^ rng.getrandbits(54)) for x in (rng.getrandbits(64) for _ in range(2000))]
    a, b = (np.array(side, np.uint64).view(np.float64) for side in zip(*pairs, strict=True))
    got = combine(a, b, datatype=Datatype.FLOAT64, operator=operator).view(np.uint64).tolist()
    assert got == [expected(operator, x, y) for x, y in pairs]
    turned = combine(b, a, datatype=Datatype.FLOAT64, operator=operator).view(np.uint64).tolist()
    assert turned == got


def test_float32_stays_float32():
    """Sums of singles are rounded to singles; their NaN is their own."""
    a = np.array([1, np.nan, 3e38, -0.0], np.float32)
    b = np.array([2**-24, 1, 3e38, 0.0], np.float32)
    for operator in (Operator.SUM, Operator.MIN, Operator.MAX, Operator.PROD):
        assert combine(a, b, datatype=Datatype.FLOAT32, operator=operator).dtype == np.float32
    got = combine(a, b, datatype=Datatype.FLOAT32, operator=Operator.SUM)
    assert [hex(bits) for bits in got.view(np.uint32)] == ["0x3f800000", "0x7fc00000", "0x7f800000", "0x0"]
    assert canonical_nan("f4").view(np.uint32) == 0x7FC00000


@pytest.mark.parametrize("datatype", [Datatype.INT64, Datatype.UINT64, Datatype.INT32])
def test_integers(datatype):
    """Integers wrap; comparison minds the sign, bit operators do not."""
    dtype = dtype_of(datatype)
    bits = 8 * dtype.itemsize
    limits = np.iinfo(dtype)
    values = [int(limits.min), int(limits.max), 0, 1, int(limits.max) - 1, 0x55555555]
    exact = {
        Operator.SUM: lambda x, y: x + y, Operator.PROD: lambda x, y: x * y, Operator.MIN: min, Operator.MAX: max,
        Operator.AND: lambda x, y: x & y, Operator.OR: lambda x, y: x | y, Operator.XOR: lambda x, y: x ^ y,
    }
    assert set(operators_of(datatype)) == set(exact)
    for (x, y), (operator, compute) in itertools.product(itertools.product(values, repeat=2), exact.items()):
        got = combine(np.array([x], dtype), np.array([y], dtype), datatype=datatype, operator=operator)
        assert (int(got[0]) - compute(x, y)) % (1 << bits) == 0, (x, y, operator)


def test_extreme_and_where_it_is():
    """MPI's rule, spelled out for one pair at a time; a NaN wins, and of two the lower index."""
    values = [-np.inf, -1.5, -0.0, 0.0, 5e-324, 2.0, np.inf, np.nan, np.array(0x7FF0000000000001).view("f8")[()]]
    kind = dtype_of(Datatype.DOUBLE_INT)
    elements = [(value, index) for value in values for index in (-(1 << 31), -1, 0, (1 << 31) - 1)]
    for (x, i), (y, j) in itertools.product(elements, repeat=2):
        a, b = np.array([(x, i, 7)], kind), np.array([(y, j, 9)], kind)
        for operator, sign in ((Operator.MINLOC, 1), (Operator.MAXLOC, -1)):
            if np.isnan(x) or np.isnan(y):
                value, index = canonical_nan("f8"), min(k for v, k in ((x, i), (y, j)) if np.isnan(v))
            elif x == y:
                # Only zeros differ in their bits then.
                value, index = (x if np.signbit(x) == (sign == 1) else y), min(i, j)
            else:
                value, index = (x, i) if sign * x < sign * y else (y, j)
            got = combine(a, b, datatype=Datatype.DOUBLE_INT, operator=operator)
            assert got.tobytes() == np.array([(value, index, 0)], kind).tobytes(), (x, i, y, j, operator)
            assert got.tobytes() == combine(b, a, datatype=Datatype.DOUBLE_INT, operator=operator).tobytes()
    with pytest.raises(ValueError, match=r"^operator of double_int must be one of minloc, maxloc, not <Operator.SUM"):
        combine(a, b, datatype=Datatype.DOUBLE_INT, operator=Operator.SUM)


def test_refused():
    """Combinations that mean nothing."""
    one = np.ones(1)
    with pytest.raises(ValueError, match=r"^operator of float64 must be one of sum, min, max, prod, not <Operator.XOR"):
        combine(one, one, datatype=Datatype.FLOAT64, operator=Operator.XOR)
    with pytest.raises(ValueError, match=r"^operator of byte must be one of none"):
        combine(np.ones(1, np.uint8), np.ones(1, np.uint8), datatype=Datatype.BYTE, operator=Operator.SUM)
    with pytest.raises(ValueError, match=r"^datatype must be one of float64, .*, double_int, not 15$"):
        dtype_of(15)
