"""Receiving end of a link: a buffer for each of the two virtual channels."""

from amaranth import Module, ResetSignal, Signal
from amaranth.hdl import Assert
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import LinkSignature, beat
from rtl.kit.queue import stream_queue
from rtl.kit.round_robin import RoundRobin

N_VCS = 2


class LinkRx(wiring.Component):
    """Buffers the flits of a link and returns a credit for each one that leaves.

    A sender that keeps to its credits never finds the buffer full; an assertion fails otherwise. ``link.ready``
    is always high.

    Timing: that of :func:`~rtl.kit.queue.stream_queue` from ``link`` to ``o``. A credit is on the link in the cycle
    after its flit left; if both channels free a flit at once, one credit waits its turn.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    buffer_flits : int
        Flits held for each channel. At least 1.
    marked : bool
        If true, flits mark a packet as `bad`.

    Members
    -------
    link : ``In(LinkSignature(data_width))``
        The link.
    o : array of 2 ``Out(stream.Signature(beat(data_width)))``
        Beats of virtual channel 0 and 1.
    """

    def __init__(self, *, data_width: int, buffer_flits: int, marked: bool = False):
        if not isinstance(buffer_flits, int) or buffer_flits < 1:
            raise ValueError(f"buffer_flits must be a positive integer, not {buffer_flits!r}")
        self.data_width = data_width
        self.buffer_flits = buffer_flits
        self.beat = beat(data_width, marked=marked)
        super().__init__({
            "link": In(LinkSignature(data_width, marked=marked)),
            "o": Out(stream.Signature(self.beat)).array(N_VCS),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turn = turn = RoundRobin(n=N_VCS)
        m.d.comb += [
            self.link.ready.eq(1),
            turn.advance.eq(1),
        ]

        fifos = [stream_queue(shape=self.beat, depth=self.buffer_flits) for _ in range(N_VCS)]
        for vc, fifo in enumerate(fifos):
            m.submodules[f"fifo_{vc}"] = fifo
            m.d.comb += [
                fifo.i.valid.eq(self.link.valid & (self.link.flit.vc == vc)),
                *(fifo.i.payload[name].eq(self.link.flit[name]) for name in self.beat.members),
                self.o[vc].valid.eq(fifo.o.valid),
                self.o[vc].payload.eq(fifo.o.payload),
                fifo.o.ready.eq(self.o[vc].ready),
            ]
            m.d.sync += Assert(ResetSignal() | ~fifo.i.valid | fifo.i.ready, "link: a flit came without a credit\n")

            # Credits that are owed, less the one that goes now. Flits come one a cycle at most, so the debt stays
            # below the depth of the buffer.
            owed = Signal(range(self.buffer_flits + 1), name=f"owed_{vc}")
            left = Signal(name=f"left_{vc}")
            m.d.comb += [
                left.eq(fifo.o.valid & fifo.o.ready),
                turn.requests[vc].eq(left | (owed != 0)),
            ]
            m.d.sync += owed.eq(owed + left - turn.grant[vc])

        credit_valid, credit_vc = Signal(), Signal()
        m.d.sync += [
            credit_valid.eq(turn.requests.any()),
            credit_vc.eq(turn.grant[1]),
        ]
        m.d.comb += [
            self.link.credit_valid.eq(credit_valid),
            self.link.credit_vc.eq(credit_vc),
        ]


        return m
