"""Output port of a switch: credits of the next buffer, and the register on the link."""

from amaranth import Module, Mux, ResetSignal, Signal
from amaranth.hdl import Assert
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import LinkSignature
from rtl.kit.queue import stream_queue
from rtl.link.link_rx import N_VCS
from rtl.switch.choice import one_of
from rtl.switch.give_up import GiveUp
from rtl.switch.port_statistics import Traffic
from rtl.switch.sizes import SwitchSizes

_FIFO_DEPTH = 4


class OutputPort(wiring.Component):
    """Sends the flits of the crossbar, and shows for what there is credit.

    A credit is spent when a flit is sent towards the output; the flit comes a cycle later; a small
    buffer in front of the link has room for it, which fills up only where the link's `ready` pauses.

    Channel 1 goes first, but not for ever: when so many of its flits have passed a waiting channel 0 as the longest
    packet has, it is not accepted for as many cycles, or until channel 0 waits no more.

    A link that takes nothing is given up (:class:`~rtl.switch.give_up.GiveUp`): then there seem to be credits, and what
    comes is discarded.

    Timing: two cycles from ``sent`` to ``link``. Everything driven is a function of registers.

    Parameters
    ----------
    sizes : SwitchSizes
        Sizes.

    Members
    -------
    valid : ``In(radix * readers)``
        Readers of inputs whose flit is for this output: one at most in a cycle.
    flit : array of `radix` x readers ``In(flit)``
        The flits of all readers of all inputs.
    sent : ``In(2)``
        For each channel: a flit for this output will come in the next cycle.
    holds : ``In(2)``
        For each channel: a packet is being sent here.
    window_ended : ``In(1)``
        Event: the end of a window, in which the link has to take something.
    accepts : ``Out(2)``
        For each channel: it may.
    room, room_short : ``Out(2)``
        For each channel: there are credits for any packet (a short one), and one for a flit that is sent in this cycle.
    credits : array of 2 ``Out``
        Credits now.
    sent_on : ``Out(Traffic)``
        What goes over the link in this cycle.
    lost : ``Out(1)``
        Event: a packet has been discarded.
    given_up : ``Out(2)``
        For each channel: what comes is discarded.
    waits : ``Out(1)``
        Some channel that is not given up has no credits for a packet.
    link : ``Out(LinkSignature)``
        The link.
    """

    def __init__(self, *, sizes: SwitchSizes):
        self.sizes = sizes
        n_sources = sizes.radix * sizes.readers
        super().__init__({
            "valid": In(n_sources), "flit": In(sizes.flit).array(n_sources),
            "sent": In(N_VCS), "holds": In(N_VCS), "window_ended": In(1),
            "accepts": Out(N_VCS),
            "room": Out(N_VCS),
            "room_short": Out(N_VCS),
            "credits": Out(range(sizes.buffer_flits + 1)).array(N_VCS),
            "sent_on": Out(Traffic), "lost": Out(1), "given_up": Out(N_VCS), "waits": Out(1),
            "link": Out(LinkSignature(sizes.data_width, marked=sizes.marked)),
        })

    def elaborate(self, platform):
        m = Module()
        sizes = self.sizes
        m.submodules.fifo = fifo = stream_queue(shape=sizes.flit, depth=_FIFO_DEPTH)
        # Channels that are given up; what comes now was sent in the cycle before, and nothing is on its way when that
        # changes.
        on_its_way = Signal(N_VCS)
        is_discarded = (on_its_way & self.given_up).any()
        m.d.sync += [on_its_way.eq(self.sent), self.lost.eq(is_discarded & fifo.i.payload.last)]
        m.d.comb += [
            fifo.i.valid.eq(self.valid.any() & ~is_discarded),
            fifo.i.payload.eq(one_of(self.valid, [flit.as_value() for flit in self.flit])),
            self.link.valid.eq(fifo.o.valid),
            self.link.flit.eq(fifo.o.payload),
            fifo.o.ready.eq(self.link.ready),
            self.sent_on.flit.eq(fifo.o.valid & self.link.ready),
            self.sent_on.packet.eq(self.sent_on.flit & fifo.o.payload.last),
        ]
        m.d.sync += Assert(
            ResetSignal(allow_reset_less=True) | ~fifo.i.valid | fifo.i.ready, "switch: no room in front of the link\n",
        )

        # Flits by which channel 1 has passed channel 0; then, in cycles, how long it has yielded.
        passed, yields = Signal(range(sizes.longest + 1)), Signal()
        with m.If(~self.holds[0] | ~yields & self.sent[0]):
            m.d.sync += [passed.eq(0), yields.eq(0)]
        with m.Elif(yields | self.sent[1]):
            m.d.sync += passed.eq(passed + 1)
            with m.If(passed == sizes.longest - 1):
                m.d.sync += [passed.eq(0), yields.eq(~yields)]
        short_of_room = Signal(N_VCS)
        m.d.comb += self.waits.eq((short_of_room & ~self.given_up).any())
        for vc in range(N_VCS):
            level = Signal(range(sizes.buffer_flits + 1), init=sizes.buffer_flits, name=f"level_{vc}")
            following = Signal.like(level, name=f"following_{vc}")
            room, room_short = Signal(init=1, name=f"room_{vc}"), Signal(init=1, name=f"room_short_{vc}")
            returned = self.link.credit_valid & (self.link.credit_vc == vc)
            m.submodules[f"give_up_{vc}"] = give_up = GiveUp()
            m.d.comb += [
                give_up.window_ended.eq(self.window_ended), give_up.has_room.eq(room), give_up.returned.eq(returned),
                give_up.sent.eq(self.sent[vc]), give_up.holds.eq(self.holds[vc]), short_of_room[vc].eq(~room),
                self.given_up[vc].eq(give_up.drains),
                following.eq(level + Mux(returned, 1, 0) - (self.sent[vc] & ~give_up.drains)),
                self.credits[vc].eq(level),
                self.room[vc].eq((room | give_up.drains) & ~give_up.closes),
                self.room_short[vc].eq((room_short | give_up.drains) & ~give_up.closes),
                # A flit that was sent in the cycle before is still on its way into the buffer.
                self.accepts[vc].eq(
                    ((level != 0) | give_up.drains) & (fifo.level <= _FIFO_DEPTH - 2) & ~(yields if vc else 0)
                ),
            ]
            m.d.sync += [
                level.eq(following),
                room.eq(following > sizes.longest),
                room_short.eq(following > sizes.short),
                Assert(
                    ResetSignal(allow_reset_less=True) | ~returned | (level != sizes.buffer_flits),
                    "link: a credit came back that was not spent\n",
                ),
            ]
        return m
