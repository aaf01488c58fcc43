# amaranth: UnusedElaboratable=no
"""The arithmetic of an offload unit: combines two streams of operands, beat by beat.

Picture and reasons: ``docs/reduce.md``.
"""

from collections.abc import Collection
from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.library import shared
from rtl.kit.queue import stream_queue
from rtl.reduce.delay_line import DelayLine
from rtl.reduce.direct_lane import CYCLES as DIRECT_CYCLES
from rtl.reduce.direct_lane import DirectLane, Order
from rtl.reduce.float_add import FloatAdd
from rtl.reduce.float_format import FLOAT32, FLOAT64
from rtl.reduce.float_multiply import FloatMultiply
from rtl.reduce.int_multiply import IntMultiply
from rtl.reduce.operation import INTEGERS, OPERATIONS, Operation
from rtl.reduce.request_decode import DATATYPE_BITS, FUNCTIONS, OPERATOR_BITS, SELECT_BITS, RequestDecode

LANE_BITS = 64


def request_layout(*, data_width: int, tag_width: int) -> data.StructLayout:
    """Layout of what goes into a reduce unit."""
    return data.StructLayout({
        "a": data_width,
        "b": data_width,
        "select": SELECT_BITS,
        "datatype": DATATYPE_BITS,
        "operator": OPERATOR_BITS,
        "odd": 1,
        "tag": tag_width,
    })


def result_layout(*, data_width: int, tag_width: int) -> data.StructLayout:
    """Layout of what comes out of a reduce unit."""
    return data.StructLayout({"data": data_width, "tag": tag_width})


@dataclass(frozen=True, kw_only=True)
class LaneOperands:
    """Operands of one lane.

    Parameters
    ----------
    lane : int
        Its number.
    a, b : Value
        First and second operand.
    """

    lane: int
    a: Value
    b: Value


class ReduceUnit(wiring.Component):
    """Combines or passes operands; results leave in the order of the requests, whatever is asked for.

    Each lane of 64 bits holds one element, or two of 32 bits; element 0 is the lowest. A DOUBLE_INT takes two lanes,
    the double in the lower one; where there is one lane, two requests, the one with the double first, the other one
    marked `odd`, with no request in between. Lanes beyond the end of a message may hold anything. A request to combine
    that is not in `operations` gives `a`: the scheduler lets none through.

    Timing: one request per cycle while results are taken, whatever their mix. A result is offered `add_cycles` + 1
    cycles after its request (+ 2 where the buffer of results is deeper than 16). No combinational path between ``i``
    and ``o``.

    Parameters
    ----------
    data_width : int
        Bits of a beat. 64, 128, 256 or 512.
    add_cycles : int
        Depth of the floating-point units, and so of every path. 5 to 16.
    tag_width : int
        Bits of the tag that travels along. At least 1.
    operations : collection of Operation
        What it can combine with; hardware for anything else is left out. By default all that there is.

    Members
    -------
    i : ``In(stream.Signature(request_layout(...)))``
        Operands `a` and `b`, what to do with them (`select`, `datatype`, `operator`, `odd`), and a `tag`.
    o : ``Out(stream.Signature(result_layout(...)))``
        Result `data` and the `tag` of its request.
    """

    def __init__(
        self, *, data_width: int, add_cycles: int = 8, tag_width: int = 1,
        operations: Collection[Operation] = OPERATIONS,
    ):
        if data_width not in (64, 128, 256, 512):
            raise ValueError(f"data_width must be 64, 128, 256 or 512, not {data_width!r}")
        if not isinstance(add_cycles, int) or not 5 <= add_cycles <= 16:
            raise ValueError(f"add_cycles must be from 5 to 16, not {add_cycles!r}")
        if not isinstance(tag_width, int) or tag_width < 1:
            raise ValueError(f"tag_width must be a positive integer, not {tag_width!r}")
        unknown = [operation for operation in operations if operation not in OPERATIONS]
        if unknown:
            raise ValueError(f"operations must be some of OPERATIONS, not {unknown!r}")
        self.operations = tuple(operations)
        self.data_width = data_width
        self.add_cycles = add_cycles
        self.tag_width = tag_width
        self.n_lanes = data_width // LANE_BITS
        self._result = result_layout(data_width=data_width, tag_width=tag_width)
        super().__init__({
            "i": In(stream.Signature(request_layout(data_width=data_width, tag_width=tag_width))),
            "o": Out(stream.Signature(self._result)),
        })

    def elaborate(self, platform):
        m = Module()

        # The functions cannot stall, so a request is accepted only if there is room for its result. Requests under
        # way, in the pipeline or in the buffer, fill the buffer at most: its depth covers the pipeline and the
        # cycles until a result that leaves is counted.
        depth = self.add_cycles + 4
        m.submodules.results = results = stream_queue(shape=self._result, depth=depth, guarded=False)
        under_way = Signal(range(depth + 1))
        accept, leave = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(under_way != depth),
            accept.eq(self.i.valid & self.i.ready),
            leave.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += under_way.eq(under_way + accept - leave)

        # Operands that are passed on, and what is computed without rounding: every request goes through there.
        request = self.i.payload
        m.submodules.decode = decode = RequestDecode(operations=self.operations)
        m.d.comb += [
            decode.select.eq(request.select), decode.datatype.eq(request.datatype),
            decode.operator.eq(request.operator),
        ]
        under_way_valid, busy = Signal(self.add_cycles), Signal()
        m.d.sync += under_way_valid.eq(Cat(accept, under_way_valid))
        m.d.comb += busy.eq(accept | under_way_valid.any())
        direct = self._direct(m, decode, under_way_valid, platform)

        # The select of the result, and the tag, keep pace with the functions.
        aside_layout = data.StructLayout({"data": self.data_width, "use": len(FUNCTIONS), "tag": self.tag_width})
        early_layout = data.StructLayout({"use": len(FUNCTIONS), "tag": self.tag_width})
        m.submodules.early = early = DelayLine(shape=early_layout, cycles=DIRECT_CYCLES)
        m.submodules.aside = aside = DelayLine(shape=aside_layout, cycles=self.add_cycles - DIRECT_CYCLES)
        m.d.comb += [
            early.enable.eq(busy), aside.enable.eq(busy),
            early.i.use.eq(decode.use), early.i.tag.eq(request.tag),
            aside.i.data.eq(direct), aside.i.use.eq(early.o.use), aside.i.tag.eq(early.o.tag),
        ]

        # Every function of every lane computes on every request; which result counts is decided at the end.
        lanes = []
        for lane in range(self.n_lanes):
            bits = slice(lane * LANE_BITS, (lane + 1) * LANE_BITS)
            computed = self._functions(m, LaneOperands(lane=lane, a=request.a[bits], b=request.b[bits]), busy, platform)
            choice = Cat(bit & ~aside.o.use.any() for bit in aside.o.data[bits])
            for index, function in enumerate(FUNCTIONS):
                if function in computed:
                    choice |= computed[function] & aside.o.use[index].replicate(LANE_BITS)
            lanes.append(choice)

        m.d.comb += [
            results.i.valid.eq(under_way_valid[-1]),
            results.i.payload.data.eq(Cat(lanes)),
            results.i.payload.tag.eq(aside.o.tag),
        ]
        wiring.connect(m, results.o, wiring.flipped(self.o))


        return m

    def _direct(self, m, decode, under_way_valid, platform):
        """Makes the lanes without rounding. Those with indices get to know how the doubles beside or before them
        compare.
        """
        arithmetic = any(operation.datatype in INTEGERS for operation in self.operations)
        lanes = []
        for index in range(self.n_lanes):
            lane = DirectLane(arithmetic=arithmetic)
            m.submodules[f"direct_{index}"] = shared("conic_direct_lane", lane, platform)
            bits = slice(index * LANE_BITS, (index + 1) * LANE_BITS)
            m.d.comb += [lane.i_a.eq(self.i.payload.a[bits]), lane.i_b.eq(self.i.payload.b[bits])]
            lanes.append(lane)
        if self.n_lanes == 1:
            # The double came one request before, however many cycles ago.
            kept = Signal(Order)
            with m.If(under_way_valid[DIRECT_CYCLES - 2]):
                m.d.sync += kept.eq(lanes[0].o_order)
            m.d.comb += [
                lanes[0].i_order.eq(kept),
                lanes[0].i_control.eq(Mux(self.i.payload.odd, decode.odd.as_value(), decode.even.as_value())),
            ]
        else:
            for even, odd in zip(lanes[::2], lanes[1::2], strict=True):
                m.d.comb += [
                    odd.i_order.eq(even.o_order), even.i_control.eq(decode.even), odd.i_control.eq(decode.odd),
                ]
        return Cat(lane.o for lane in lanes)

    def _functions(self, m: Module, operands: LaneOperands, busy: Signal, platform: object) -> dict[str, Value]:
        """Makes the functions of one lane that this build has; gives the result of each, `add_cycles` after its
        operands.
        """
        def build(name, unit, part):
            module = f"conic_{name}_{part.stop - part.start}"
            m.submodules[f"{name}_{operands.lane}_{part.start}"] = shared(module, unit, platform)
            m.d.comb += [unit.i_a.eq(operands.a[part]), unit.i_b.eq(operands.b[part])]
            return unit

        computed = {}
        whole, halves = (slice(0, 64),), (slice(0, 32), slice(32, 64))
        wanted = {function for function in FUNCTIONS if set(FUNCTIONS[function]) & set(self.operations)}
        for function, fmt, sliced in (("float64_add", FLOAT64, whole), ("float32_add", FLOAT32, halves)):
            if function in wanted:
                units = [build(function, FloatAdd(format=fmt, cycles=self.add_cycles), part) for part in sliced]
                m.d.comb += [unit.i_valid.eq(1) for unit in units]
                computed[function] = Cat(unit.o for unit in units)
        for function, fmt, sliced in (("float64_multiply", FLOAT64, whole), ("float32_multiply", FLOAT32, halves)):
            if function in wanted:
                units = [build(function, FloatMultiply(format=fmt, cycles=self.add_cycles), part) for part in sliced]
                computed[function] = Cat(unit.o for unit in units)
        if wanted & {"int64_multiply", "int32_multiply"}:
            # The low half of a product of 64 bits is the product of the low halves.
            width = 64 if "int64_multiply" in wanted else 32
            low = build("int_multiply", IntMultiply(width=width, cycles=self.add_cycles), slice(0, width))
            m.d.comb += low.enable.eq(busy)
            computed["int64_multiply"] = low.o
            if "int32_multiply" in wanted:
                high = build("int_multiply", IntMultiply(width=32, cycles=self.add_cycles), slice(32, 64))
                m.d.comb += high.enable.eq(busy)
                computed["int32_multiply"] = Cat(low.o[:32], high.o)
        return computed
