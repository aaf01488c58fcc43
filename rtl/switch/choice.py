"""Choices among vectors of bits, in balanced trees of gates."""

from collections.abc import Sequence

from amaranth import Mux
from amaranth.hdl import Value


def union(values: Sequence[Value]) -> Value:
    """The bits of all values."""
    while len(values) > 1:
        values = [values[k] | values[k + 1] if k + 1 < len(values) else values[k] for k in range(0, len(values), 2)]
    return values[0]


def one_of(chosen: Value, values: Sequence[Value]) -> Value:
    """The value whose bit of `chosen` is set, of which there is one at most; else 0."""
    return union([Mux(chosen[number], value, 0) for number, value in enumerate(values)])


def round_robin(requests: Value, after: Value) -> Value:
    """One of the requests: the lowest of those in `after` if there is one. x & -x maps onto a carry chain."""
    preferred = requests & after
    pool = Mux(preferred.any(), preferred, requests)
    return pool & -pool
