"""Sending end of a link: two virtual channels against credits."""

from amaranth import Module, Mux, ResetSignal, Signal
from amaranth.hdl import Assert
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import LinkSignature, beat, flit
from rtl.kit.round_robin import RoundRobin
from rtl.kit.skid import SkidBuffer

N_VCS = 2


class LinkTx(wiring.Component):
    """Sends the beats of two virtual channels over one link, each against its own credits.

    Channels take turns flit by flit; one without credits or without beats leaves the link to the other. The
    counters start with the receiver's buffer depth.

    Timing: everything on ``link`` is driven by registers, and no input of it reaches an output combinationally. One
    cycle from ``i`` to ``link``, one flit per cycle.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    buffer_flits : int
        Flits that the receiver holds for each channel. At least 1.

    Members
    -------
    i : array of 2 ``In(stream.Signature(beat(data_width)))``
        Beats of virtual channel 0 and 1.
    link : ``Out(LinkSignature(data_width))``
        The link.
    """

    def __init__(self, *, data_width: int, buffer_flits: int):
        if not isinstance(buffer_flits, int) or buffer_flits < 1:
            raise ValueError(f"buffer_flits must be a positive integer, not {buffer_flits!r}")
        self.data_width = data_width
        self.buffer_flits = buffer_flits
        super().__init__({
            "i": In(stream.Signature(beat(data_width))).array(N_VCS),
            "link": Out(LinkSignature(data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turn = turn = RoundRobin(n=N_VCS)
        # The register on the link; it keeps link.ready away from the ready of the channels.
        m.submodules.output = output = SkidBuffer(shape=flit(self.data_width))

        # A credit is spent when the beat enters the output register: from there it goes in any case.
        m.d.comb += turn.advance.eq(output.i.ready)
        for vc in range(N_VCS):
            level = Signal(range(self.buffer_flits + 1), init=self.buffer_flits, name=f"level_{vc}")
            # A register of its own says that it is 0: all that is sent begins with it.
            has_credit = Signal(init=1, name=f"some_{vc}")
            spent, returned = Signal(name=f"spent_{vc}"), Signal(name=f"returned_{vc}")
            m.d.comb += [
                turn.requests[vc].eq(self.i[vc].valid & has_credit),
                spent.eq(turn.grant[vc] & output.i.ready),
                returned.eq(self.link.credit_valid & (self.link.credit_vc == vc)),
                self.i[vc].ready.eq(spent),
            ]
            # That one is spent is known late in a cycle.
            with m.If(returned != spent):
                m.d.sync += level.eq(level + Mux(returned, 1, -1))
            m.d.sync += [
                has_credit.eq(returned | ((level != 0) & ~(spent & (level == 1)))),
                Assert(
                    ResetSignal() | ~returned | (level != self.buffer_flits),
                    "link: a credit came back that was not spent\n",
                ),
            ]

        chosen = Mux(turn.grant[1], self.i[1].payload.as_value(), self.i[0].payload.as_value())
        item = beat(self.data_width)(chosen)
        m.d.comb += [
            output.i.valid.eq(turn.requests.any()),
            output.i.payload.data.eq(item.data),
            output.i.payload.last.eq(item.last),
            output.i.payload.vc.eq(turn.grant[1]),
            self.link.valid.eq(output.o.valid),
            self.link.flit.eq(output.o.payload),
            output.o.ready.eq(self.link.ready),
        ]


        return m
