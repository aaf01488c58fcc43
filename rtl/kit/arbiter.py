"""Merges streams: items here, packets in :mod:`rtl.kit.packet_arbiter`."""

from amaranth import Array, Module, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.packet_arbiter import PacketArbiter
from rtl.kit.round_robin import RoundRobin

__all__ = ["PacketArbiter", "StreamArbiter"]


class StreamArbiter(wiring.Component):
    """Merges `n` streams into one, round robin, item by item.

    Timing: ``o.valid`` and ``o.payload`` are registers; ``i[k].ready`` depends on ``o.ready`` and on the
    valids of all inputs combinationally. One cycle of latency, one item per cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    n : int
        Number of inputs. At least 1.

    Members
    -------
    i : array of `n` ``In(stream.Signature(shape))``
        Items in. An input that stays valid is served after at most ``n - 1`` items of others.
    o : ``Out(stream.Signature(shape))``
        All items; those of one input in their order.
    """

    def __init__(self, *, shape: ShapeLike, n: int):
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n must be a positive integer, not {n!r}")
        self.shape = shape
        self.n = n
        super().__init__({
            "i": In(stream.Signature(shape)).array(n),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turn = turn = RoundRobin(n=self.n)

        free = Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            turn.advance.eq(free),
        ]
        for k in range(self.n):
            m.d.comb += [
                turn.requests[k].eq(self.i[k].valid),
                self.i[k].ready.eq(turn.grant[k] & free),
            ]

        valid = Signal()
        payload = Signal(self.shape)
        with m.If(free):
            m.d.sync += [
                valid.eq(turn.requests.any()),
                payload.eq(Array(self.i[k].payload for k in range(self.n))[turn.index]),
            ]
        m.d.comb += [
            self.o.valid.eq(valid),
            self.o.payload.eq(payload),
        ]

        return m
