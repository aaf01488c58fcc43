"""Merges streams: items here, packets in :mod:`rtl.kit.packet_arbiter`."""

from functools import reduce
from operator import or_

from amaranth import Array, Module, Mux, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.packet_arbiter import PacketArbiter
from rtl.kit.round_robin import RoundRobin

__all__ = ["PacketArbiter", "StreamArbiter"]


class StreamArbiter(wiring.Component):
    """Merges `n` streams into one, round robin, item by item.

    Timing: ``o.valid`` and ``o.payload`` are registers; ``i[k].ready`` depends on ``o.ready`` and on the
    valids of all inputs combinationally. One cycle of latency, one item per cycle. Without `full_rate` no
    ``i[k].ready`` depends on ``o.ready``, and it is one item in two cycles at most. With `chooses_ahead` the choice is
    a register, and so is every ``i[k].ready``: two cycles of latency, one item in three cycles at most.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    n : int
        Number of inputs. At least 1.
    full_rate : bool
        If true, items may follow each other without a gap.
    chooses_ahead : bool
        If true, the choice takes a cycle of its own. Excludes `full_rate`.

    Members
    -------
    i : array of `n` ``In(stream.Signature(shape))``
        Items in. An input that stays valid is served after at most ``n - 1`` items of others.
    o : ``Out(stream.Signature(shape))``
        All items; those of one input in their order.
    """

    def __init__(self, *, shape: ShapeLike, n: int, full_rate: bool = True, chooses_ahead: bool = False):
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n must be a positive integer, not {n!r}")
        self.shape = shape
        self.n = n
        if chooses_ahead and full_rate:
            raise ValueError("full_rate must be False if chooses_ahead")
        self.full_rate, self.chooses_ahead = full_rate, chooses_ahead
        super().__init__({
            "i": In(stream.Signature(shape)).array(n),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turn = turn = RoundRobin(n=self.n)

        free = Signal()
        m.d.comb += [turn.requests[k].eq(self.i[k].valid) for k in range(self.n)]
        valid = Signal()
        payload = Signal(self.shape, reset_less=True)
        if self.chooses_ahead:
            # A chosen input stays valid until it is taken, in the next cycle.
            choice, choosing = Signal(self.n), Signal()
            m.d.comb += [choosing.eq(~valid & ~choice.any()), turn.advance.eq(choosing)]
            m.d.comb += [self.i[k].ready.eq(choice[k]) for k in range(self.n)]
            m.d.sync += choice.eq(Mux(choosing, turn.grant, 0))
            with m.If(choice.any()):
                m.d.sync += valid.eq(1)
            with m.Elif(self.o.ready):
                m.d.sync += valid.eq(0)
            # Only inputs that are chosen count: an OR of them, instead of a choice by number.
            with m.If(choice.any()):
                m.d.sync += payload.eq(reduce(or_, (
                    Value.cast(self.i[k].payload) & choice[k].replicate(len(Value.cast(payload))) for k in range(self.n)
                )))
            m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(payload)]
            return m

        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready if self.full_rate else ~self.o.valid),
            turn.advance.eq(free),
        ]
        m.d.comb += [self.i[k].ready.eq(turn.grant[k] & free) for k in range(self.n)]

        with m.If(free | self.o.ready):
            m.d.sync += valid.eq(turn.requests.any() & free)
        with m.If(free):
            m.d.sync += payload.eq(Array(self.i[k].payload for k in range(self.n))[turn.index])
        m.d.comb += [
            self.o.valid.eq(valid),
            self.o.payload.eq(payload),
        ]


        return m
