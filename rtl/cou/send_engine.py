"""Sends what lies on chip, beside the passes that combine."""

from amaranth import Array, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.cou.activity import Path
from rtl.cou.operand_reader import OperandReader, pass_queue
from rtl.cou.operand_signature import OperandSignature
from rtl.cou.shapes import CouShapes
from rtl.interface import LONG_HEADER, PacketSignature, beat, header_flits
from rtl.kit.queue import LutQueue, stream_queue
from rtl.kit.register import StreamRegister


class SendEngine(wiring.Component):
    """Executes passes that take no packet and leave the intermediate result as it is: they send it, or do nothing.

    Read ports of its own on operands and intermediate results leave the path through the reduce unit to the passes that
    combine. A packet's header never waits for its payload: both are there when the one before has left.
    An operand that is still being loaded comes within the cycles that the header takes on the link, or a few more.

    Timing: a header two cycles after its pass; packets follow each other without a gap.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    n_contexts : int
        Contexts of the unit, from 1 to as many as `shapes` can number.

    Members
    -------
    i : ``In(stream.Signature(send))``
        Passes.
    o_done : ``Out(stream.Signature({context}))``
        Nothing more is read for a pass. Its packet may still be on its way.
    tx : ``Out(PacketSignature(data_width))``
        Packets.
    operands, results : ``Out(OperandSignature)``
        Read ports of the operand memory and of the intermediate results.
    filling : ``In(n_contexts)``
        Contexts whose operand cannot be read yet: it comes with the descriptor, in a few cycles.
    activity : ``Out(Path)``
        Activity in this cycle, for the statistics.
    """

    #: Beats that wait for the link.
    DEPTH = 8

    def __init__(self, *, shapes: CouShapes, n_contexts: int):
        shapes.check(n_contexts=n_contexts)
        self.shapes, self.n_contexts = shapes, n_contexts
        self.aside = data.StructLayout({
            "context": shapes.context, "payload": 1, "tail": shapes.flit_log2,
        })
        width = shapes.data_width
        beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        super().__init__({
            "i": In(stream.Signature(shapes.send)), "o_done": Out(stream.Signature(shapes.done)),
            "tx": Out(PacketSignature(width)),
            "operands": Out(OperandSignature(address_bits=beat_bits + shapes.context, data_width=width)),
            "results": Out(OperandSignature(address_bits=shapes.result_address, data_width=width)),
            "filling": In(n_contexts),
            "activity": Out(Path),
        })

    def elaborate(self, platform):
        m = Module()
        width, flit_bytes = self.shapes.data_width, self.shapes.flit_bytes
        m.submodules.waiting = waiting = pass_queue(
            self.shapes.send, n_contexts=self.n_contexts, key=lambda send: send.header.peer
        )
        m.submodules.reader = reader = OperandReader(
            shapes=self.shapes, n_contexts=self.n_contexts, aside=self.aside
        )
        # While a long header passes what the next one announces is read: one waits for the link, not three.
        shape, long = self.tx.header.payload.shape(), header_flits(width) >= LONG_HEADER
        headers: StreamRegister | LutQueue = (
            StreamRegister(shape=shape, guarded=False) if long
            else LutQueue(shape=shape, depth=3, full_rate=False, guarded=False)
        )
        m.submodules.headers = headers
        m.submodules.beats = beats = stream_queue(shape=beat(width), depth=self.DEPTH, guarded=False)
        connect(m, headers.o, flipped(self.tx).header)
        connect(m, beats.o, flipped(self.tx).payload)
        connect(m, reader.operands, flipped(self.operands))
        connect(m, reader.results, flipped(self.results))

        todo, reading, announced, offered = waiting.o.payload.todo, reader.i.payload, Signal(), self.i.payload
        m.d.comb += [
            waiting.i.valid.eq(self.i.valid), self.i.ready.eq(waiting.i.ready), waiting.i.payload.todo.eq(offered),
            waiting.i.payload.single.eq(offered.bytes <= flit_bytes), reading.single.eq(waiting.o.payload.single),
            *(reading[name].eq(todo[name]) for name in ("a", "context", "position", "bytes")),
            reading.aside.context.eq(todo.context), reading.aside.tail.eq(todo.bytes),
            reading.aside.payload.eq(todo.send & (todo.bytes != 0)),
            reader.filling.eq(self.filling), reader.i.valid.eq(waiting.o.valid), waiting.o.ready.eq(reader.i.ready),
            headers.i.payload.eq(todo.header), headers.i.valid.eq(waiting.o.valid & todo.send & ~announced),
            reader.may_begin.eq(announced | ~todo.send | headers.i.ready),
        ]
        # The header goes as soon as there is room for it, whatever the payload waits for.
        with m.If(waiting.o.valid & waiting.o.ready):
            m.d.sync += announced.eq(0)
        with m.Elif(headers.i.valid & headers.i.ready):
            m.d.sync += announced.eq(1)

        # Bytes of the last beat beyond the pass are cleared: no peer is to see them.
        here = reader.o.payload
        mask = Array(Const((1 << 8 * (count or flit_bytes)) - 1, width) for count in range(flit_bytes))[here.aside.tail]
        sends, tells = here.aside.payload, here.last
        m.d.comb += [
            beats.i.payload.last.eq(here.last), beats.i.payload.data.eq(here.data),
            beats.i.valid.eq(reader.o.valid & sends & (~tells | self.o_done.ready)),
            self.o_done.payload.context.eq(here.aside.context),
            self.o_done.valid.eq(reader.o.valid & tells & (~sends | beats.i.ready)),
            reader.o.ready.eq((~sends | beats.i.ready) & (~tells | self.o_done.ready)),
            self.activity.works.eq(reader.o.valid & reader.o.ready),
            self.activity.held.eq(reader.o.valid & ~reader.o.ready),
        ]
        with m.If(here.last):
            m.d.comb += beats.i.payload.data.eq(here.data & mask)

        return m
