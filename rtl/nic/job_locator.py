"""Finds the offload unit of each collective packet before the packet is routed."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import PacketType
from firmware_models.config import Config
from rtl.abi import PacketHeader
from rtl.interface import UNIT_BITS, PacketSignature, PlacementSignature, beat
from rtl.kit.fifo import StreamFifo
from rtl.kit.quiescence import any_moves

_DEPTH = 4
"""Headers, and beats of payload, that can be inside: as many as pass while an answer is on its way."""


class JobLocator(wiring.Component):
    """Puts the unit of its job beside each collective packet (each CREDIT packet on channel 1).

    A packet is asked for as soon as its header comes, while those before it are still being passed on; so the question
    costs latency, and no throughput.

    Timing: packets of other types come out after one cycle, collective ones when the answer is there.

    Parameters
    ----------
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
    unit : ``Out``, known : ``Out(1)``
        With the header: the unit of its job, and whether there is one. A COLLECTIVE packet for a virtual port that this
        NIC does not have belongs to no job; of other types of packets all are known.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, config: Config, *, vc: int):
        if vc not in (0, 1):
            raise ValueError(f"vc must be 0 or 1, not {vc!r}")
        self.config, self.vc = config, vc
        width = config.datapath.data_width
        super().__init__({
            "moves": Out(1),
            "i": In(PacketSignature(width)),
            "placement": Out(PlacementSignature()),
            "o": Out(PacketSignature(width)),
            "unit": Out(UNIT_BITS),
            "known": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        entry = data.StructLayout({"header": PacketHeader, "collective": 1, "asked": 1})
        m.submodules.headers = headers = StreamFifo(shape=entry, depth=_DEPTH)
        m.submodules.beats = beats = StreamFifo(shape=beat(self.config.datapath.data_width), depth=_DEPTH)
        m.submodules.answers = answers = StreamFifo(shape=self.placement.answer.payload.shape(), depth=_DEPTH)
        connect(m, flipped(self.i.payload), beats.i)

        header = self.i.header
        query = self.placement.query
        entering = headers.i.payload
        m.d.comb += [
            entering.header.eq(header.payload),
            entering.collective.eq(header.payload.type == (PacketType.CREDIT if self.vc else PacketType.COLLECTIVE)),
            entering.asked.eq(entering.collective & (
                1 if self.vc else header.payload.dest_vp < self.config.nic.n_vps
            )),
            query.payload.job_id.eq(header.payload.job_id),
            query.valid.eq(header.valid & entering.asked & headers.i.ready),
            headers.i.valid.eq(header.valid & (~entering.asked | query.ready)),
            header.ready.eq(headers.i.ready & (~entering.asked | query.ready)),
        ]

        # What leaves: the header, with it the unit and whether there is one, then the payload.
        out, in_payload = self.o, Signal()
        leaving = headers.o.payload
        goes = out.header.valid & out.header.ready

        # There are never more answers on their way than headers that wait for them. The one that is awaited goes past
        # the others' buffer.
        come, answer = self.placement.answer, Signal.like(answers.o.payload)
        answered = ~leaving.asked | answers.o.valid | come.valid
        m.d.comb += [
            answer.eq(Mux(answers.o.valid, answers.o.payload, come.payload)),
            answers.i.payload.eq(come.payload), come.ready.eq(answers.i.ready),
            answers.i.valid.eq(come.valid & (answers.o.valid | ~(goes & leaving.asked))),
        ]
        m.d.comb += [
            out.header.payload.eq(leaving.header), out.header.valid.eq(headers.o.valid & ~in_payload & answered),
            headers.o.ready.eq(goes), answers.o.ready.eq(goes & leaving.asked),
            self.unit.eq(answer.unit),
            self.known.eq(Mux(leaving.asked, answer.ok, ~leaving.collective)),
            out.payload.payload.eq(beats.o.payload), out.payload.valid.eq(beats.o.valid & in_payload),
            beats.o.ready.eq(out.payload.ready & in_payload),
        ]
        with m.If(goes):
            m.d.sync += in_payload.eq(leaving.header.length != 0)
        with m.If(out.payload.valid & out.payload.ready & out.payload.payload.last):
            m.d.sync += in_payload.eq(0)

        m.d.sync += self.moves.eq(any_moves(headers.moves, beats.moves, answers.moves))

        return m
