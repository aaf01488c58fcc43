"""Registers between streams that pass an item in two cycles."""

from amaranth import Module, Mux, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class StreamRegister(wiring.Component):
    """One item between two streams.

    Timing: ``o.valid`` and ``o.payload`` are registers; ``i.ready`` is the inverse of one. One cycle of latency, one
    item in two cycles.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    guarded : bool
        If true, the payload's register takes over items only, never what stands at ``i`` without one: for inputs from
        outside, which may change at any time. Else its enable does not wait for whether there is an item.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items to be stored.
    o : ``Out(stream.Signature(shape))``
        The same items in the same order.
    level : ``Out(1)``
        An item is held.
    """

    def __init__(self, *, shape: ShapeLike, guarded: bool = True):
        self.shape, self.guarded = shape, guarded
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "level": Out(1)})

    def elaborate(self, platform):
        m = Module()
        head, full, taken = Signal(self.shape, reset_less=True), Signal(), Signal()
        m.d.comb += [
            taken.eq(self.i.valid & ~full), self.i.ready.eq(~full),
            self.o.payload.eq(head), self.o.valid.eq(full), self.level.eq(full),
        ]
        with m.If(~full | self.o.ready):
            m.d.sync += full.eq(taken)
        with m.If(taken if self.guarded else ~full):
            m.d.sync += head.eq(self.i.payload)
        return m


class RegisterPair(wiring.Component):
    """Two registers in a row, each of which is loaded while it is empty: no table stands between them.

    Timing: ``o.valid`` and ``o.payload`` are registers; ``i.ready`` is the inverse of one. Two cycles of latency, one
    item in two cycles.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items to be stored.
    o : ``Out(stream.Signature(shape))``
        The same items in the same order.
    level : ``Out(range(3))``
        Items held.
    """

    def __init__(self, *, shape: ShapeLike):
        self.shape = shape
        super().__init__({
            "i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "level": Out(range(3)),
        })

    def elaborate(self, platform):
        m = Module()
        first, last = Signal(self.shape, reset_less=True), Signal(self.shape, reset_less=True)
        waits, offered, taken = Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~waits), taken.eq(self.i.valid & ~waits),
            self.o.valid.eq(offered), self.o.payload.eq(last), self.level.eq(waits + offered),
        ]
        m.d.sync += [
            waits.eq(taken | (waits & offered)), offered.eq(Mux(offered, ~self.o.ready, waits)),
        ]
        with m.If(taken):
            m.d.sync += first.eq(self.i.payload)
        with m.If(~offered):
            m.d.sync += last.eq(first)
        return m
