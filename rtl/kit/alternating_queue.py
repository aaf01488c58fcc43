"""A queue in which items of different keys take turns."""

from collections.abc import Callable
from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.hdl import ShapeLike, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.index import index_bits


class AlternatingQueue(wiring.Component):
    """Stores items. The next one out is the oldest of those whose key differs from that of the one before.

    If all items that wait have the key of the last one, the first of them goes. So items of one key keep their order,
    and the item that has waited longest is passed over once at most.

    With a `kind`, items of the kind that is `wanted` go first, among them as above. Then items keep their order that
    have the same key and kind, and the item that has waited longest is passed over less than :attr:`OVER` times.

    An item on offer stays on offer. Who would rather have one that comes later can see to it that none is chosen yet
    (`holds`).

    Timing: no combinational path between ``i`` and ``o``. An item comes out one cycle after it went into an empty
    queue. One item per cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Items that can wait behind the one that is offered. At least 2.
    key : callable
        Key of a payload.
    kind : callable, optional
        Kind of a payload, a bit.
    holds : bool
        If true, there is `hold`.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items to be stored; ready while there is room.
    o : ``Out(stream.Signature(shape))``
        The same items.
    empty : ``Out(1)``
        No item is held.
    wanted : ``In(1)``
        Kind of the items that go first. Only with `kind`.
    hold : ``In(1)``
        No item is chosen in this cycle: what is offered in the next one is so in this one already. Only if `holds`.
    """

    #: How often an item may be passed over by others of the kind that is wanted, a power of two.
    OVER = 32

    def __init__(
        self, *, shape: ShapeLike, depth: int, key: Callable[[Any], Value], kind: Callable[[Any], Value] | None = None,
        holds: bool = False,
    ):
        if not isinstance(depth, int) or depth < 2:
            raise ValueError(f"depth must be an integer of at least 2, not {depth!r}")
        self.shape, self.depth, self.key, self.kind, self.holds = shape, depth, key, kind, holds
        super().__init__({
            "i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "empty": Out(1),
            **({"wanted": In(1)} if kind else {}), **({"hold": In(1)} if holds else {}),
        })

    def elaborate(self, platform):
        m = Module()
        n, slot_bits, key = self.depth, index_bits(self.depth), self.key(self.i.payload)
        m.submodules.store = store = memory.Memory(shape=self.shape, depth=n, init=[])
        write, read = store.write_port(), store.read_port(domain="comb")
        # Those that wait, the oldest first: where each lies, and its key.
        kinds = {"kind": 1} if self.kind else {}
        waiting = Array(
            Signal(data.StructLayout({"slot": slot_bits, "key": len(key), **kinds}), name=f"waiting_{k}")
            for k in range(n)
        )
        valid, used = Signal(n), Signal(n)
        head, full, last = Signal(self.shape, reset_less=True), Signal(), Signal(len(key))

        # The choice is made among registers; an item that nobody waits before goes past them.
        other, chosen, slot, free = Signal(n), Signal(slot_bits), Signal(slot_bits), Signal(slot_bits)
        among = self._among(m, valid, waiting)
        m.d.comb += other.eq(Cat(among[k] & (waiting[k].key != last) for k in range(n)))
        for k in reversed(range(n)):
            with m.If(~used[k]):
                m.d.comb += free.eq(k)
            with m.If(Mux(other.any(), other[k], among[k])):
                m.d.comb += chosen.eq(k)
        take, accepted, stored, passed_by, head_taken = Signal(), Signal(), Signal(), Signal(), Signal()
        may_choose = ~self.hold if self.holds else 1
        m.d.comb += [
            take.eq((~full | self.o.ready) & may_choose), accepted.eq(self.i.valid & self.i.ready),
            head_taken.eq(take & valid[0]), passed_by.eq(accepted & take & ~valid[0]), stored.eq(accepted & ~passed_by),
            self.i.ready.eq(~used.all()), write.en.eq(stored), write.addr.eq(free), write.data.eq(self.i.payload),
            slot.eq(waiting[chosen].slot), read.addr.eq(slot),
            self.o.valid.eq(full), self.o.payload.eq(head), self.empty.eq(~full & ~valid[0]),
        ]
        with m.If(take):
            m.d.sync += full.eq(head_taken | passed_by)
        with m.Elif(self.o.ready):
            m.d.sync += full.eq(0)
        with m.If(head_taken):
            m.d.sync += [head.eq(read.data), last.eq(waiting[chosen].key)]
        with m.Elif(passed_by):
            m.d.sync += [head.eq(self.i.payload), last.eq(key)]
        m.d.sync += used.eq((used | Mux(stored, 1 << free, 0)) & ~Mux(head_taken, 1 << slot, 0))

        # The gap is closed, and what comes is appended.
        stay, end = Signal(n), Signal(n)
        m.d.comb += [stay.eq(Mux(head_taken, valid >> 1, valid)), end.eq((stay << 1 | 1) & ~stay)]
        m.d.sync += valid.eq(stay | Mux(stored, end, 0))
        for k in range(n):
            if k + 1 < n:
                with m.If(head_taken & (chosen <= k)):
                    m.d.sync += waiting[k].eq(waiting[k + 1])
            with m.If(stored & end[k]):
                m.d.sync += [waiting[k].slot.eq(free), waiting[k].key.eq(key)]
                if self.kind:
                    m.d.sync += waiting[k].kind.eq(self.kind(self.i.payload))
        if self.kind:
            with m.If(head_taken):
                m.d.sync += self._over.eq(Mux(chosen == 0, 0, self._over + 1))
        return m

    def _among(self, m: Module, valid: Signal, waiting: Array) -> Signal:
        """Items among which the next one is chosen."""
        if not self.kind:
            return valid
        self._over = over = Signal(range(self.OVER))
        n = self.depth
        right, among = Signal(n), Signal(n)
        m.d.comb += [
            right.eq(Cat(valid[k] & (waiting[k].kind == self.wanted) for k in range(n))),
            among.eq(Mux(over == self.OVER - 1, valid[0], Mux(right.any(), right, valid))),
        ]
        return among
