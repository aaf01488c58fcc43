"""The floating-point multiplier: tiny formats in full, large ones on millions of pairs, at every depth."""

import random

import numpy as np
import pytest

from rtl.reduce.float_format import FLOAT8, FLOAT32, FLOAT64, FloatFormat
from rtl.reduce.float_multiply import MULTIPLY_CUTS, FloatMultiply
from testbench.reduce import float_model
from testbench.reduce.float_fast import check
from testbench.reduce.operands import CANONICAL_NAN, CORNERS, random_pair
from testbench.seed import drawn

DEPTHS = list(MULTIPLY_CUTS)


@pytest.fixture
def seed():
    return drawn()


def assert_clean(result, *, pairs, depths):
    print({key: value for key, value in result.items() if key != "log"})
    assert result["mismatches"] == 0, result["log"]
    assert result["checked"] == pairs * depths


def test_every_pair_of_a_tiny_format_at_every_depth():
    assert_clean(check(FLOAT8, DEPTHS, unit="multiply"), pairs=1 << 16, depths=len(DEPTHS))


def test_doubles(seed):
    assert_clean(check(FLOAT64, [8], unit="multiply", pairs=1_000_000, seed=seed), pairs=1_000_000, depths=1)


@pytest.mark.long
def test_doubles_at_every_depth(seed):
    result = check(FLOAT64, DEPTHS, unit="multiply", pairs=200_000, seed=seed)
    assert_clean(result, pairs=200_000, depths=len(DEPTHS))


@pytest.mark.long
@pytest.mark.parametrize(("exponent_bits", "fraction_bits"), [(2, 2), (2, 5), (3, 2), (3, 5), (4, 3), (4, 4), (5, 2)])
def test_every_pair_of_other_tiny_formats(exponent_bits, fraction_bits):
    fmt = FloatFormat(exponent_bits=exponent_bits, fraction_bits=fraction_bits)
    assert_clean(check(fmt, DEPTHS, unit="multiply"), pairs=1 << 2 * fmt.width, depths=len(DEPTHS))


@pytest.mark.long
@pytest.mark.parametrize("fmt", [FLOAT64, FLOAT32])
def test_a_hundred_million_pairs(fmt, seed):
    assert_clean(check(fmt, [8], unit="multiply", pairs=100_000_000, seed=seed), pairs=100_000_000, depths=1)


def test_the_model_agrees_with_numpy(seed):
    """The exact model, which judges the tiny formats, is itself judged at the format that NumPy has."""
    numbers = random.Random(seed)
    pairs = [(a, b) for a in CORNERS for b in CORNERS[::5]] + [random_pair(numbers) for _ in range(500)]
    for a, b in pairs:
        with np.errstate(all="ignore"):
            product = np.array([a], np.uint64).view("f8") * np.array([b], np.uint64).view("f8")
        expected = CANONICAL_NAN if np.isnan(product[0]) else int(product.view(np.uint64)[0])
        assert float_model.multiply(a, b, FLOAT64) == expected, f"{a:016x} * {b:016x}"


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("cycles", [4, 17])
def test_depths_that_there_are_not(cycles):
    with pytest.raises(ValueError, match=f"^cycles must be from 5 to 16, not {cycles!r}$"):
        FloatMultiply(cycles=cycles)
