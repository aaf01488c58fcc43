"""The receiving half of the point-to-point path."""

from amaranth import Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
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
from rtl.p2p.records import admitted_layout

PAYLOAD_BEATS = 16
"""Payload that comes in while the packet is being judged; the time of a check."""


class P2pReceive(wiring.Component):
    """Packets in, answers out: :class:`Admission`, then :class:`Delivery`; the payload waits in between. GETs bypass
    both.

    The next packet is judged while the last beats of the one before are written.

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
    o_get : ``Out(stream.Signature(PacketHeader))``
        GETs; one that has a payload is none, and unknown.
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
            "o_get": Out(stream.Signature(PacketHeader)),
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
        m.submodules.admission = admission = Admission(address_bits=self.address_bits)
        m.submodules.admitted = admitted = TurnBuffer(shape=admitted_layout(self.address_bits))
        m.submodules.payload = payload = stream_queue(
            shape=beat(self.data_width), depth=PAYLOAD_BEATS
        )
        m.submodules.delivery = delivery = Delivery(
            data_width=self.data_width, address_bits=self.address_bits
        )

        # Where a packet goes is decided in front of the register. Header and payload need not wait for each other here:
        # a payload is stored whether its header has been looked at or not.
        judged = data.StructLayout({"header": PacketHeader, "is_get": 1})
        m.submodules.header_stage = header = StreamStage(shape=judged, full_rate=False)
        m.submodules.payload_stage = beats = StreamStage(shape=beat(self.data_width), full_rate=True)
        incoming = self.i.header
        is_get = header.o.payload.is_get
        m.d.comb += [
            header.i.payload.header.eq(incoming.payload),
            header.i.payload.is_get.eq((incoming.payload.type == PacketType.GET) & (incoming.payload.length == 0)),
            header.i.valid.eq(incoming.valid),
            incoming.ready.eq(header.i.ready),
            admission.i.payload.eq(header.o.payload.header),
            admission.i.valid.eq(header.o.valid & ~is_get),
            self.o_get.payload.eq(header.o.payload.header),
            self.o_get.valid.eq(header.o.valid & is_get),
            header.o.ready.eq(Mux(is_get, self.o_get.ready, admission.i.ready)),
        ]
        connect(m, flipped(self.i.payload), beats.i)
        connect(m, beats.o, payload.i)
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
