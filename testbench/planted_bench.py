"""Bench of the planted faults, with the drivers and checkers that every bench uses."""

import cocotb
from cocotb.handle import SimHandleBase

from testbench import clock
from testbench.runner import parameters, report, rng
from testbench.stream import StreamChecker, StreamMonitor, StreamSink, StreamSource


@cocotb.test()
async def passes_items_on(dut: SimHandleBase) -> None:
    """Items that go in come out."""
    source = StreamSource(dut, "i", 8)
    sink = StreamSink(dut, "o", 8)
    await clock.start(dut, max_cycles=5_000)
    StreamChecker(dut, "i", 8)
    monitor = StreamMonitor(dut, "i", 8)
    numbers = rng("items")
    items = [numbers.getrandbits(8) for _ in range(400)]
    source.extend(items)
    await sink.receive_all(len(items))
    await clock.cycles(dut, 40)
    assert monitor.received == items
    assert sink.received == items
    report(first=items[0], given=parameters())


@cocotb.test()
async def hangs(dut: SimHandleBase) -> None:
    """Does not end by itself: the watchdog of the clock must do it."""
    await clock.start(dut, max_cycles=100)
    await clock.cycles(dut, 1_000_000)
