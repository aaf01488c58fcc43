"""Arrangements of bits that the steps of an adder are made of."""

from amaranth import Cat, Const, Mux, Value
from amaranth.utils import bits_for


def parts(bits: Value, length: int) -> list[Value]:
    """`bits` cut into parts of `length`, the last one perhaps shorter."""
    return [bits[start:start + length] for start in range(0, len(bits), length)]


def spread(n_levels: int, n_steps: int) -> list[list[int]]:
    """The levels of a shifter, the longest first, over a number of steps."""
    levels = list(reversed(range(n_levels)))
    return [levels[step * n_levels // n_steps:(step + 1) * n_levels // n_steps] for step in range(n_steps)]


def shifted_left(bits: Value, distance: int) -> Value:
    """`bits` shifted left within their width; zeros come in."""
    return Cat(Const(0, distance), bits)[:len(bits)]


def first(bits: Value) -> Value:
    """The place of the lowest one in `bits`; any place if there is none."""
    places = 1 << bits_for(max(1, len(bits) - 1))
    padded = Cat(bits, Const(0, places))[:places]
    half = places // 2
    if half == 1:
        return ~padded[0]
    low, high = padded[:half], padded[half:]
    return Cat(Mux(low.any(), first(low), first(high)), ~low.any())
