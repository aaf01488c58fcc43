"""Bench of the link's ends: credits conserved, nothing lost, no channel in the other's way."""

import random

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from rtl.interface import beat
from testbench import clock
from testbench.link import LinkSink, LinkSource, LinkWire
from testbench.link.link_parts import SIZES
from testbench.runner import rng
from testbench.stream import StreamChecker, StreamSink, StreamSource

VCS = (0, 1)
PACKETS = 40


def packets(numbers: random.Random, data_width: int, count: int) -> list[list[int]]:
    """Random packets of 1 to 12 flits."""
    return [[numbers.getrandbits(data_width) for _ in range(numbers.randint(1, 12))] for _ in range(count)]


def beats(batch: list[list[int]]) -> list[dict[str, int]]:
    """The beats of packets."""
    return [
        {"data": word, "last": int(place == len(packet) - 1)} for packet in batch for place, word in enumerate(packet)
    ]


async def until(dut: SimHandleBase, condition) -> None:
    """Waits for `condition()` to hold at a rising edge."""
    while not condition():
        await RisingEdge(dut.clk)


@cocotb.test()
@cocotb.parametrize(name=tuple(SIZES), stall=(0, None))
async def tx_keeps_to_its_credits(dut: SimHandleBase, name: str, stall: float | None) -> None:
    """Random beats, credits and backpressure; the model of the receiver counts the credits."""
    size = SIZES[name]
    sources = [StreamSource(dut, f"{name}_tx__i__{vc}", beat(size.data_width)) for vc in VCS]
    sink = LinkSink(
        dut, f"{name}_tx__link", data_width=size.data_width, buffer_flits=size.buffer_flits, stall=stall
    )
    await clock.start(dut)
    for vc in VCS:
        StreamChecker(dut, f"{name}_tx__i__{vc}", beat(size.data_width))
    sent = [packets(rng(f"packets {vc}"), size.data_width, PACKETS) for vc in VCS]
    for vc in VCS:
        sources[vc].extend(beats(sent[vc]))
    await until(dut, lambda: len(sink.order) == 2 * PACKETS)
    assert sink.received == sent
    # Both channels got all of their credits back: each can send as much as the buffer holds once more.
    await until(dut, lambda: sink.idle)
    await clock.cycles(dut, 10)
    sink.set_hold(1)
    before = sink.flits
    for vc in VCS:
        sources[vc].extend({"data": 0, "last": 1} for _ in range(size.buffer_flits + 3))
    await clock.cycles(dut, 60 * (size.buffer_flits + 10))
    assert sink.flits - before == 2 * size.buffer_flits
    sink.set_hold(0)
    await until(dut, lambda: not any(source.pending for source in sources))


@cocotb.test()
@cocotb.parametrize(blocked=VCS)
async def tx_channels_do_not_block_each_other(dut: SimHandleBase, blocked: int) -> None:
    """A channel without credits leaves the whole link to the other."""
    size = SIZES["narrow"]
    sources = [StreamSource(dut, f"narrow_tx__i__{vc}", beat(size.data_width), idle=0) for vc in VCS]
    sink = LinkSink(dut, "narrow_tx__link", data_width=size.data_width, buffer_flits=size.buffer_flits, hold=1)
    await clock.start(dut)
    sources[blocked].extend({"data": 0, "last": 1} for _ in range(size.buffer_flits + 5))
    await clock.cycles(dut, size.buffer_flits + 20)
    assert sources[blocked].pending == 5
    sources[1 - blocked].extend({"data": 1, "last": 1} for _ in range(size.buffer_flits))
    await clock.cycles(dut, size.buffer_flits + 6)
    assert sources[1 - blocked].pending == 0
    assert sources[blocked].pending == 5
    assert sink.flits == 2 * size.buffer_flits


@cocotb.test()
@cocotb.parametrize(name=tuple(SIZES))
async def rx_returns_every_credit(dut: SimHandleBase, name: str) -> None:
    """Random flits on the link, random backpressure behind it; the model of the sender counts the credits."""
    size = SIZES[name]
    source = LinkSource(dut, f"{name}_rx__link", data_width=size.data_width, buffer_flits=size.buffer_flits)
    sinks = [StreamSink(dut, f"{name}_rx__o__{vc}", beat(size.data_width)) for vc in VCS]
    await clock.start(dut)
    sent = [packets(rng(f"packets {vc}"), size.data_width, PACKETS) for vc in VCS]
    for first, second in zip(*sent, strict=True):
        source.append((0, first))
        source.append((1, second))
    await source.drain()
    await clock.cycles(dut, 10)
    for vc in VCS:
        assert sinks[vc].received == beats(sent[vc])


@cocotb.test()
@cocotb.parametrize(blocked=VCS)
async def rx_channels_do_not_block_each_other(dut: SimHandleBase, blocked: int) -> None:
    """A channel whose output is stuck keeps its buffer full; the other one runs."""
    size = SIZES["narrow"]
    source = LinkSource(dut, "narrow_rx__link", data_width=size.data_width, buffer_flits=size.buffer_flits)
    sinks = [StreamSink(dut, f"narrow_rx__o__{vc}", beat(size.data_width), stall=int(vc == blocked)) for vc in VCS]
    await clock.start(dut)
    for _ in range(size.buffer_flits + 5):
        source.append((blocked, [1]))
    for _ in range(100):
        source.append((1 - blocked, [2]))
    await until(dut, lambda: len(sinks[1 - blocked].received) == 100 and source.credits[blocked] == 0)
    assert sinks[blocked].received == []
    sinks[blocked].set_stall(None)
    await source.drain()
    assert len(sinks[blocked].received) == size.buffer_flits + 5


@cocotb.test()
@cocotb.parametrize(name=tuple(SIZES), cycles=((1, 1), (1, 9)))
async def link_carries_over_a_wire(dut: SimHandleBase, name: str, cycles: tuple[int, int]) -> None:
    """Both ends with a wire of random latency between them."""
    size = SIZES[name]
    sources = [StreamSource(dut, f"{name}_tx__i__{vc}", beat(size.data_width)) for vc in VCS]
    sinks = [StreamSink(dut, f"{name}_rx__o__{vc}", beat(size.data_width)) for vc in VCS]
    wire = LinkWire(dut, f"{name}_tx__link", f"{name}_rx__link", cycles=cycles)
    cocotb.start_soon(wire.run())
    await clock.start(dut)
    sent = [beats(packets(rng(f"packets {vc}"), size.data_width, PACKETS)) for vc in VCS]
    for vc in VCS:
        sources[vc].extend(sent[vc])
    await until(dut, lambda: all(len(sinks[vc].received) == len(sent[vc]) for vc in VCS))
    await clock.cycles(dut, 40)
    for vc in VCS:
        assert sinks[vc].received == sent[vc]


@cocotb.test()
async def link_runs_at_full_speed(dut: SimHandleBase) -> None:
    """One flit a cycle over a wire whose latency the buffer covers, with one channel and with two."""
    size = SIZES["narrow"]
    sources = [StreamSource(dut, f"narrow_tx__i__{vc}", beat(size.data_width), idle=0) for vc in VCS]
    sinks = [StreamSink(dut, f"narrow_rx__o__{vc}", beat(size.data_width), stall=0) for vc in VCS]
    wire = LinkWire(dut, "narrow_tx__link", "narrow_rx__link", cycles=(4, 4), stall=0)
    cocotb.start_soon(wire.run())
    await clock.start(dut)
    for share in ((300, 0), (0, 300), (150, 150)):
        done = [len(sinks[vc].received) + share[vc] for vc in VCS]
        for vc in VCS:
            sources[vc].extend({"data": k, "last": k & 1} for k in range(share[vc]))
        elapsed = 0
        while [len(sink.received) for sink in sinks] != done:
            await RisingEdge(dut.clk)
            elapsed += 1
        assert elapsed <= 300 + 14
