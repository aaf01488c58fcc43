"""Free list of the packet buffer."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from rtl.kit.queue import stream_queue


class SlotPool(wiring.Component):
    """Hands out slot numbers and takes them back.

    Numbers that were never used go first, counted up; after that those that came back, oldest first. So
    reset needs no filling of a list.

    Timing: a slot that returns to an empty pool is offered again 2 cycles later.

    Parameters
    ----------
    n_slots : int
        Slots 0 to ``n_slots - 1``. At least 1.

    Members
    -------
    i : ``In(stream.Signature(slot_bits))``
        Slots that return; always ready. Each must have been handed out and not returned since.
    o : ``Out(stream.Signature(slot_bits))``
        The next slot.
    level : ``Out(range(n_slots + 1))``
        Slots handed out.
    peak : ``Out(range(n_slots + 1))``
        The most since reset.
    """

    def __init__(self, *, n_slots: int):
        if not isinstance(n_slots, int) or n_slots < 1:
            raise ValueError(f"n_slots must be a positive integer, not {n_slots!r}")
        self.n_slots = n_slots
        self.slot_bits = max(1, bits_for(n_slots - 1))
        slot = stream.Signature(self.slot_bits)
        super().__init__({
            "i": In(slot), "o": Out(slot), "level": Out(range(n_slots + 1)), "peak": Out(range(n_slots + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.returned = returned = stream_queue(shape=self.slot_bits, depth=self.n_slots)
        connect(m, flipped(self.i), returned.i)

        n_fresh = Signal(range(self.n_slots + 1))
        fresh = Signal()
        none_fresh = Signal()
        m.d.comb += [
            fresh.eq(~none_fresh),
            self.o.valid.eq(fresh | returned.o.valid),
            self.o.payload.eq(Mux(fresh, n_fresh, returned.o.payload)),
            returned.o.ready.eq(self.o.ready & ~fresh),
        ]
        with m.If(self.o.ready & fresh):
            m.d.sync += [n_fresh.eq(n_fresh + 1), none_fresh.eq(n_fresh == self.n_slots - 1)]

        taken = self.o.valid & self.o.ready
        with m.If(taken & ~self.i.valid):
            m.d.sync += self.level.eq(self.level + 1)
        with m.Elif(self.i.valid & ~taken):
            m.d.sync += self.level.eq(self.level - 1)
        with m.If(self.level > self.peak):
            m.d.sync += self.peak.eq(self.level)


        return m
