"""The comparison without a carry, against a sum: every pair of numbers, of equal and of different widths."""

import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from rtl.kit.successor import is_next


@pytest.mark.parametrize(("width", "other"), [(1, 1), (4, 4), (5, 5), (3, 5), (5, 3)])
def test_all_pairs(width: int, other: int) -> None:
    m = Module()
    value, successor, found = Signal(width), Signal(other), Signal()
    m.d.comb += found.eq(is_next(value, successor))
    wrong = []

    async def compare(context) -> None:
        for a in range(1 << width):
            for b in range(1 << other):
                context.set(value, a)
                context.set(successor, b)
                await context.delay(1e-9)
                if context.get(found) != (b == a + 1):
                    wrong.append((a, b))

    simulator = Simulator(m)
    simulator.add_testbench(compare)
    simulator.run()
    assert not wrong
