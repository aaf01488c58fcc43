"""Bench of the reduce unit: every result against NumPy, in order, at full speed, under any backpressure."""

import random
from collections.abc import Iterable
from itertools import count as count_from
from typing import Any

import cocotb
import numpy as np
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.golden import combine, dtype_of
from rtl.reduce.operation import FLOATS, OPERATIONS, Operation, supported
from rtl.reduce.reduce_unit import request_layout, result_layout
from rtl.reduce.request_decode import Select
from testbench import clock
from testbench.coverage import cover, dealt
from testbench.reduce.operands import CORNERS, CORNERS_32, random_pair
from testbench.reduce.parts import PARTS, Part
from testbench.runner import report, rng
from testbench.stream import StreamChecker, StreamSink, StreamSource

LANE_BITS = 64

Pairs = list[tuple[int, int]]

CLASSES = ("zero", "subnormal", "normal", "infinite", "NaN")
WITH_CORNERS = [
    operation for operation in OPERATIONS if operation.datatype in (*FLOATS, Datatype.DOUBLE_INT)
]


def name_of(datatype: int, operator: int) -> str:
    """An operation in words."""
    return f"{Datatype(datatype).name} {Operator(operator).name}"


noted_corners = cover(
    "corners", operation=[name_of(op.datatype, op.operator) for op in WITH_CORNERS], a=CLASSES, b=CLASSES,
)
noted_mixture = cover(
    "operations in a mixture", unit=list(PARTS), operation=[name_of(op.datatype, op.operator) for op in OPERATIONS],
)


def class_of(bits: int, datatype: Datatype) -> str:
    """Class of the number in the lowest bits of a word."""
    exponent_bits, fraction_bits = (8, 23) if datatype is Datatype.FLOAT32 else (11, 52)
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    fraction = bits & (1 << fraction_bits) - 1
    if exponent == (1 << exponent_bits) - 1:
        return "NaN" if fraction else "infinite"
    return "normal" if exponent else "subnormal" if fraction else "zero"


def packed(lanes: Iterable[int]) -> int:
    """Lanes as one beat, element 0 lowest."""
    return sum(value << LANE_BITS * index for index, value in enumerate(lanes))


def request(
    part: Part, index: int, pairs: Pairs, select: Select, *, datatype: int, operator: int, odd: int = 0
) -> dict[str, int]:
    """One request with its position as tag."""
    return {
        "a": packed(a for a, _ in pairs),
        "b": packed(b for _, b in pairs),
        "select": int(select),
        "datatype": int(datatype),
        "operator": int(operator),
        "odd": odd,
        "tag": index % (1 << part.tag_width),
    }


def expected(part: Part, items: list[dict[str, int]]) -> list[dict[str, int]]:
    """Expected results of the requests: by the golden arithmetic, element by element."""
    data, results = part.data_width // 8, []
    for index, item in enumerate(items):
        beats = [item]
        # Where a beat holds half of an element, both halves are looked at, and the result is that half's.
        if item["datatype"] == Datatype.DOUBLE_INT and part.data_width == LANE_BITS:
            first = index - item["odd"]
            beats = items[first:first + 2]
        result = item["b"] if item["select"] == Select.B else item["a"]
        if item["select"] == Select.COMBINE and supported(item["datatype"], item["operator"]):
            words = (b"".join(beat[name].to_bytes(data, "little") for beat in beats) for name in "ab")
            a, b = (np.frombuffer(word, dtype_of(item["datatype"])) for word in words)
            combined = combine(a, b, datatype=item["datatype"], operator=item["operator"]).tobytes()
            result = int.from_bytes(combined[item["odd"] * data:][:data], "little")
        results.append({"data": result, "tag": item["tag"]})
    return results


def elements(part: Part, pairs: Pairs, *, datatype: Datatype, operator: Operator) -> list[dict[str, int]]:
    """Requests that combine all `pairs` of words, as many at once as there are lanes."""
    lanes = part.data_width // LANE_BITS
    pairs = pairs + [(0, 0)] * (-len(pairs) % max(2, lanes))
    return [
        request(
            part, index, pairs[index * lanes:(index + 1) * lanes], Select.COMBINE, datatype=datatype, operator=operator,
            odd=index % 2 if datatype is Datatype.DOUBLE_INT and lanes == 1 else 0,
        )
        for index in range(len(pairs) // lanes)
    ]


def mixture(part: Part, numbers: random.Random, count: int) -> list[dict[str, int]]:
    """Requests of every kind; some ask for what the unit cannot do. One for an odd half follows that for the even."""
    items: list[dict[str, int]] = []
    operations = dealt(numbers, OPERATIONS)
    for number in count_from(0):
        if len(items) >= count:
            break
        select = numbers.choice([Select.A, Select.B, Select.COMBINE, Select.COMBINE])
        known = numbers.random() < 0.75
        operation = next(operations)
        if number < len(OPERATIONS):  # each once for certain
            select, known = Select.COMBINE, True
        datatype = operation.datatype if known else numbers.choice(list(Datatype))
        operator = operation.operator if known else numbers.choice(list(Operator))
        halves = 2 if datatype is Datatype.DOUBLE_INT and part.data_width == LANE_BITS else 1
        for odd in range(halves):
            pairs = [random_pair(numbers) for _ in range(part.data_width // LANE_BITS)]
            items.append(request(part, len(items), pairs, select, datatype=datatype, operator=operator, odd=odd))
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
    for item, result, want in zip(items, received, expected(part, items), strict=True):
        assert result == want, f"{item}: data {result['data']:#x}, not {want['data']:#x}; {result}"


@cocotb.test()
@cocotb.parametrize(operation=WITH_CORNERS)
async def corners(dut: SimHandleBase, operation: Operation) -> None:
    """All pairs of all classes of numbers, in all lanes, for everything that computes with floats."""
    numbers = rng(f"corners {operation}")
    match operation.datatype:
        case Datatype.FLOAT64:
            pairs = [(a, b) for a in CORNERS for b in CORNERS]
        case Datatype.FLOAT32:
            low = [(a, b) for a in CORNERS_32 for b in CORNERS_32]
            high = numbers.sample(low, len(low))
            pairs = [(a | c << 32, b | d << 32) for (a, b), (c, d) in zip(low, high, strict=True)]
        case _:
            pairs = []
            for a in CORNERS:
                for b in CORNERS:
                    pairs += [(a, b), (numbers.getrandbits(64), numbers.getrandbits(64))]
    if operation.datatype is not Datatype.DOUBLE_INT:
        numbers.shuffle(pairs)
    items = elements(PARTS["wide"], pairs, datatype=operation.datatype, operator=operation.operator)
    await run(dut, "wide", items, idle=0.05, stall=0.05)
    # Of a value with an index the value stands in every other word.
    values = pairs[::2] if operation.datatype is Datatype.DOUBLE_INT else pairs
    for a, b in {tuple(class_of(word, operation.datatype) for word in pair) for pair in values}:
        noted_corners(operation=name_of(operation.datatype, operation.operator), a=a, b=b)
    report(**{f"{operation.datatype.name} {operation.operator.name}": len(pairs)})


@cocotb.test()
@cocotb.parametrize(name=list(PARTS))
async def mixed_requests(dut: SimHandleBase, name: str) -> None:
    """Whatever is asked for, results keep their order, with random gaps on both sides."""
    items = mixture(PARTS[name], rng(f"mixture {name}"), 500)
    await run(dut, name, items, idle=None, stall=None)
    asked = {(item["datatype"], item["operator"]) for item in items if item["select"] == Select.COMBINE}
    for datatype, operator in asked:
        if supported(datatype, operator):
            noted_mixture(unit=name, operation=name_of(datatype, operator))


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
