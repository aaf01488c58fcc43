"""Register stage for streams, in both directions."""

from amaranth import Module, Mux, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class SkidBuffer(wiring.Component):
    """Cuts every combinational path of a stream at full throughput.

    Timing: ``o.valid``, ``o.payload`` and ``i.ready`` are registers. One cycle of latency, one item per cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    guarded : bool
        If true, the payload's registers take over items only, never what stands at ``i`` without one: for inputs from
        outside, which may change at any time.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items in.
    o : ``Out(stream.Signature(shape))``
        The same items, a cycle later.
    level : ``Out(range(3))``
        Items held.
    """

    def __init__(self, *, shape: ShapeLike, guarded: bool = False):
        self.shape, self.guarded = shape, guarded
        super().__init__({
            "i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "level": Out(range(3)),
        })

    def elaborate(self, platform):
        m = Module()

        # `skid` catches the item that was under way when the receiver stopped: i.ready tells the
        # sender of it only a cycle later.
        valid = Signal()
        shown = Signal(self.shape, reset_less=True)
        ready = Signal(init=1)
        skid = Signal(self.shape, reset_less=True)
        m.d.comb += [
            self.o.valid.eq(valid),
            self.o.payload.eq(shown),
            self.i.ready.eq(ready),
            self.level.eq(valid + ~ready),
        ]

        # The skid register takes whatever passes while it is not in use, so its enable is a register alone.
        loads = self.i.valid if self.guarded else 1
        with m.If(ready & loads):
            m.d.sync += skid.eq(self.i.payload)
        with m.If(~valid | self.o.ready):
            with m.If(~ready | loads):
                m.d.sync += shown.eq(Mux(ready, self.i.payload, skid))
        # Sums of products, no enables: o.ready comes late in the cycle.
        m.d.sync += [
            valid.eq(self.i.valid | ~ready | (valid & ~self.o.ready)),
            ready.eq(~valid | self.o.ready | (ready & ~self.i.valid)),
        ]
        return m


class TurnBuffer(wiring.Component):
    """Two registers that are filled and emptied in turn: for wide items whose `ready` comes late in the cycle.

    ``o.ready`` and ``i.valid`` reach a few registers only, whatever the width; what is offered comes through a choice
    of two instead.

    Timing: as :class:`SkidBuffer`, but for that choice behind the registers of ``o.payload``.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items in.
    o : ``Out(stream.Signature(shape))``
        The same items, a cycle later or more.
    """

    def __init__(self, *, shape: ShapeLike):
        self.shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        entries = [Signal(self.shape, name=f"entry_{k}", reset_less=True) for k in range(2)]
        put_at, get_at, occupied, full = (Signal(name=name) for name in ("put_at", "get_at", "occupied", "full"))
        put, get = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~full), put.eq(self.i.valid & ~full), get.eq(occupied & self.o.ready),
            self.o.valid.eq(occupied), self.o.payload.eq(Mux(get_at, entries[1], entries[0])),
        ]
        # A free register takes whatever is offered; it counts if an item passes.
        for k, entry in enumerate(entries):
            with m.If(~full & (put_at == k)):
                m.d.sync += entry.eq(self.i.payload)
        m.d.sync += [
            put_at.eq(put_at ^ put), get_at.eq(get_at ^ get),
            occupied.eq(put | full | (occupied & ~get)), full.eq(~get & (full | (put & occupied))),
        ]
        return m
