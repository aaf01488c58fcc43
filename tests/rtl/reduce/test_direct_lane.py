"""A direct lane: each function on operands that compare alike, differ in one bit, or are no numbers."""

import math
import random
import struct
from collections import Counter, deque

import pytest

from rtl.reduce.direct_lane import Control, DirectLane, Order
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, pack
from testbench.parts.simulation import fields, run

NAN = {64: 0x7FF8 << 48, 32: 0x7FC0 << 16}
CORNERS = {
    64: (0, 1 << 63, 1, (1 << 63) - 1, (1 << 64) - 1, 0x7FF << 52, 0xFFF << 52, (0x7FF << 52) + 1, NAN[64],
         0xFFF8 << 48, 1 << 32, (1 << 32) - 1, 1 << 31, 0x7FF00001 << 32),
    32: (0, 1 << 31, 1, (1 << 31) - 1, (1 << 32) - 1, 0xFF << 23, 0x1FF << 23, (0xFF << 23) + 1, NAN[32],
         0x1FF8 << 19),
}
FUNCTIONS = {
    **{f"{edge} {kind} {bits}": {"order": 1, "greatest": edge == "last", "halves": bits == 32,
                                 "floating": kind == "float", "signed": kind == "signed"}
       for edge in ("first", "last")
       for kind, bits in (("float", 64), ("float", 32), ("signed", 64), ("signed", 32), ("unsigned", 64))},
    "index": {"order": 1, "halves": 1, "signed": 1, "index": 1},
    "a": {}, "b": {"pass_b": 1}, "b of halves": {"pass_b": 1, "halves": 1, "floating": 1},
    "sum 64": {"sum": 1}, "sum 32": {"sum": 1, "halves": 1},
    "and": {"both": 1}, "or": {"both": 1, "either": 1}, "xor": {"either": 1, "halves": 1},
}
ARITHMETIC = ("sum 64", "sum 32", "and", "or", "xor")


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def number(bits: int, width: int) -> float:
    """A float by its bits."""
    return struct.unpack("<d" if width == 64 else "<f", bits.to_bytes(width // 8, "little"))[0]


def rank(bits: int, kind: str, width: int) -> tuple:
    """Value that orders elements which are no NaNs; -0 lies before +0."""
    if kind == "float":
        value = number(bits, width)
        return value, math.copysign(1, value)
    return (bits - (bits >> width - 1 << width) if kind == "signed" else bits,)


def ordered(a: int, b: int, *, edge: str, kind: str, width: int) -> int:
    """The first or the last of two elements."""
    if kind == "float" and any(math.isnan(number(bits, width)) for bits in (a, b)):
        return NAN[width]
    return (min if edge == "first" else max)((a, b), key=lambda bits: rank(bits, kind, width))


def result(function: str, a: int, b: int, order: dict[str, int]) -> int:
    """Result of the lane, with the order of the doubles beside it."""
    halves = [(x & 0xFFFFFFFF, x >> 32) for x in (a, b)]
    match function.split():
        case ["index"]:
            low = ordered(halves[0][0], halves[1][0], edge="first", kind="signed", width=32)
            return low if order["equal"] else halves[order["b_first"]][0]
        case [edge, kind, "64"]:
            return ordered(a, b, edge=edge, kind=kind, width=64)
        case [edge, kind, "32"]:
            low, high = (ordered(x, y, edge=edge, kind=kind, width=32) for x, y in zip(*halves, strict=True))
            return high << 32 | low
        case ["sum", "64"]:
            return (a + b) % (1 << 64)
        case ["sum", "32"]:
            low, high = ((x + y) % (1 << 32) for x, y in zip(*halves, strict=True))
            return high << 32 | low
    return {"a": a, "b": b, "b of halves": b, "and": a & b, "or": a | b, "xor": a ^ b}[function]


def order_of(function: str, a: int, b: int) -> dict[str, int]:
    """How two doubles compare: NaNs come before all numbers, and among them and among zeros there is no order."""
    x, y = number(a, 64), number(b, 64)
    if math.isnan(x) or math.isnan(y):
        return {"b_first": not math.isnan(x), "equal": math.isnan(x) and math.isnan(y)}
    return {"b_first": y < x if function.startswith("first") else y > x, "equal": x == y}


def operand(rng: random.Random) -> int:
    """64 bits, often two halves with a corner each, or a whole one."""
    draw = rng.random()
    if draw < 0.4:
        return rng.choice(CORNERS[64])
    if draw < 0.8:
        return rng.choice(CORNERS[32]) << 32 | rng.choice(CORNERS[32])
    return rng.getrandbits(64)


@pytest.mark.parametrize("arithmetic", [True, False])
def test_functions(rng: random.Random, arithmetic: bool) -> None:
    """A request in every cycle, of any function: its result three cycles later, its order two cycles later."""
    part = DirectLane(arithmetic=arithmetic)
    functions = [name for name in FUNCTIONS if arithmetic or name not in ARITHMETIC]
    on_way: deque[tuple[str, int, int]] = deque()
    orders: deque[dict[str, int]] = deque()
    counts: Counter[object] = Counter()

    def drive(put) -> None:
        function, a = rng.choice(functions), operand(rng)
        b = rng.choice((a, a ^ 1 << rng.randrange(64), a ^ 1 << 63, operand(rng), operand(rng)))
        on_way.append((function, a, b))
        order = rng.choice(({"b_first": 0, "equal": 0}, {"b_first": 1, "equal": 0}, {"b_first": 0, "equal": 1}))
        orders.append(order)
        put(part.i_a, a)
        put(part.i_b, b)
        put(part.i_control.as_value(), pack(Control, FUNCTIONS[function]))
        put(part.i_order.as_value(), pack(Order, order))

    def settle(read) -> None:
        if len(on_way) > 2 and on_way[-3][0].endswith("float 64"):
            found = fields(Order, read(part.o_order.as_value()))
            assert found == order_of(*on_way[-3])
            counts["equal" if found["equal"] else "b" if found["b_first"] else "a"] += 1
        if len(on_way) > 3:
            function, a, b = on_way.popleft()
            assert read(part.o) == result(function, a, b, orders[2]), (function, hex(a), hex(b))
            orders.popleft()
            counts[function] += 1

    run(part, [Inputs(drive, settle)], cycles=600, rng=rng)
    assert min(counts[name] for name in (*functions, "equal", "a", "b")) > 6


FAULTS = {
    "the order of zeros": ("swap_high & ~zeros", "swap_high"),
    "a NaN in the upper half": ('nan_high = Mux(c.halves, a["nan_high"] | b["nan_high"], nan_a | nan_b)',
                                'nan_high = Mux(c.halves, a["nan_high"], nan_a | nan_b)'),
    "a carry between halves": ("(low_sum[_half] & ~c.halves)", "low_sum[_half]"),
    "a sign of the lower half": ("Mux(control.halves, sign, negative_low)", "negative_low"),
    "an index that does not follow": ("order.b_first | (order.equal & take_low)", "order.b_first | order.equal"),
    "an infinity that is a NaN": ('(x["rest"] | x["low"])', '(x["rest"] | x["low"] | 1)'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "DirectLane", changed(DirectLane, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_functions(random.Random(1), True)
