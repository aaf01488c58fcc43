"""CREDIT packets on their way out, as the job table counts them."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
from rtl.credit.layouts import SHARED_BIT
from rtl.interface import CreditGiven


class CreditWatcher(wiring.Component):
    """Reports each credit that is returned, as soon as its packet is on offer to the packetizer.

    A credit may be spent after it has left. The packet that spends it arrives many cycles later. A CREDIT packet leaves
    from the first cycle on in which it is on offer; for a cycle after it there is none.

    Timing: a cycle.

    Members
    -------
    valid : ``In(1)``, header : ``In(PacketHeader)``
        The header on offer.
    given_valid : ``Out(1)``, given : ``Out(CreditGiven)``
        A credit is returned.
    """

    def __init__(self):
        super().__init__({
            "valid": In(1), "header": In(PacketHeader), "given_valid": Out(1), "given": Out(CreditGiven),
        })

    def elaborate(self, platform):
        m = Module()
        header, seen = self.header, Signal()
        gives = (header.type == PacketType.CREDIT) & (header.credits != 0)
        m.d.sync += [
            seen.eq(self.valid), self.given_valid.eq(self.valid & ~seen & gives),
            self.given.job_id.eq(header.job_id), self.given.shared.eq(header.tag[SHARED_BIT]),
            self.given.granted.eq(header.loan),
        ]
        return m
