"""Measures the cost of a reliable link: latency and goodput, without faults and with more and more of them.

Parameters: `size`, a name of :data:`testbench.link.layer_parts.SIZES_4KIB`; `rates`, the shares of words that are
damaged; `packets`, how many are sent at each. Reports what :mod:`testbench.link.layer_figures` writes down.
"""

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from testbench import clock
from testbench.bench_report import report
from testbench.link.layer_model import ReliableLink
from testbench.link.layer_parts import SIZES_4KIB, WIRE_CYCLES
from testbench.runner import parameters, rng

SIZE = SIZES_4KIB[parameters()["size"]]


async def latency_of(link: ReliableLink, vc: int, flits: int) -> int:
    """Cycles from the first flit at one end to the last one at the other, less those of the flits themselves."""
    source, ends = link.sources["a"], link.ends
    source.first_sent, begin = None, len(ends)
    link.send("a", vc, [0] * flits)
    while len(ends) == begin:
        await RisingEdge(link.dut.clk)
    assert source.first_sent is not None
    return round((ends[-1] - source.first_sent) / clock.PERIOD_NS) - (flits - 1)


async def cycles_of(link: ReliableLink, count: int, ends: str) -> int:
    """Cycles in which so many of the longest packets come through from each of `ends`, one right after the other."""
    sinks = [link.sinks["b" if end == "a" else "a"] for end in ends]
    before = [len(sink.received[0]) for sink in sinks]
    for end in ends:
        for _ in range(count):
            link.send(end, 0, [0] * SIZE.longest)
    cycles = 0
    while any(len(sink.received[0]) < had + count for sink, had in zip(sinks, before, strict=True)):
        await RisingEdge(link.dut.clk)
        cycles += 1
    return cycles


async def goodput(link: ReliableLink, count: int, ends: str = "a") -> float:
    """Flits a cycle, once packets follow one another: what the first ones take is not counted."""
    first = await cycles_of(link, 2, ends)
    return count * SIZE.longest / (await cycles_of(link, count + 2, ends) - first)


@cocotb.test()
async def latency(dut: SimHandleBase) -> None:
    """On an idle link, at any time, on both channels; a cycle of the wire, as without a layer, is not counted."""
    link = ReliableLink(dut, SIZE, delay=1, idle=0, hold=0)
    await link.bring_up()
    longest = 0
    for flits in (1, 2, 5, SIZE.longest):
        for vc in (0, 1):
            for _ in range(4):
                await clock.cycles(dut, 60 + rng(f"{flits} {vc}").randrange(40))
                longest = max(longest, await latency_of(link, vc, flits) - 1)
    report(latency=longest)


@cocotb.test()
async def without_faults(dut: SimHandleBase) -> None:
    """Goodput in one direction, and in both at once."""
    link = ReliableLink(dut, SIZE, delay=WIRE_CYCLES, idle=0, hold=0)
    await link.bring_up()
    report(one_way=await goodput(link, 12), both_ways=await goodput(link, 12, "ab"))


@cocotb.test()
async def with_faults(dut: SimHandleBase) -> None:
    """Goodput at each rate of damaged words, in both directions of the wire; traffic goes in one."""
    link = ReliableLink(dut, SIZE, delay=WIRE_CYCLES, idle=0, hold=0)
    await link.bring_up()
    rows = []
    for rate in parameters()["rates"]:
        link.set_rates({"flip": rate})
        before, faults = dict(link.events), link.wires["a"].n_faults
        share = await goodput(link, parameters()["packets"])
        events = {name: link.events[name] - before[name] for name in ("damaged", "stomped", "replays", "timeouts")}
        rows.append({"rate": rate, "goodput": share, "faults": link.wires["a"].n_faults - faults, **events})
    report(faults=rows)
