"""The front of the path through the reduce unit: operands of passes, pair by pair."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import Status
from firmware_models.config.tree import CONSUMED_EARLY
from rtl.cou.activity import Path
from rtl.cou.operand_reader import OperandReader, pass_queue
from rtl.cou.operand_signature import OperandSignature
from rtl.cou.packet_signature import PacketsSignature
from rtl.cou.shapes import CouShapes
from rtl.kit.alternating_queue import AlternatingQueue
from rtl.kit.queue import LutQueue
from rtl.kit.register import StreamRegister
from rtl.kit.skid import SkidBuffer
from rtl.reduce.reduce_unit import request_layout


def tag_layout(shapes: CouShapes) -> data.StructLayout:
    """Layout of the fields that travel through the reduce unit beside a beat.

    It is the `last` one of its pass; the pass has data to `store`, to `send`, to `write_back`; how many bytes of the
    last beat belong to it (`tail`, 0: all of them); where the beat lies (`position`) in the results of its `context`.
    """
    return data.StructLayout({
        "last": 1, "store": 1, "send": 1, "write_back": 1, "tail": shapes.flit_log2,
        "position": shapes.result_position, "context": shapes.context,
    })


class Lane(wiring.Component):
    """Brings together what a pass combines: operand a, and a packet's data.

    Passes that send go first while there is room for their packets, so that the link does not run dry; the others go
    first while there is none.

    When the pass reads its first beat, the packet's credit returns to its sender, with a shared credit if one is
    granted. The packet's slot is free when its last beat has been read.

    Timing: a beat in the fourth cycle of its pass, that of the offer counted, one a cycle, passes without a gap; but
    one in two cycles if they have a beat each.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    n_contexts : int
        Contexts of the unit, from 1 to as many as `shapes` can number.
    ecc : bool
        If true, the packet buffer finds damage, so a header goes with the last beat of its pass.

    Members
    -------
    i : ``In(stream.Signature(run))``
        Passes.
    o : ``Out(stream.Signature(request))``
        To the reduce unit.
    o_output : ``Out(stream.Signature(output))``
        Destinations of a pass's results, with its first address.
    crowded : ``In(1)``
        The packets of passes that have begun leave no room in their queue.
    o_release, spoilt : ``Out(1)``
        A beat of a pass that sends goes to the reduce unit: its header may go too. That is the first one; where the
        packet buffer finds damage (`ecc`) it is the last one, since then the header has to say what was `spoilt`.
    operands, results : ``Out(OperandSignature)``
        Read ports of the operand memory and of the intermediate results.
    filling : ``In(n_contexts)``
        Contexts whose operand cannot be read yet.
    packets : ``Out(PacketsSignature(shapes))``
        Packets that passes consume; with a damaged beat the pass goes on with what came.
    o_fault : ``Out(stream.Signature(fault))``
        An operation has taken a damaged packet.
    activity : ``Out(Path)``
        Activity in this cycle, for the statistics.
    """

    #: Passes whose packets are being read.
    UNDER_WAY = CONSUMED_EARLY

    def __init__(self, *, shapes: CouShapes, n_contexts: int, ecc: bool):
        shapes.check(n_contexts=n_contexts)
        self.shapes, self.n_contexts, self.ecc = shapes, n_contexts, ecc
        width = shapes.data_width
        self.tag = tag_layout(shapes)
        self.aside = data.StructLayout({
            "select": 2, "datatype": 4, "operator": 4, "use_packet": 1, "consume": 1, "send": 1, "write_back": 1,
            "tail": self.tag.members["tail"], "job": shapes.job, "context": shapes.context,
        })
        beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        super().__init__({
            "i": In(stream.Signature(shapes.run)),
            "o": Out(stream.Signature(request_layout(data_width=width, tag_width=self.tag.size))),
            "o_output": Out(stream.Signature(shapes.output)), "o_release": Out(1), "spoilt": Out(1),
            "crowded": In(1),
            "operands": Out(OperandSignature(address_bits=beat_bits + shapes.context, data_width=width)),
            "results": Out(OperandSignature(address_bits=shapes.result_address, data_width=width)),
            "filling": In(n_contexts),
            "packets": Out(PacketsSignature(shapes)),
            "o_fault": Out(stream.Signature(shapes.fault)),
            "activity": Out(Path),
        })

    def elaborate(self, platform):
        m = Module()
        shapes, packets, leaving = self.shapes, self.packets, self.packets.leaving
        m.submodules.waiting = waiting = pass_queue(
            shapes.run, n_contexts=self.n_contexts, key=lambda run: run.output.header.peer,
            kind=lambda run: run.output.send,
        )
        m.submodules.reader = reader = OperandReader(
            shapes=shapes, n_contexts=self.n_contexts, aside=self.aside
        )
        m.submodules.reads = reads = SkidBuffer(shape=packets.read.payload.shape())
        m.submodules.owed = owed = LutQueue(
            shape=self.shapes.notice, depth=self.UNDER_WAY, full_rate=False, guarded=False
        )
        m.submodules.held = held = LutQueue(shape=shapes.free, depth=self.UNDER_WAY, prompt=False)
        m.submodules.reports = reports = StreamRegister(shape=shapes.fault, guarded=False)
        connect(m, reads.o, flipped(packets).read)
        connect(m, owed.o, flipped(leaving).credit)
        connect(m, reports.o, flipped(self.o_fault))
        connect(m, reader.operands, flipped(self.operands))
        connect(m, reader.results, flipped(self.results))

        if isinstance(waiting, AlternatingQueue):
            m.d.comb += waiting.wanted.eq(~self.crowded)
        run, offered = waiting.o.payload.todo, self.i.payload
        reading, begins = reader.i.payload, reader.begins
        # Room for all that a pass may bring about, whatever it does. Only passes that begin take room: what was there
        # in the cycle before is there if none began in it.
        roomy = Signal()
        m.d.sync += roomy.eq(self.o_output.ready & reads.i.ready & owed.i.ready & held.i.ready & ~begins)
        m.d.comb += [
            waiting.i.valid.eq(self.i.valid), self.i.ready.eq(waiting.i.ready), waiting.i.payload.todo.eq(offered),
            waiting.i.payload.single.eq(offered.output.bytes <= shapes.flit_bytes),
            reading.a.eq(run.a), reading.single.eq(waiting.o.payload.single),
            *(reading[name].eq(run.output[name]) for name in ("context", "position", "bytes")),
            *(reading.aside[name].eq(run[name].as_value() if name == "select" else run[name])
              for name in ("select", "datatype", "operator", "use_packet", "consume")),
            *(reading.aside[name].eq(run.output[name]) for name in ("send", "write_back", "job", "context")),
            reading.aside.tail.eq(run.output.bytes),
            reader.filling.eq(self.filling), reader.i.valid.eq(waiting.o.valid), waiting.o.ready.eq(reader.i.ready),
            reader.may_begin.eq(roomy & ~leaving.barred),
            self.o_output.valid.eq(begins), self.o_output.payload.eq(run.output),
            reads.i.valid.eq(begins & run.use_packet), reads.i.payload.slot.eq(run.packet),
            reads.i.payload.length.eq(run.output.bytes),
            leaving.pool.taken.eq(begins & run.consume),
            leaving.pool.consumed.loan.eq(run.credit.loan), leaving.pool.consumed.want.eq(run.credit.want),
            owed.i.valid.eq(leaving.pool.taken), owed.i.payload.eq(run.credit),
            owed.i.payload.loan.eq(leaving.pool.granted),
            held.i.valid.eq(leaving.pool.taken), held.i.payload.key.eq(run.key), held.i.payload.slot.eq(run.packet),
            held.i.payload.n_left.eq(leaving.pool.n_left),
        ]

        # Beats meet.
        here, request = reader.o.payload, self.o.payload
        damaged, faulty, calm, tag = Signal(), Signal(), Signal(), Signal(self.tag)
        meets, takes = Signal(), Signal()
        m.d.comb += [
            request.a.eq(here.data), request.b.eq(packets.beats.payload.data),
            *(request[name].eq(here.aside[name]) for name in ("select", "datatype", "operator")),
            request.odd.eq(here.odd), request.tag.eq(tag), tag.last.eq(here.last), tag.position.eq(here.position),
            tag.store.eq(~here.empty), tag.send.eq(here.aside.send & ~here.empty),
            *(tag[name].eq(here.aside[name]) for name in ("write_back", "tail", "context")),
            # Damage is reported at the end of a pass, so beats advance only while the report register has room. `calm`
            # holds the room of the cycle before, which is still there if no report was made in that cycle.
            faulty.eq(damaged | (packets.damaged & here.aside.use_packet)),
            meets.eq(reader.o.valid & (~here.aside.use_packet | packets.beats.valid)),
            self.o.valid.eq(meets & calm), takes.eq(meets & calm & self.o.ready),
            reader.o.ready.eq(self.o.ready & calm & (~here.aside.use_packet | packets.beats.valid)),
            packets.beats.ready.eq(takes & here.aside.use_packet),
            reports.i.valid.eq(takes & here.last & faulty),
            reports.i.payload.job.eq(here.aside.job), reports.i.payload.status.eq(Status.BUFFER_ERROR),
            self.o_release.eq(takes & (here.last if self.ecc else here.first) & here.aside.send),
            self.spoilt.eq(faulty if self.ecc else 0),
            self.activity.works.eq(takes), self.activity.held.eq(meets & ~takes),
            self.activity.starved.eq(reader.o.valid & ~meets),
        ]
        m.d.sync += calm.eq(reports.i.ready & ~reports.i.valid)
        with m.If(takes):
            m.d.sync += damaged.eq(faulty & ~here.last)

        # A packet is freed when all of it has been taken. `may_free` is a register, since it chooses a wide key.
        to_free, may_free = Signal(range(self.UNDER_WAY + 2)), Signal()
        ends, frees = Signal(), Signal()
        m.d.comb += [
            ends.eq(takes & here.last & here.aside.consume), frees.eq(leaving.free.valid & leaving.free.ready),
            leaving.free.valid.eq(may_free), leaving.free.payload.eq(held.o.payload), held.o.ready.eq(frees),
            leaving.freeing.eq(held.o.valid),
        ]
        m.d.sync += [
            to_free.eq(to_free + ends - frees), may_free.eq(ends | (to_free > 1) | ((to_free == 1) & ~frees)),
        ]

        return m
