"""Reports of a reliable link's receiving end to the sending one."""

from amaranth import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.link.wire import N_VCS, ReportSignature

_ITEMS = 2 * N_VCS
"""Acknowledgement and credits of each channel."""


class Reporter(wiring.Component):
    """Chooses what a control word tells of: a replay that is wanted, else credits that run short, else what is new.

    Everything is a number counted from reset, so the next word about the same repeats what a lost one carried; where
    nothing is new all take turns.

    Timing: ``report`` is a function of registers and of the inputs.

    Parameters
    ----------
    bits : int
        Bits of a position.
    buffer_flits : int
        Flits that the receiver holds for each channel.

    Members
    -------
    whole : array of 2 ``In(bits)``
        Flits of each channel that belong to packets that came whole.
    free : array of 2 ``In(bits)``
        Flits of each channel whose room is free again.
    wanted : ``In(2)``
        For each channel: a replay is wanted.
    again : ``In(2)``
        For each channel: acknowledge once more.
    asks : ``Out(2)``
        For each channel: a replay is asked for in this cycle.
    report : ``Out(ReportSignature)``
        Towards the control word.
    """

    def __init__(self, *, bits: int, buffer_flits: int):
        self.bits, self.buffer_flits = bits, buffer_flits
        super().__init__({
            "whole": In(bits).array(N_VCS), "free": In(bits).array(N_VCS), "wanted": In(N_VCS), "again": In(N_VCS),
            "asks": Out(N_VCS), "report": Out(ReportSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        values = [*self.whole, *self.free]
        sent = [Signal(self.bits, name=f"sent_{item}") for item in range(_ITEMS)]
        again = Signal(N_VCS)
        new, short = Signal(_ITEMS), Signal(N_VCS)
        for item in range(_ITEMS):
            m.d.comb += new[item].eq((values[item] != sent[item]) | (again[item] if item < N_VCS else 0))
        for vc in range(N_VCS):
            unsent = (self.free[vc] - sent[N_VCS + vc])[:self.bits]
            m.d.comb += short[vc].eq(unsent >= max(1, self.buffer_flits // 2))

        # Whoever's turn it is goes first, so that nothing new waits for ever.
        turn, item = Signal(range(_ITEMS)), Signal(range(_ITEMS))
        m.d.comb += item.eq(turn)
        with m.If(~Array(new)[turn]):
            for other in reversed(range(_ITEMS)):
                with m.If(new[other]):
                    m.d.comb += item.eq(other)
        for vc in reversed(range(N_VCS)):
            with m.If(short[vc]):
                m.d.comb += item.eq(N_VCS + vc)
        for vc in reversed(range(N_VCS)):
            with m.If(self.wanted[vc]):
                m.d.comb += item.eq(vc)

        what = self.report.what
        m.d.comb += [
            what.about.eq(item[0]), what.is_credit.eq(item[1]), what.value.eq(Array(values)[item]),
            what.replay.eq(~item[1] & Array(self.wanted)[item[0]]),
            self.report.due.eq(new.any()), self.report.urgent.eq(short.any() | self.wanted.any()),
        ]
        m.d.sync += again.eq(again | self.again)
        with m.If(self.report.taken):
            m.d.sync += turn.eq(turn + 1)
            for number in range(_ITEMS):
                with m.If(item == number):
                    m.d.sync += sent[number].eq(values[number])
            for vc in range(N_VCS):
                with m.If(item == vc):
                    m.d.sync += again[vc].eq(self.again[vc])
                    m.d.comb += self.asks[vc].eq(self.wanted[vc])
        return m
