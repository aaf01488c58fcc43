"""Bench of the reduce unit: every result against NumPy, in order, at full speed, under any backpressure."""

import random
from collections.abc import Iterable
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import Datatype, Operator
from rtl.reduce.operation import supported
from rtl.reduce.reduce_unit import Select, request_layout, result_layout
from testbench import clock
from testbench.reduce.operands import CORNERS, expected_sum, random_pair
from testbench.reduce.parts import PARTS, Part
from testbench.runner import report, rng
from testbench.stream import StreamChecker, StreamSink, StreamSource

LANE_BITS = 64
LANE_MASK = (1 << LANE_BITS) - 1

Pairs = list[tuple[int, int]]


def packed(lanes: Iterable[int]) -> int:
    """Lanes as one beat, element 0 lowest."""
    return sum(value << LANE_BITS * index for index, value in enumerate(lanes))


def request(part: Part, index: int, pairs: Pairs, select: Select, *, datatype: int, operator: int) -> dict[str, int]:
    """One request with a tag that tells its place."""
    return {
        "a": packed(a for a, _ in pairs),
        "b": packed(b for _, b in pairs),
        "select": int(select),
        "datatype": int(datatype),
        "operator": int(operator),
        "tag": index % (1 << part.tag_width),
    }


def expected(part: Part, item: dict[str, int]) -> dict[str, int]:
    """What has to come out for a request."""
    result = item["b"] if item["select"] == Select.B else item["a"]
    if item["select"] == Select.COMBINE and supported(item["datatype"], item["operator"]):
        shifts = range(0, part.data_width, LANE_BITS)
        result = packed(expected_sum(item["a"] >> at & LANE_MASK, item["b"] >> at & LANE_MASK) for at in shifts)
    return {"data": result, "tag": item["tag"]}


def sums(part: Part, pairs: Pairs) -> list[dict[str, int]]:
    """Requests that add all `pairs`, as many at once as there are lanes."""
    lanes = part.data_width // LANE_BITS
    pairs = pairs + [(0, 0)] * (-len(pairs) % lanes)
    return [
        request(
            part, index, pairs[index * lanes:(index + 1) * lanes], Select.COMBINE,
            datatype=Datatype.FLOAT64, operator=Operator.SUM,
        )
        for index in range(len(pairs) // lanes)
    ]


def mixture(part: Part, numbers: random.Random, count: int) -> list[dict[str, int]]:
    """Requests of every kind, sums the most frequent; a few ask for what the unit cannot do."""
    items = []
    for index in range(count):
        pairs = [random_pair(numbers) for _ in range(part.data_width // LANE_BITS)]
        select = numbers.choice([Select.A, Select.B, Select.COMBINE, Select.COMBINE])
        known = numbers.random() < 0.75
        items.append(request(
            part, index, pairs, select,
            datatype=Datatype.FLOAT64 if known else numbers.choice(list(Datatype)),
            operator=Operator.SUM if known else numbers.choice(list(Operator)),
        ))
    return items


async def run(
    dut: SimHandleBase, name: str, items: list[dict[str, int]], *, idle: float | None, stall: float | None
) -> int:
    """Sends requests through one unit and compares every result; returns the cycles that it took."""
    part = PARTS[name]
    request_shape = request_layout(data_width=part.data_width, tag_width=part.tag_width)
    result_shape = result_layout(data_width=part.data_width, tag_width=part.tag_width)
    source = StreamSource(dut, f"{name}__i", request_shape, idle=idle)
    sink = StreamSink(dut, f"{name}__o", result_shape, stall=stall)
    await clock.start(dut)
    StreamChecker(dut, f"{name}__i", request_shape)
    source.extend(items)
    elapsed = 0
    while len(sink.received) < len(items):
        await RisingEdge(dut.clk)
        elapsed += 1
    await clock.cycles(dut, 40)
    compare(part, items, sink.received)
    return elapsed


def compare(part: Part, items: list[dict[str, int]], received: list[Any]) -> None:
    """Fails with the first request whose result is wrong."""
    assert len(received) == len(items)
    for item, result in zip(items, received, strict=True):
        want = expected(part, item)
        assert result == want, f"{item}: data {result['data']:#x}, not {want['data']:#x}; {result}"


@cocotb.test()
async def corners(dut: SimHandleBase) -> None:
    """All pairs of all classes of numbers, in all lanes."""
    pairs = [(a, b) for a in CORNERS for b in CORNERS]
    rng("corners").shuffle(pairs)
    await run(dut, "wide", sums(PARTS["wide"], pairs), idle=0.05, stall=0.05)
    report(corner_pairs=len(pairs))


@cocotb.test()
@cocotb.parametrize(name=list(PARTS))
async def mixed_requests(dut: SimHandleBase, name: str) -> None:
    """Sums and operands passed on keep their order, with random gaps on both sides."""
    await run(dut, name, mixture(PARTS[name], rng(f"mixture {name}"), 500), idle=None, stall=None)


@cocotb.test()
@cocotb.parametrize(name=list(PARTS))
async def full_speed(dut: SimHandleBase, name: str) -> None:
    """Without pauses a request goes in every cycle, whatever the mix, and the latency is as stated."""
    part = PARTS[name]
    items = mixture(part, rng(f"full speed {name}"), 200)
    elapsed = await run(dut, name, items, idle=0, stall=0)
    # One for the source to begin, one for the sink to see it, one more through a deep buffer of results.
    assert elapsed <= len(items) + part.add_cycles + 4


@cocotb.test()
@cocotb.parametrize(name=list(PARTS))
async def stalled_for_long(dut: SimHandleBase, name: str) -> None:
    """A receiver that takes nothing for a while loses nothing, and requests stop going in."""
    part = PARTS[name]
    request_shape = request_layout(data_width=part.data_width, tag_width=part.tag_width)
    result_shape = result_layout(data_width=part.data_width, tag_width=part.tag_width)
    source = StreamSource(dut, f"{name}__i", request_shape, idle=0)
    sink = StreamSink(dut, f"{name}__o", result_shape, stall=1)
    await clock.start(dut)
    items = mixture(part, rng(f"stalled {name}"), 60)
    source.extend(items)
    await clock.cycles(dut, 100)
    assert not sink.received
    assert part.add_cycles < len(source.sent) < len(items)
    for stall in (0, 1, 0.9, 0):
        sink.set_stall(stall)
        await clock.cycles(dut, 25)
    while len(sink.received) < len(items):
        await RisingEdge(dut.clk)
    compare(part, items, sink.received)
