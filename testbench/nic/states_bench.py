"""Bench of the counters of states: beside a tally of every cycle."""

from collections import Counter

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.registers import STATE_COUNTERS
from testbench.clock import start
from testbench.runner import parameters, report, rng

LATE = 1
"""Cycles after which a cycle is counted."""


@cocotb.test()
async def every_cycle_is_counted_once(dut: SimHandleBase) -> None:
    """Runs of states, short and long; all counters together hold every cycle."""
    n, numbers = len(STATE_COUNTERS), rng("states")
    dut.state.value = dut.index.value = 0
    await start(dut)
    held: list[Counter[int]] = []
    total: Counter[int] = Counter()
    state, seen, indexes = 0, Counter[int](), []
    for cycle in range(parameters()["cycles"]):
        if numbers.random() < 0.3:
            state = numbers.randrange(n)
        index = numbers.randrange(n)
        dut.state.value, dut.index.value = state, index
        total[state] += 1
        held.append(total.copy())
        indexes.append(index)
        await RisingEdge(dut.clk)
        if cycle >= LATE:
            value, asked = int(dut.value.value), indexes[cycle]
            expected = held[cycle - LATE][asked] + before(asked)
            assert value == expected, (cycle, asked, value, expected)
            seen[asked] += 1
    assert len(seen) == n
    report(reads=sum(seen.values()), cycles=sum(total.values()))


def before(state: int) -> int:
    """Cycles between reset and the first that the bench has counted: all in state 0."""
    return parameters()["before"] if state == 0 else 0
