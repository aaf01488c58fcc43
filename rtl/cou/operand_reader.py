"""Reads operands of passes, one pass right behind the other."""

from collections.abc import Callable

from amaranth import Cat, Module, Mux, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.cou.operand_signature import OperandSignature
from rtl.cou.shapes import CouShapes, Source
from rtl.kit.alternating_queue import AlternatingQueue
from rtl.kit.skid import TurnBuffer


def read_layout(shapes: CouShapes, aside: ShapeLike) -> data.StructLayout:
    """A read of an operand: source, length, whether that is a beat at most, and the fields that travel with it."""
    return data.StructLayout({
        "a": Source, "context": shapes.context, "position": shapes.result_bytes, "bytes": shapes.result_bytes,
        "single": 1, "aside": aside,
    })


def operand_layout(shapes: CouShapes, aside: ShapeLike) -> data.StructLayout:
    """A beat of an operand. `odd`: it is a second, a fourth, … one. `empty`: the only one of a pass without data.
    `position`: where it lies in the intermediate result."""
    return data.StructLayout({
        "data": shapes.data_width, "first": 1, "last": 1, "odd": 1, "empty": 1,
        "position": shapes.result_position, "aside": aside,
    })


def pass_queue(
    shape: ShapeLike, *, n_contexts: int, key: Callable, kind: Callable | None = None,
) -> TurnBuffer | AlternatingQueue:
    """The queue of passes, one of each context: it is known late in a cycle that the next one begins.

    Passes for different peers (`key`) take turns. Packets of one peer would otherwise come in bursts and keep others
    from links that are idle. Passes of the `kind` that is wanted go first, if there are more than two contexts. What is
    kept says of each pass whether it is `single`: a beat at most.
    """
    n, kept = max(2, n_contexts), data.StructLayout({"todo": shape, "single": 1})
    if n == 2:
        return TurnBuffer(shape=kept)
    return AlternatingQueue(
        shape=kept, depth=n, key=lambda item: key(item.todo), kind=kind and (lambda item: kind(item.todo))
    )


class OperandReader(wiring.Component):
    """Turns passes into the beats of their operand a: of the operand memory, of the intermediate result, or zeros.

    A pass without data is one beat all the same, so that its `aside` comes out in its turn.

    Timing: a beat in the third cycle of its pass, that of the offer counted, one a cycle, the first one of a pass
    right behind the last one of the pass before. ``i.ready`` comes with the last address of a pass.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    n_contexts : int
        Contexts of the unit, from 1 to as many as `shapes` can number.
    aside : ShapeLike
        Shape of the fields that travel with every beat of a pass.

    Members
    -------
    i : ``In(stream.Signature(read))``
        Passes.
    begins : ``Out(1)``
        The pass on offer begins, which it does when it `may_begin`: its first address goes out in this cycle or later.
    may_begin : ``In(1)``
        A pass may begin.
    filling : ``In(n_contexts)``
        Contexts whose operand cannot be read yet: their passes do not begin.
    o : ``Out(stream.Signature(operand))``
        Beats.
    operands : ``Out(OperandSignature)``
        Operand memory: beat in context, context.
    results : ``Out(OperandSignature)``
        Intermediate results: byte in context, context.
    """

    def __init__(self, *, shapes: CouShapes, n_contexts: int, aside: ShapeLike):
        shapes.check(n_contexts=n_contexts)
        self.shapes = shapes
        self.beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        width = shapes.data_width
        self.aside = aside
        super().__init__({
            "i": In(stream.Signature(read_layout(shapes, aside))), "begins": Out(1), "may_begin": In(1),
            "filling": In(n_contexts),
            "o": Out(stream.Signature(operand_layout(shapes, aside))),
            "operands": Out(OperandSignature(address_bits=self.beat_bits + shapes.context, data_width=width)),
            "results": Out(OperandSignature(address_bits=shapes.result_address, data_width=width)),
        })

    def elaborate(self, platform):
        m = Module()
        flit_log2, result_log2 = self.shapes.flit_log2, self.shapes.result_position
        todo = self.i.payload
        info = data.StructLayout({
            "a": Source, "first": 1, "last": 1, "odd": 1, "empty": 1, "position": result_log2, "aside": self.aside,
        })

        # Three stages: an address at the memories, a word at their outputs, a word in the register behind.
        index = Signal(self.shapes.result_bytes - flit_log2 + 1)
        offered, read, there = Signal(info), Signal(info), Signal(info)
        asks, read_valid, there_valid, first, here = Signal(), Signal(), Signal(), Signal(init=1), Signal()
        # The effects of the beginning of a pass do not wait for earlier passes to get out of the way.
        begun, able = Signal(), Signal()
        to_read, to_there = Signal(), Signal()
        # Where a beat lies, and whether it is the last one, is found out with the beat before it.
        position, behind, final = Signal(result_log2), Signal(result_log2), Signal()
        m.d.comb += [
            to_there.eq(~there_valid | self.o.ready), to_read.eq(~read_valid | to_there),
            here.eq((todo.a != Source.OPERAND) | ~self.filling.bit_select(todo.context, 1)),
            able.eq(to_read & (~first | (begun | self.may_begin) & here)), asks.eq(self.i.valid & able),
            self.begins.eq(self.i.valid & first & ~begun & self.may_begin),
            offered.a.eq(todo.a), offered.first.eq(first), offered.odd.eq(index[0]), offered.empty.eq(todo.bytes == 0),
            offered.last.eq(Mux(first, todo.single, final)),
            offered.aside.eq(todo.aside),
            self.i.ready.eq(able & offered.last),
            position.eq(Mux(first, todo.position, behind)), offered.position.eq(position),
            # The memories may read what nobody has asked for: it counts if somebody has.
            self.operands.address.eq(Cat(index[: self.beat_bits], todo.context)), self.operands.enable.eq(to_read),
            self.results.address.eq(Cat(position, todo.context)), self.results.enable.eq(to_read),
            self.operands.advance.eq(to_there), self.results.advance.eq(to_there),
        ]
        with m.If(asks):
            m.d.sync += [
                index.eq(Mux(offered.last, 0, index + 1)), first.eq(offered.last), begun.eq(0),
                behind.eq(position + self.shapes.flit_bytes), final.eq((index + 2) << flit_log2 >= todo.bytes),
            ]
        with m.Elif(self.begins):
            m.d.sync += begun.eq(1)
        with m.If(to_read):
            m.d.sync += [read_valid.eq(asks), read.eq(offered)]
        with m.If(to_there):
            m.d.sync += there_valid.eq(read_valid)
            with m.If(read_valid):
                m.d.sync += there.eq(read)

        m.d.comb += [
            self.o.valid.eq(there_valid),
            *(self.o.payload[name].eq(there[name]) for name in ("first", "last", "odd", "empty", "position", "aside")),
        ]
        with m.Switch(there.a):
            with m.Case(Source.OPERAND):
                m.d.comb += self.o.payload.data.eq(self.operands.data)
            with m.Case(Source.RESULT):
                m.d.comb += self.o.payload.data.eq(self.results.data)
        return m
