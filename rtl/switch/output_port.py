"""Output port of a switch: credits of the next buffer, and the register on the link."""

from amaranth import Module, Mux, ResetSignal, Signal
from amaranth.hdl import Assert
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import LinkSignature
from rtl.kit.queue import stream_queue
from rtl.link.link_rx import N_VCS
from rtl.switch.choice import one_of
from rtl.switch.port_statistics import Traffic
from rtl.switch.sizes import SwitchSizes

_FIFO_DEPTH = 4


class OutputPort(wiring.Component):
    """Sends the flits of the crossbar, and shows for what there is credit.

    A credit is spent when a flit is sent towards the output; the flit comes a cycle later; a small
    buffer in front of the link has room for it, which fills up only where the link's `ready` pauses.

    Channel 1 goes first, but not for ever: when so many of its flits have passed a waiting channel 0 as the longest
    packet has, it is not accepted for as many cycles, or until channel 0 waits no more.

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
    waits : ``In(1)``
        A packet of channel 0 is being sent here.
    accepts : ``Out(2)``
        For each channel: it may.
    room, room_short : ``Out(2)``
        For each channel: there are credits for any packet (a short one), and one for a flit that is sent in this cycle.
    credits : array of 2 ``Out``
        Credits now.
    sent_on : ``Out(Traffic)``
        What goes over the link in this cycle.
    link : ``Out(LinkSignature)``
        The link.
    """

    def __init__(self, *, sizes: SwitchSizes):
        self.sizes = sizes
        n_sources = sizes.radix * sizes.readers
        super().__init__({
            "valid": In(n_sources), "flit": In(sizes.flit).array(n_sources),
            "sent": In(N_VCS), "waits": In(1),
            "accepts": Out(N_VCS),
            "room": Out(N_VCS),
            "room_short": Out(N_VCS),
            "credits": Out(range(sizes.buffer_flits + 1)).array(N_VCS),
            "sent_on": Out(Traffic),
            "link": Out(LinkSignature(sizes.data_width, marked=sizes.marked)),
        })

    def elaborate(self, platform):
        m = Module()
        sizes = self.sizes
        m.submodules.fifo = fifo = stream_queue(shape=sizes.flit, depth=_FIFO_DEPTH)
        m.d.comb += [
            fifo.i.valid.eq(self.valid.any()),
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
        with m.If(~self.waits | ~yields & self.sent[0]):
            m.d.sync += [passed.eq(0), yields.eq(0)]
        with m.Elif(yields | self.sent[1]):
            m.d.sync += passed.eq(passed + 1)
            with m.If(passed == sizes.longest - 1):
                m.d.sync += [passed.eq(0), yields.eq(~yields)]
        for vc in range(N_VCS):
            level = Signal(range(sizes.buffer_flits + 1), init=sizes.buffer_flits, name=f"level_{vc}")
            following = Signal.like(level, name=f"following_{vc}")
            room, room_short = Signal(init=1, name=f"room_{vc}"), Signal(init=1, name=f"room_short_{vc}")
            returned = self.link.credit_valid & (self.link.credit_vc == vc)
            m.d.comb += [
                following.eq(level + Mux(returned, 1, 0) - self.sent[vc]),
                self.credits[vc].eq(level),
                self.room[vc].eq(room),
                self.room_short[vc].eq(room_short),
                # A flit that was sent in the cycle before is still on its way into the buffer.
                self.accepts[vc].eq((level != 0) & (fifo.level <= _FIFO_DEPTH - 2) & ~(yields if vc else 0)),
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
