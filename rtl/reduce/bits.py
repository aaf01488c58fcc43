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
    """The index of the lowest one in `bits`; any index if there is none."""
    width = 1 << bits_for(max(1, len(bits) - 1))
    padded = Cat(bits, Const(0, width))[:width]
    half = width // 2
    if half == 1:
        return ~padded[0]
    low, high = padded[:half], padded[half:]
    return Cat(Mux(low.any(), first(low), first(high)), ~low.any())


def borrow(a: Value, b: Value) -> Value:
    """High if ``a - b`` is negative: a carry chain, and no inverter before or behind it."""
    return (Cat(a, Const(0, 1)) - Cat(b, Const(0, 1)))[len(a)]


def ripple(a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    """Sum of a few bits in plain gates, and its carry: for so few a carry chain's way in and out takes longer."""
    total = []
    for x, y in zip(a, b, strict=False):
        total.append(x ^ y ^ carry)
        carry = (x & y) | (carry & (x | y))
    return Cat(total), carry
