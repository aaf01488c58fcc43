"""CREDIT packets that come back to the sender of collective packets."""

from amaranth import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.credit.credit_table import credit_back
from rtl.interface import PacketSignature


class CreditReceiver(wiring.Component):
    """Takes CREDIT packets apart: those that return credits go to the credit table, those that return a shared credit
    unused to the job reporter.

    A CREDIT packet has no payload; one that comes with it all the same is drained.

    Timing: combinational.

    Parameters
    ----------
    data_width : int
        Bits of a beat: 64, 128, 256 or 512.
    shares : bool
        If true, receivers have pools and grant shared credits.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        CREDIT packets.
    o : ``Out(stream.Signature(credit_back()))``
        Credits that return.
    o_unused : ``Out(stream.Signature({job_id}))``
        Shared credits that return unused. None without `shares`: the table ignores them.
    """

    def __init__(self, *, data_width: int, shares: bool):
        self.shares = shares
        super().__init__({
            "i": In(PacketSignature(data_width)),
            "o": Out(stream.Signature(credit_back())),
            "o_unused": Out(stream.Signature(data.StructLayout({"job_id": formats.JOB_BITS}))),
        })

    def elaborate(self, platform):
        m = Module()
        i, header, back, unused = self.i.header, self.i.header.payload, self.o, self.o_unused
        m.d.comb += [
            back.valid.eq(i.valid), i.ready.eq(back.ready), self.i.payload.ready.eq(1),
            [back.payload[name].eq(header[name]) for name in back.payload.shape().members if name != "window_slot"],
            back.payload.window_slot.eq(header.tag), unused.payload.job_id.eq(header.job_id),
        ]
        if self.shares:
            is_unused = header.loan & (header.credits == 0)
            m.d.comb += unused.valid.eq(i.valid & is_unused)
            with m.If(is_unused):
                m.d.comb += [back.valid.eq(0), i.ready.eq(unused.ready)]
        return m
