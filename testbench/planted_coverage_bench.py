"""Covers what its parameters make it send: a test of the promise of coverage."""

import cocotb

from testbench import clock
from testbench.coverage import cover
from testbench.runner import parameters
from testbench.stream import StreamSink, StreamSource

noted = cover("item", value=(0, 1, 2, 3), parity=("even", "odd"), never=[
    (value, ("odd", "even")[value % 2]) for value in range(4)
])


@cocotb.test()
async def sends(dut):
    source, sink = StreamSource(dut, "i", 8), StreamSink(dut, "o", 8)
    await clock.start(dut)
    items = parameters()["items"]
    source.extend(items)
    for value in await sink.receive_all(len(items)):
        noted(value=value, parity=("even", "odd")[value % 2])
