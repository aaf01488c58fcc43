"""Finds the offload unit of each collective packet before the packet is routed."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
from rtl.buffer.layouts import on_shared_credit
from rtl.interface import LONG_HEADER, UNIT_BITS, PacketSignature, PlacementSignature, beat, header_flits
from rtl.kit.queue import LutQueue, stream_queue
from rtl.kit.register import RegisterPair

_DEPTH = 4
"""Headers, and beats of payload, that can be inside: as many as pass while an answer is on its way."""


class JobLocator(wiring.Component):
    """Adds the offload unit of its job to each collective packet (each CREDIT packet on channel 1).

    A packet is asked for as soon as its header comes, while those before it are still being passed on; so the question
    costs latency, and no throughput.

    Timing: packets of other types come out after two cycles, collective ones when the answer is there; a header in two
    cycles, a beat in each.

    Parameters
    ----------
    data_width : int
        Bits of a beat: 64, 128, 256 or 512.
    n_vps : int
        Virtual ports of the NIC, from 1 to as many as there are numbers.
    vc : int
        Virtual channel: 0 asks for COLLECTIVE packets, 1 for CREDIT packets.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets of the channel.
    placement : ``Out(PlacementSignature())``
        The job table. Answers are always taken at once.
    o : ``Out(PacketSignature(data_width))``
        The same packets.
    unit : ``Out``, placed, known, uncovered : ``Out(1)``
        With the header: the unit of its job, and two flags that there is one: `placed` of packets that are asked for
        alone. `uncovered`: there is none because the job
        table does not let the packet in. A COLLECTIVE packet for a virtual port that
        this NIC does not have belongs to no job; of other types of packets all are known.
    """

    def __init__(self, *, data_width: int, n_vps: int, vc: int):
        if not 1 <= n_vps <= 1 << formats.VP_BITS:
            raise ValueError(f"n_vps must be 1 to {1 << formats.VP_BITS}, not {n_vps!r}")
        if vc not in (0, 1):
            raise ValueError(f"vc must be 0 or 1, not {vc!r}")
        self.data_width, self.n_vps, self.vc = data_width, n_vps, vc
        super().__init__({
            "i": In(PacketSignature(data_width)),
            "placement": Out(PlacementSignature()),
            "o": Out(PacketSignature(data_width)),
            "unit": Out(UNIT_BITS),
            "placed": Out(1), "known": Out(1), "uncovered": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        entry = data.StructLayout({"header": PacketHeader, "collective": 1, "is_queried": 1})
        # Of long headers the third one is not there before the first one's answer.
        headers: RegisterPair | LutQueue
        if header_flits(self.data_width) >= LONG_HEADER:
            headers = RegisterPair(shape=entry)
        else:
            headers = LutQueue(shape=entry, depth=_DEPTH, full_rate=False, prompt=False)
        m.submodules.headers = headers
        m.submodules.beats = beats = stream_queue(shape=beat(self.data_width), depth=_DEPTH)
        connect(m, flipped(self.i.payload), beats.i)

        # A header comes in whether its question is taken at once or not; if not, the question stays behind, and the
        # next header waits for it. So nobody's turn at the job table is part of the way of a header.
        header, query = self.i.header, self.placement.query
        entering, late, later = headers.i.payload, Signal(), Signal.like(query.payload)
        header_taken = header.valid & header.ready
        m.d.comb += [
            entering.header.eq(header.payload),
            entering.collective.eq(header.payload.type == (PacketType.CREDIT if self.vc else PacketType.COLLECTIVE)),
            entering.is_queried.eq(entering.collective & (
                1 if self.vc else header.payload.dest_vp < self.n_vps
            )),
            headers.i.valid.eq(header.valid & ~late), header.ready.eq(headers.i.ready & ~late),
            query.valid.eq(late | (header_taken & entering.is_queried)),
        ]
        asks = Signal.like(query.payload)
        m.d.comb += [
            asks.job_id.eq(header.payload.job_id), asks.shared.eq(on_shared_credit(header.payload)),
            query.payload.eq(Mux(late, later, asks)),
        ]
        m.d.sync += late.eq(query.valid & ~query.ready)
        with m.If(header_taken):
            m.d.sync += later.eq(asks)

        # Output: the header, with the unit and a flag that there is one, then the payload.
        out, in_payload = self.o, Signal()
        leaving = headers.o.payload
        header_left = out.header.valid & out.header.ready
        answered, answer = self._answers(m, used=header_left & leaving.is_queried)
        m.d.comb += [
            out.header.payload.eq(leaving.header),
            out.header.valid.eq(headers.o.valid & ~in_payload & (~leaving.is_queried | answered)),
            headers.o.ready.eq(header_left),
            self.unit.eq(answer.unit),
            self.placed.eq(leaving.is_queried & answer.ok),
            self.known.eq(Mux(leaving.is_queried, answer.ok, ~leaving.collective)),
            self.uncovered.eq(leaving.is_queried & ~answer.ok & (self.vc == 0)),
            out.payload.payload.eq(beats.o.payload), out.payload.valid.eq(beats.o.valid & in_payload),
            beats.o.ready.eq(out.payload.ready & in_payload),
        ]
        with m.If(header_left):
            m.d.sync += in_payload.eq(leaving.header.length != 0)
        with m.If(out.payload.valid & out.payload.ready & out.payload.payload.last):
            m.d.sync += in_payload.eq(0)


        return m

    def _answers(self, m: Module, *, used: Value) -> tuple[Value, Value]:
        """The answer for the next header that asked: a flag that it is there, itself, and whether answers are at work;
        `used`: it goes with that header.

        There are never more answers on their way than headers that wait for them. All pass through a buffer; the one
        that is awaited is shown as it comes. It is let go of a cycle after its header, which is early enough: headers
        leave in every second cycle at most.
        """
        come, shape = self.placement.answer, data.StructLayout({"ok": 1, "unit": UNIT_BITS})
        m.submodules.answers = answers = stream_queue(shape=shape, depth=_DEPTH)
        answer, kept, released = Signal(shape), answers.o.payload, Signal()
        m.d.sync += released.eq(used)
        m.d.comb += [
            answers.i.payload.ok.eq(come.payload.ok), answers.i.payload.unit.eq(come.payload.unit),
            answers.i.valid.eq(come.valid), come.ready.eq(answers.i.ready), answers.o.ready.eq(released),
            answer.eq(Mux(answers.o.valid, kept, answers.i.payload)),
        ]
        return answers.o.valid | come.valid, answer
