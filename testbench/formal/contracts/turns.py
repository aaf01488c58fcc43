"""Turns of keys: what goes in comes out once, of one key in order, and keys alternate."""

from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal

from testbench.formal.contract import Contract


class AlternatingContract(Contract):
    """:class:`~rtl.kit.alternating_queue.AlternatingQueue` of two keys. One item, any one, is followed.

    Parameters
    ----------
    depth : int
        Items that can wait.
    prefers : bool
        Items have one of two kinds, and either is wanted. Those that have the same key and kind keep their order.
    holds : bool
        The choice is held back now and then.
    """

    def __init__(self, *, depth: int, prefers: bool = False, holds: bool = False):
        super().__init__()
        self.depth, self.prefers, self.holds = depth, prefers, holds

    def build(self, m: Module) -> None:
        from rtl.kit.alternating_queue import AlternatingQueue

        most = self.depth + 1
        m.submodules.unit = unit = AlternatingQueue(
            shape=3, depth=self.depth, key=lambda item: item[0], kind=(lambda item: item[1]) if self.prefers else None,
            holds=self.holds,
        )
        valid, payload, ready = self.free(1, "valid"), self.free(3, "payload"), self.free(1, "ready")
        pick = self.free(1, "pick")
        i, o = unit.i, unit.o
        m.d.comb += [i.valid.eq(valid), i.payload.eq(payload), o.ready.eq(ready)]
        came, went = i.valid & i.ready, o.valid & o.ready
        if self.prefers:
            m.d.comb += unit.wanted.eq(self.free(1, "wanted"))
        held = Signal()
        if self.holds:
            m.d.comb += unit.hold.eq(self.free(1, "hold"))
            m.d.sync += held.eq(unit.hold)

        # Items inside, of each sort; those before the one that is followed: of its sort, of other ones. A sort is a
        # key, or a key and a kind.
        bits = 2 if self.prefers else 1
        inside = Array(Signal(range(most + 2), name=f"inside_{key}") for key in range(1 << bits))
        for key, count in enumerate(inside):
            m.d.sync += count.eq(count + (came & (payload[:bits] == key)) - (went & (o.payload[:bits] == key)))
            self.check(~(o.valid & (o.payload[:bits] == key)) | (count != 0))
        total = sum(inside)
        self.check(total <= most)
        self.check(unit.empty == (total == 0))
        self.check((total == 0) | o.valid | held)
        self.check(i.ready | (total >= self.depth))

        following, kept, passed = Signal(), Signal(3), Signal(2)
        alike, others = Signal(range(most + 1)), Signal(range(most + 1))
        goes_alike, goes_other = Signal(), Signal()
        m.d.comb += [
            goes_alike.eq(went & (o.payload[:bits] == kept[:bits])),
            goes_other.eq(went & (o.payload[:bits] != kept[:bits])),
        ]
        with m.If(~following & came & pick):
            m.d.sync += [
                following.eq(1), kept.eq(payload), passed.eq(0),
                alike.eq(inside[payload[:bits]] - (went & (o.payload[:bits] == payload[:bits]))),
                others.eq(total - inside[payload[:bits]] - (went & (o.payload[:bits] != payload[:bits]))),
            ]
        with m.If(following):
            with m.If(goes_alike & (alike == 0)):
                m.d.sync += following.eq(0)
            with m.Elif(goes_alike):
                m.d.sync += alike.eq(alike - 1)
            with m.If(goes_other & (others != 0)):
                m.d.sync += others.eq(others - 1)
            with m.If(goes_other & (others == 0) & (alike == 0)):
                m.d.sync += passed.eq(passed + 1)
        self.check(~(following & goes_alike & (alike == 0)) | (o.payload == kept))
        shown = Signal()
        m.d.sync += shown.eq(o.valid & ~ready)
        if self.prefers:
            self._prefers(m, unit, inside, chosen=o.valid & ~shown, came=came)
        else:
            self._alternates(m, unit, inside, chosen=o.valid & ~shown, passed=passed)

        # An item that is held back is not chosen.
        self.check(~(held & o.valid) | shown)

        # A stalled item stays as it is.
        before = Signal(3)
        m.d.sync += before.eq(o.payload)
        self.check(~shown | o.valid & (o.payload == before))

        self.reach(total == most, "full")
        self.reach(following & (passed != 0), "the oldest item is passed over")
        self.reach(following & goes_alike & (alike == 0) & (kept[1:] != 0), "the item followed comes out")

    def _alternates(self, m: Module, unit: Any, inside: Array, *, chosen: Any, passed: Signal) -> None:
        # The oldest one is passed over once at most, the one that was offered when it became the oldest apart.
        self.check(passed <= 2)

        # Two of one key in a row only if none of the other key waited when the second one was chosen.
        o = unit.o
        key_before, had, others_before = Signal(), Signal(), Signal(range(self.depth + 3))
        m.d.sync += others_before.eq(Mux(key_before, inside[0], inside[1]))
        with m.If(chosen):
            m.d.sync += [
                key_before.eq(o.payload[0]), had.eq(1), others_before.eq(Mux(o.payload[0], inside[0], inside[1])),
            ]
        self.check(~(chosen & had & (o.payload[0] == key_before)) | (others_before == 0))

    def _prefers(self, m: Module, unit: Any, inside: Array, *, chosen: Any, came: Any) -> None:
        # An item that is newly offered was chosen in the cycle before. If it is not of the wanted kind, none of that
        # kind waited then, because no item here is passed over that often. The item on offer did not wait.
        o = unit.o
        wanted, waited = Signal(), Signal(range(2 * self.depth + 4))
        offered = Cat(o.valid & (o.payload[1] == kind) for kind in range(2))
        m.d.sync += [
            wanted.eq(unit.wanted),
            waited.eq(Mux(unit.wanted, inside[2] + inside[3] - offered[1], inside[0] + inside[1] - offered[0])),
        ]
        self.check(~chosen | (o.payload[1] == wanted) | (waited == 0))
        self.reach(chosen & (o.payload[1] == wanted) & came, "one of the kind that is wanted")
