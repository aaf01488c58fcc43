"""End-to-end credits on their way back to the sender."""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import PacketType
from firmware_models.abi.formats import NODE_BITS, PACKET_VERSION, FormatSet
from rtl.credit.layouts import SHARED_BIT, credit_notice
from rtl.interface import PacketSignature
from rtl.kit.arbiter import StreamArbiter


class CreditReturn(wiring.Component):
    """Sends a CREDIT packet on virtual channel 1 for every consumed packet, to its source, and for every shared credit
    that returns unused, to the receiver that granted it.

    The CREDIT packet bears the peer number and the window slot (`tag`) that the consumed packet brought, so that the
    sender finds its counter without a search.

    Timing: combinational; with `shares` one cycle.

    Parameters
    ----------
    data_width : int
        Bits of a beat: 64, 128, 256 or 512.
    shares : bool
        If true, receivers have pools and grant shared credits.
    formats : FormatSet
        For notices.

    Members
    -------
    i : ``In(stream.Signature(credit))``
        Source of each consumed packet (`dest_id`, `dest_vp` of the answer).
    i_unused : ``In(stream.Signature(credit))``
        Shared credits that return unused; `dest_id`, `dest_vp`: who granted them. Ignored without `shares`.
    node_id : ``In(24)``
        NodeID of this NIC.
    o : ``Out(PacketSignature(data_width))``
        CREDIT packets.
    """

    def __init__(self, *, data_width: int, shares: bool, formats: FormatSet):
        self.shares, notice = shares, credit_notice(formats)
        super().__init__({
            "i": In(stream.Signature(notice)),
            "i_unused": In(stream.Signature(notice)),
            "node_id": In(NODE_BITS),
            "o": Out(PacketSignature(data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        header = self.o.header.payload
        notice = self.i
        if self.shares:
            m.submodules.arbiter = arbiter = StreamArbiter(shape=notice.payload.shape(), n=2)
            connect(m, flipped(self.i), arbiter.i[0])
            connect(m, flipped(self.i_unused), arbiter.i[1])
            notice = arbiter.o
        credit = notice.payload
        m.d.comb += [
            self.o.header.valid.eq(notice.valid),
            notice.ready.eq(self.o.header.ready),
            header.eq(0),
            header.type.eq(PacketType.CREDIT),
            header.version.eq(PACKET_VERSION),
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
