"""The floating-point adder: tiny formats in full, large ones on millions of pairs, at every depth."""

import random
import re

import pytest

from rtl.reduce.float_add import CUTS, FloatAdd
from rtl.reduce.float_format import FLOAT8, FLOAT32, FLOAT64, FloatFormat
from testbench.reduce import float_model
from testbench.reduce.float_fast import check
from testbench.reduce.operands import CANONICAL_NAN, CORNERS, expected_sum, random_pair
from testbench.seed import drawn


@pytest.fixture
def seed():
    return drawn()


def assert_clean(result, *, pairs, depths):
    print({key: value for key, value in result.items() if key != "log"})
    assert result["mismatches"] == 0, result["log"]
    assert result["checked"] == pairs * depths


def test_every_pair_of_a_tiny_format_at_every_depth():
    assert_clean(check(FLOAT8, list(CUTS)), pairs=1 << 16, depths=len(CUTS))


@pytest.mark.long
def test_doubles_at_every_depth(seed):
    assert_clean(check(FLOAT64, list(CUTS), pairs=1_000_000, seed=seed), pairs=1_000_000, depths=len(CUTS))


def test_ten_million_doubles(seed):
    assert_clean(check(FLOAT64, [8], pairs=10_000_000, seed=seed), pairs=10_000_000, depths=1)


def test_singles(seed):
    assert_clean(check(FLOAT32, [5, 8, 16], pairs=1_000_000, seed=seed), pairs=1_000_000, depths=3)


@pytest.mark.long
@pytest.mark.parametrize(("exponent_bits", "fraction_bits"), [(2, 2), (2, 5), (3, 2), (3, 5), (4, 3), (4, 4), (5, 2)])
def test_every_pair_of_other_tiny_formats(exponent_bits, fraction_bits):
    fmt = FloatFormat(exponent_bits=exponent_bits, fraction_bits=fraction_bits)
    assert_clean(check(fmt, list(CUTS)), pairs=1 << 2 * fmt.width, depths=len(CUTS))


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_a_billion_doubles(part, seed):
    """A tenth of them in each part, with a seed of its own."""
    assert_clean(check(FLOAT64, [8], pairs=100_000_000, seed=seed + part), pairs=100_000_000, depths=1)


def test_the_model_agrees_with_numpy(seed):
    """The exact model, which judges the tiny formats, is itself judged at the format that NumPy has."""
    numbers = random.Random(seed)
    pairs = [(a, b) for a in CORNERS for b in CORNERS[::5]] + [random_pair(numbers) for _ in range(500)]
    for a, b in pairs:
        assert float_model.add(a, b, FLOAT64) == expected_sum(a, b), f"{a:016x} + {b:016x}"


def test_formats():
    assert (FLOAT64.width, FLOAT64.bias, FLOAT64.canonical_nan) == (64, 1023, CANONICAL_NAN)
    assert (FLOAT32.width, FLOAT32.bias, FLOAT32.canonical_nan) == (32, 127, 0x7FC00000)
    assert FLOAT8.layout.size == FLOAT8.width == 8
    with pytest.raises(ValueError, match=r"^fraction_bits must be an integer of at least 2, not 1$"):
        FloatFormat(exponent_bits=3, fraction_bits=1)


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cycles": 4}, "cycles must be from 5 to 16, not 4"),
        ({"cycles": 17}, "cycles must be from 5 to 16, not 17"),
        ({"tag_width": -1}, "tag_width must be a non-negative integer, not -1"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        FloatAdd(**parameters)


def test_depths_are_what_the_cuts_say():
    assert {cycles: len(cuts.split()) for cycles, cuts in CUTS.items()} == {cycles: cycles for cycles in range(5, 17)}
