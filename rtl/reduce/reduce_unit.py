"""The arithmetic of an offload unit: combines two streams of operands, beat by beat.

Picture and reasons: ``docs/reduce.md``.
"""

from enum import IntEnum

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.fifo import StreamFifo
from rtl.reduce.delay_line import DelayLine
from rtl.reduce.float_add import FloatAdd
from rtl.reduce.float_format import FLOAT64
from rtl.reduce.operation import FLOAT64_SUM, OPERATIONS, Operation

LANE_BITS = 64
DATATYPE_BITS = 4
OPERATOR_BITS = 4
SELECT_BITS = 2


class Select(IntEnum):
    """What becomes of the two operands."""

    A = 0
    """The result is `a`, bit for bit."""
    B = 1
    """The result is `b`, bit for bit."""
    COMBINE = 2
    """The result is `a` combined with `b`, lane by lane."""


def request_layout(*, data_width: int, tag_width: int) -> data.StructLayout:
    """Layout of what goes into a reduce unit."""
    return data.StructLayout({
        "a": data_width,
        "b": data_width,
        "select": SELECT_BITS,
        "datatype": DATATYPE_BITS,
        "operator": OPERATOR_BITS,
        "tag": tag_width,
    })


def result_layout(*, data_width: int, tag_width: int) -> data.StructLayout:
    """Layout of what comes out of a reduce unit."""
    return data.StructLayout({"data": data_width, "tag": tag_width})


class ReduceUnit(wiring.Component):
    """Combines or passes operands; results leave in the order of the requests, whatever is asked for.

    Each lane of 64 bits is computed by itself; element 0 is the lowest. Lanes beyond the end of a message may hold
    anything. A request to combine that is not in ``OPERATIONS`` gives `a`: the scheduler lets none through.

    Timing: one request per cycle while results are taken, whatever their mix. A result is offered `add_cycles` + 1
    cycles after its request (+ 2 where the buffer of results is deeper than 16). No combinational path between ``i``
    and ``o``.

    Parameters
    ----------
    data_width : int
        Bits of a beat. 64, 128, 256 or 512.
    add_cycles : int
        Depth of the floating-point adder, and so of every path. 5 to 16.
    tag_width : int
        Bits of the tag that travels along. At least 1.

    Members
    -------
    i : ``In(stream.Signature(request_layout(...)))``
        Operands `a` and `b`, what to do with them (`select`, `datatype`, `operator`), and a `tag`.
    o : ``Out(stream.Signature(result_layout(...)))``
        Result `data` and the `tag` of its request.
    """

    def __init__(self, *, data_width: int, add_cycles: int = 8, tag_width: int = 1):
        if data_width not in (64, 128, 256, 512):
            raise ValueError(f"data_width must be 64, 128, 256 or 512, not {data_width!r}")
        if not isinstance(add_cycles, int) or not 5 <= add_cycles <= 16:
            raise ValueError(f"add_cycles must be from 5 to 16, not {add_cycles!r}")
        if not isinstance(tag_width, int) or tag_width < 1:
            raise ValueError(f"tag_width must be a positive integer, not {tag_width!r}")
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
        m.submodules.results = results = StreamFifo(shape=self._result, depth=depth)
        under_way = Signal(range(depth + 1))
        accept, leave = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(under_way != depth),
            accept.eq(self.i.valid & self.i.ready),
            leave.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += under_way.eq(under_way + accept - leave)

        # What no function computes with passes beside them, at their pace: the operand to be passed on and what
        # selects the result.
        request = self.i.payload
        combine = (request.select == Select.COMBINE) & self._is_supported(request)
        aside_layout = data.StructLayout({
            "data": self.data_width, "combine": 1, "datatype": DATATYPE_BITS, "operator": OPERATOR_BITS,
            "tag": self.tag_width,
        })
        m.submodules.aside = aside = DelayLine(shape=aside_layout, cycles=self.add_cycles)
        m.d.comb += [
            aside.i.data.eq(Mux(request.select == Select.B, request.b, request.a)),
            aside.i.combine.eq(combine),
            aside.i.datatype.eq(request.datatype),
            aside.i.operator.eq(request.operator),
            aside.i.tag.eq(request.tag),
        ]
        under_way_valid = Signal(self.add_cycles)
        m.d.sync += under_way_valid.eq(Cat(accept, under_way_valid))

        # Every function of every lane computes on every request; which result counts is decided at the end.
        lanes = []
        for lane in range(self.n_lanes):
            bits = slice(lane * LANE_BITS, (lane + 1) * LANE_BITS)
            computed = self._functions(m, lane, request.a[bits], request.b[bits])
            result = Signal(LANE_BITS, name=f"result_{lane}")
            m.d.comb += result.eq(aside.o.data[bits])
            for operation in OPERATIONS:
                with m.If(aside.o.combine & self._asks_for(aside.o, operation)):
                    m.d.comb += result.eq(computed[operation])
            lanes.append(result)

        m.d.comb += [
            results.i.valid.eq(under_way_valid[-1]),
            results.i.payload.data.eq(Cat(lanes)),
            results.i.payload.tag.eq(aside.o.tag),
        ]
        wiring.connect(m, results.o, wiring.flipped(self.o))

        return m

    def _functions(self, m, lane, a, b):
        """The functions of one lane: for each operation the result, `add_cycles` after its operands."""
        m.submodules[f"float64_add_{lane}"] = float64_add = FloatAdd(format=FLOAT64, cycles=self.add_cycles)
        m.d.comb += [float64_add.i_a.eq(a), float64_add.i_b.eq(b), float64_add.i_valid.eq(1)]
        return {FLOAT64_SUM: float64_add.o}

    @staticmethod
    def _asks_for(request, operation: Operation):
        return (request.datatype == operation.datatype) & (request.operator == operation.operator)

    def _is_supported(self, request):
        return Cat(self._asks_for(request, operation) for operation in OPERATIONS).any()
