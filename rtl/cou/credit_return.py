"""End-to-end credits at the receiver: says to the sender that its packet has been consumed."""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from firmware_models.config import Config
from rtl.cou.command import CouShapes
from rtl.interface import PacketSignature


class CreditReturn(wiring.Component):
    """Turns every consumed packet into one CREDIT packet to its source, on virtual channel 1.

    The packet bears the peer number that the consumed one brought, so that the sender finds its counter without a
    search, and for the same reason the place of a multicast in the sender's window (`tag`).

    Members
    -------
    i : ``In(stream.Signature(credit))``
        Source of each consumed packet (`dest_id`, `dest_vp` of the answer).
    node_id : ``In(24)``
        NodeID of this NIC.
    o : ``Out(PacketSignature(data_width))``
        CREDIT packets.
    """

    def __init__(self, config: Config):
        super().__init__({
            "i": In(stream.Signature(CouShapes(config).credit)),
            "node_id": In(formats.NODE_BITS),
            "o": Out(PacketSignature(config.datapath.data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        header = self.o.header.payload
        credit = self.i.payload
        m.d.comb += [
            self.o.header.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.header.ready),
            header.eq(0),
            header.type.eq(PacketType.CREDIT),
            header.version.eq(formats.PACKET_VERSION),
            header.job_id.eq(credit.job_id),
            header.peer.eq(credit.peer),
            header.credits.eq(1), header.tag.eq(credit.place),
            header.dest_id.eq(credit.dest_id),
            header.dest_vp.eq(credit.dest_vp),
            header.source_vp.eq(credit.source_vp),
            header.source_id.eq(self.node_id),
        ]
        return m
