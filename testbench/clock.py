"""Clock and reset of a bench."""

import cocotb
from cocotb.clock import Clock
from cocotb.handle import SimHandleBase
from cocotb.task import current_task
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from testbench import guard
from testbench.guard import PERIOD_NS, BenchTimeoutError
from testbench.runner import inputs

__all__ = ["PERIOD_NS", "BenchTimeoutError", "cycles", "start"]


async def start(dut: SimHandleBase, *, reset_cycles: int = 3, max_cycles: int | None = 200_000) -> None:
    """Puts 0 on every input, starts the clock, holds the reset for a while; returns right after a rising edge.

    Inputs would keep the values of the test before otherwise. So set plain inputs after this call; drivers may be made
    before. The test fails if it is still running `max_cycles` later, if that is given, or when the bench's bound of
    wall time is over.
    """
    guard.watch_test(current_task())
    for name in inputs():
        getattr(dut, name).value = 0
    # The first edge finds inputs and reset in place, also in a simulator in which they are unknown at the beginning.
    dut.clk.value = 0
    dut.rst.value = 1
    await Timer(PERIOD_NS, unit="ns")
    Clock(dut.clk, PERIOD_NS, unit="ns").start()
    await ClockCycles(dut.clk, reset_cycles)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    cocotb.start_soon(guard.watch(dut.clk, max_cycles))


async def cycles(dut: SimHandleBase, count: int) -> None:
    """Waits for `count` rising edges."""
    for _ in range(count):
        await RisingEdge(dut.clk)
