"""End-to-end credits on their way back to the sender."""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from firmware_models.config import Config
from rtl.credit.layouts import SHARED_BIT, credit_notice
from rtl.interface import PacketSignature
from rtl.kit.arbiter import StreamArbiter


class CreditReturn(wiring.Component):
    """Sends a CREDIT packet on virtual channel 1 for every consumed packet, to its source, and for every shared credit
    that returns unused, to the receiver that granted it.

    The CREDIT packet bears the peer number and the window slot (`tag`) that the consumed packet brought, so that the
    sender finds its counter without a search.

    Timing: combinational; if there is a pool, one cycle.

    Members
    -------
    i : ``In(stream.Signature(credit))``
        Source of each consumed packet (`dest_id`, `dest_vp` of the answer).
    i_unused : ``In(stream.Signature(credit))``
        Shared credits that return unused; `dest_id`, `dest_vp`: who granted them. Ignored if there is no pool.
    node_id : ``In(24)``
        NodeID of this NIC.
    o : ``Out(PacketSignature(data_width))``
        CREDIT packets.
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(credit_notice(config.formats))),
            "i_unused": In(stream.Signature(credit_notice(config.formats))),
            "node_id": In(formats.NODE_BITS),
            "o": Out(PacketSignature(config.datapath.data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        header = self.o.header.payload
        notice = self.i
        if self.config.pool_packets:
            m.submodules.arbiter = arbiter = StreamArbiter(shape=credit_notice(self.config.formats), n=2)
            connect(m, flipped(self.i), arbiter.i[0])
            connect(m, flipped(self.i_unused), arbiter.i[1])
            notice = arbiter.o
        credit = notice.payload
        m.d.comb += [
            self.o.header.valid.eq(notice.valid),
            notice.ready.eq(self.o.header.ready),
            header.eq(0),
            header.type.eq(PacketType.CREDIT),
            header.version.eq(formats.PACKET_VERSION),
            header.job_id.eq(credit.job_id),
            header.peer.eq(credit.peer),
            header.credits.eq(credit.credits), header.tag.eq(credit.window_slot | credit.shared << SHARED_BIT),
            header.loan.eq(credit.loan), header.want.eq(credit.want),
            header.dest_id.eq(credit.dest_id),
            header.dest_vp.eq(credit.dest_vp),
            header.source_vp.eq(credit.source_vp),
            header.source_id.eq(self.node_id),
        ]
        return m
