"""Giving up the output of a switch whose link takes nothing."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

LEAST_CREDITS = 16
"""Credits that have to return in a window: a link with fewer takes nothing, as far as others are concerned."""


class GiveUp(wiring.Component):
    """Discards what is for one channel of an output as long as the link takes nothing, so that it stands in front of
    nobody else.

    The output is given up if in a whole window it never had credits for a packet, and fewer than
    :data:`LEAST_CREDITS` returned; until it has credits for a packet again. A packet is sent whole or discarded whole:
    the change waits until none is on its way, and meanwhile none begins, so that there is an end to it.

    Timing: ``drains`` and ``closes`` are registers.

    Members
    -------
    window_ended : ``In(1)``
        Event: a window ends, and the next one begins.
    has_room : ``In(1)``
        There are credits for any packet.
    returned, sent : ``In(1)``
        Events: a credit returns; a flit for the output will come in the next cycle.
    holds : ``In(1)``
        A packet is being sent here. One that starts in a cycle is seen in the next.
    closes : ``Out(1)``
        No packet may start here.
    drains : ``Out(1)``
        Flits that come are discarded, and cost no credit.
    """

    def __init__(self):
        super().__init__({
            "window_ended": In(1), "has_room": In(1), "returned": In(1), "sent": In(1), "holds": In(1),
            "closes": Out(1), "drains": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        is_stuck, n_returned = Signal(), Signal(range(LEAST_CREDITS + 1))
        with m.If(self.window_ended):
            m.d.sync += [is_stuck.eq(~self.has_room), n_returned.eq(self.returned)]
        with m.Else():
            m.d.sync += is_stuck.eq(is_stuck & ~self.has_room)
            with m.If(self.returned & (n_returned != LEAST_CREDITS)):
                m.d.sync += n_returned.eq(n_returned + 1)

        with m.If(self.closes):
            with m.If(~self.drains & self.has_room):
                m.d.sync += self.closes.eq(0)
            with m.Elif(~self.holds & ~self.sent):
                m.d.sync += [self.closes.eq(0), self.drains.eq(~self.drains)]
        with m.Elif(self.drains):
            m.d.sync += self.closes.eq(self.has_room)
        with m.Else():
            m.d.sync += self.closes.eq(
                self.window_ended & is_stuck & ~self.has_room & (n_returned != LEAST_CREDITS)
            )
        return m
