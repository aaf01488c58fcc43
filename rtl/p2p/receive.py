"""The receiving half of the point-to-point path."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.abi import P2pRange, PacketHeader
from rtl.interface import (
    ADDRESS_BITS,
    PacketSignature,
    ReceiveSlotSignature,
    WindowQuery,
    WindowSignature,
    WriteSignature,
    beat,
)
from rtl.kit.queue import stream_queue
from rtl.kit.skid import TurnBuffer
from rtl.kit.stage import StreamStage
from rtl.p2p.admission import Admission
from rtl.p2p.delivery import Delivery
from rtl.p2p.records import RangedHeader, admitted_layout, is_part

PAYLOAD_BEATS = 16
"""Payload that comes in while the packet is being judged; the time of a check."""


class P2pReceive(wiring.Component):
    """Packets in, answers out: :class:`Admission`, then :class:`Delivery`; the payload waits in between. GETs bypass
    both.

    The range of a PUT or GET that is one of several of its operation is taken off its payload, and goes with its
    header.

    The next packet is judged while the last beats of the one before are written.

    Timing: a header is judged a cycle after it came; one whose range is still to come a cycle after that.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets of virtual channel 0: SEND, PUT and GET.
    o_get : ``Out(stream.Signature(RangedHeader))``
        GETs; one that has a payload other than a range is none, and unknown.
    o : ``Out(PacketSignature(data_width))``
        Answers: ACK packets.
    window, receive_slot, write, delivered, unknown, node_id, cycles
        Those of :class:`Admission` and :class:`Delivery`.
    """

    def __init__(self, *, data_width: int, address_bits: int = ADDRESS_BITS):
        self.data_width = data_width
        self.address_bits = address_bits
        super().__init__({
            "i": In(PacketSignature(data_width)),
            "o": Out(PacketSignature(data_width)),
            "o_get": Out(stream.Signature(RangedHeader)),
            "window": Out(WindowSignature()),
            "receive_slot": Out(ReceiveSlotSignature()),
            "write": Out(WriteSignature(data_width)),
            "delivered": Out(1),
            "unknown": Out(1),
            "node_id": In(formats.NODE_BITS),
            "cycles": In(63),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.admission = admission = Admission(
            data_width=self.data_width, address_bits=self.address_bits
        )
        m.submodules.admitted = admitted = TurnBuffer(shape=admitted_layout(self.address_bits))
        m.submodules.payload = payload = stream_queue(
            shape=beat(self.data_width), depth=PAYLOAD_BEATS
        )
        m.submodules.delivery = delivery = Delivery(
            data_width=self.data_width, address_bits=self.address_bits
        )

        self._split(m)
        checking = flipped(self.window)
        m.submodules.window_stage = query_stage = StreamStage(shape=WindowQuery, full_rate=False)
        connect(m, admission.window.query, query_stage.i)
        connect(m, query_stage.o, checking.query)
        connect(m, checking.answer, admission.window.answer)
        connect(m, admission.receive_slot, flipped(self.receive_slot))
        connect(m, admission.o, admitted.i)
        connect(m, admitted.o, delivery.i)
        connect(m, payload.o, delivery.i_payload)
        connect(m, delivery.write, flipped(self.write))
        connect(m, delivery.o, flipped(self.o.header))
        m.d.comb += [
            self.delivered.eq(delivery.delivered),
            self.unknown.eq(admission.unknown),
            delivery.node_id.eq(self.node_id),
            delivery.cycles.eq(self.cycles),
        ]
        return m

    def _split(self, m: Module) -> None:
        """Takes the range off the payload, and passes on headers and payloads.

        Where a packet goes is decided in front of the registers, where a beat belongs to the header before it. Header
        and payload need not wait for each other but for the range: data are stored whether their header has been
        looked at or not.
        """
        admission, flit_bytes = m.submodules.admission, self.data_width // 8
        judged = data.StructLayout({"header": PacketHeader, "is_get": 1})
        m.submodules.header_stage = header = StreamStage(shape=judged, full_rate=False)
        m.submodules.payload_stage = beats = StreamStage(shape=beat(self.data_width), full_rate=True)
        incoming, payload, first = self.i.header, self.i.payload, header.i.payload
        sent, is_get = incoming.payload, header.o.payload.is_get

        # The header's register holds no other header until this one's range has come, so one range is enough.
        operation, awaits_range, has_range = Signal(P2pRange), Signal(), Signal()
        get = sent.type == PacketType.GET
        is_put_part = (sent.type == PacketType.PUT) & is_part(sent) & (sent.length != 0)
        is_get_part = get & is_part(sent) & (sent.length == flit_bytes)
        m.d.comb += [
            has_range.eq(is_put_part | is_get_part),
            first.header.eq(sent),
            first.is_get.eq(get & (is_get_part | (sent.length == 0))),
        ]
        with m.If(has_range):
            m.d.comb += first.header.length.eq(Mux(sent.length > flit_bytes, sent.length - flit_bytes, 0))
        with m.If(incoming.valid & incoming.ready):
            m.d.sync += [
                awaits_range.eq(has_range), operation.before.eq(0),
                operation.left.eq(Mux(is_part(sent), 0, Mux(get, sent.pulse, sent.length))),
            ]
        with m.Elif(payload.valid & awaits_range):
            m.d.sync += [awaits_range.eq(0), operation.eq(payload.payload.data[:P2pRange.size])]

        m.d.comb += [
            header.i.valid.eq(incoming.valid),
            incoming.ready.eq(header.i.ready),
            beats.i.payload.eq(payload.payload),
            beats.i.valid.eq(payload.valid & ~awaits_range),
            payload.ready.eq(awaits_range | beats.i.ready),
            admission.i.payload.header.eq(header.o.payload.header),
            admission.i.payload.range.eq(operation),
            admission.i.valid.eq(header.o.valid & ~is_get & ~awaits_range),
            self.o_get.payload.header.eq(header.o.payload.header),
            self.o_get.payload.range.eq(operation),
            self.o_get.valid.eq(header.o.valid & is_get & ~awaits_range),
            header.o.ready.eq(~awaits_range & Mux(is_get, self.o_get.ready, admission.i.ready)),
        ]
        connect(m, beats.o, m.submodules.payload.i)
