"""Merges streams: items here, packets in :mod:`rtl.kit.packet_arbiter`."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.packet_arbiter import PacketArbiter
from rtl.kit.round_robin import RoundRobin

__all__ = ["PacketArbiter", "StreamArbiter"]


class StreamArbiter(wiring.Component):
    """Merges `n` streams into one, round robin, item by item.

    Timing: ``o.valid`` and ``o.payload`` are registers; ``i[k].ready`` depends on ``o.ready`` and on the
    valids of all inputs combinationally. One cycle of latency, one item per cycle. With `pipelined` the choice is a
    register too, and ``i[k].ready`` depends on ``o.ready`` only: two cycles of latency, one item per cycle, but of one
    input alone one in two cycles. Without `full_rate` no ``i[k].ready`` depends on ``o.ready``, and it is one item in
    two cycles at most.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    n : int
        Number of inputs. At least 1.
    pipelined : bool
        Whether the choice is made a cycle ahead.
    full_rate : bool
        Whether items may follow each other without a gap.

    Members
    -------
    i : array of `n` ``In(stream.Signature(shape))``
        Items in. An input that stays valid is served after at most ``n - 1`` items of others.
    o : ``Out(stream.Signature(shape))``
        All items; those of one input in their order.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, *, shape: ShapeLike, n: int, pipelined: bool = False, full_rate: bool = True):
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n must be a positive integer, not {n!r}")
        self.shape = shape
        self.n = n
        self.pipelined = pipelined
        self.full_rate = full_rate
        super().__init__({
            "moves": Out(1),
            "i": In(stream.Signature(shape)).array(n),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turn = turn = RoundRobin(n=self.n)

        # An input that was chosen in advance offers its item until it is taken; whether it has another one after it is
        # not known yet, so the next choice is between the others. It is the last in turn: it is chosen again only if
        # there is no other, and that is seen beside the choice.
        choice, index = Signal(self.n), Signal.like(turn.index)
        free, choose = Signal(), Signal()
        valids = Cat(self.i[k].valid for k in range(self.n))
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready if self.full_rate else ~self.o.valid),
            turn.advance.eq(choose),
        ]
        m.d.comb += turn.requests.eq(valids)
        if self.pipelined:
            chosen = Signal()
            m.d.comb += choose.eq(~chosen | free)
            with m.If(choose):
                m.d.sync += [
                    choice.eq(turn.grant), index.eq(turn.index),
                    chosen.eq(Mux(chosen, (valids & ~choice).any(), valids.any())),
                ]
        else:
            chosen = valids.any()
            m.d.comb += [choose.eq(free), choice.eq(turn.grant), index.eq(turn.index)]
        for k in range(self.n):
            m.d.comb += self.i[k].ready.eq(choice[k] & chosen & free if self.pipelined else choice[k] & free)

        valid = Signal()
        payload = Signal(self.shape)
        with m.If(free | self.o.ready):
            m.d.sync += valid.eq(chosen & free)
        with m.If(free):
            m.d.sync += payload.eq(Array(self.i[k].payload for k in range(self.n))[index])
        m.d.comb += [
            self.o.valid.eq(valid),
            self.o.payload.eq(payload),
        ]

        m.d.sync += self.moves.eq(valid & self.o.ready)

        return m
