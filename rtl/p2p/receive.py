"""The receiving half of the point-to-point path."""

from amaranth import Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
from rtl.interface import PacketSignature, ReceiveSlotSignature, WindowSignature, WriteSignature, beat
from rtl.kit.fifo import StreamFifo
from rtl.p2p.admission import Admission
from rtl.p2p.delivery import Delivery
from rtl.p2p.records import Admitted

PAYLOAD_BEATS = 16
"""Payload that comes in while the packet is being judged; the time of a check."""


class P2pReceive(wiring.Component):
    """Packets in, answers out: :class:`Admission`, then :class:`Delivery`; the payload waits in between. GETs go past.

    The next packet is judged while the last beats of the one before are written.

    Parameters
    ----------
    data_width : int
        Bits of a flit.

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

    def __init__(self, *, data_width: int):
        self.data_width = data_width
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
        m.submodules.admission = admission = Admission()
        m.submodules.admitted = admitted = StreamFifo(shape=Admitted, depth=2)
        m.submodules.payload = payload = StreamFifo(shape=beat(self.data_width), depth=PAYLOAD_BEATS)
        m.submodules.delivery = delivery = Delivery(data_width=self.data_width)

        header = self.i.header
        is_get = (header.payload.type == PacketType.GET) & (header.payload.length == 0)
        m.d.comb += [
            admission.i.payload.eq(header.payload),
            admission.i.valid.eq(header.valid & ~is_get),
            self.o_get.payload.eq(header.payload),
            self.o_get.valid.eq(header.valid & is_get),
            header.ready.eq(Mux(is_get, self.o_get.ready, admission.i.ready)),
        ]
        connect(m, flipped(self.i.payload), payload.i)
        connect(m, admission.window, flipped(self.window))
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
