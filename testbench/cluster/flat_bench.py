"""A collective on a flat cluster: what the host library would do on the simulator, access by access.

Parameters: `recording`, the path of a JSON file with the accesses. Reports the cycles and the seconds from the first
doorbell to the last completion.
"""

import json
import logging
import time
from pathlib import Path

import cocotb
from cocotb.triggers import Combine, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from testbench import clock
from testbench.runner import parameters, report


@cocotb.test()
async def collective(dut):
    recording = json.loads(Path(parameters()["recording"]).read_text())
    logging.getLogger("cocotb").setLevel(logging.ERROR)
    nodes = range(recording["nodes"])
    memories = [
        AxiRam(AxiBus.from_prefix(dut, f"m_axi__{node}_"), dut.clk, dut.rst, size=recording["memory_bytes"])
        for node in nodes
    ]
    registers = [AxiLiteMaster(AxiLiteBus.from_prefix(dut, f"s_axil__{node}_"), dut.clk, dut.rst) for node in nodes]
    switch = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "switch_axil_"), dut.clk, dut.rst)
    await clock.start(dut, max_cycles=None)
    for node in nodes:
        for address, content in recording["stores"][node]:
            memories[node].write(address, bytes.fromhex(content))

    async def write(port, accesses):
        for address, value in accesses:
            await port.write_dword(address, value)

    async def both(parts):
        await Combine(*(cocotb.start_soon(part) for part in parts))

    set_up = [write(registers[node], recording["set_up"][node]) for node in nodes]
    await both([write(switch, recording["switch"]), *set_up])
    await clock.cycles(dut, recording["warm_up"])

    async def complete(node):
        address, before = recording["completion"][node], bytes(8)
        while memories[node].read(address, 8) == before:
            await RisingEdge(dut.clk)

    cycles = 0
    running = True

    async def count():
        nonlocal cycles
        while running:
            await RisingEdge(dut.clk)
            cycles += 1

    counting = cocotb.start_soon(count())
    began = time.perf_counter()
    await both([write(registers[node], recording["doorbells"][node]) for node in nodes])
    await both([complete(node) for node in nodes])
    seconds = time.perf_counter() - began
    running = False
    await counting
    for node in nodes:
        for address, content in recording["results"][node]:
            assert memories[node].read(address, len(content) // 2).hex() == content, f"node {node}: another result"
    report(cycles=cycles, seconds=seconds)
