"""Turns of keys: what goes in comes out once, of one key in order, and keys alternate."""

from amaranth import Module, Mux, Signal

from testbench.formal.contract import Contract


class AlternatingContract(Contract):
    """:class:`~rtl.kit.alternating_queue.AlternatingQueue` of two keys. One item, any one, is followed.

    Parameters
    ----------
    depth : int
        Items that can wait.
    """

    def __init__(self, *, depth: int):
        super().__init__()
        self.depth = depth

    def build(self, m: Module) -> None:
        from rtl.kit.alternating_queue import AlternatingQueue

        most = self.depth + 1
        m.submodules.unit = unit = AlternatingQueue(shape=3, depth=self.depth, key=lambda item: item[0])
        valid, payload, ready = self.free(1, "valid"), self.free(3, "payload"), self.free(1, "ready")
        pick = self.free(1, "pick")
        i, o = unit.i, unit.o
        m.d.comb += [i.valid.eq(valid), i.payload.eq(payload), o.ready.eq(ready)]
        came, went = i.valid & i.ready, o.valid & o.ready

        # Items inside, of each key; those before the one that is followed: of its key, of the other one.
        inside = [Signal(range(most + 2), name=f"inside_{key}") for key in range(2)]
        for key, count in enumerate(inside):
            m.d.sync += count.eq(count + (came & (payload[0] == key)) - (went & (o.payload[0] == key)))
            self.check(~(o.valid & (o.payload[0] == key)) | (count != 0))
        total = inside[0] + inside[1]
        self.check(total <= most)
        self.check(unit.empty == (total == 0))
        self.check((total == 0) | o.valid)
        self.check(i.ready | (total >= self.depth))

        following, kept, passed = Signal(), Signal(3), Signal(2)
        alike, others = Signal(range(most + 1)), Signal(range(most + 1))
        goes_alike, goes_other = Signal(), Signal()
        m.d.comb += [
            goes_alike.eq(went & (o.payload[0] == kept[0])), goes_other.eq(went & (o.payload[0] != kept[0])),
        ]
        with m.If(~following & came & pick):
            m.d.sync += [
                following.eq(1), kept.eq(payload), passed.eq(0),
                alike.eq(Mux(payload[0], inside[1], inside[0]) - (went & (o.payload[0] == payload[0]))),
                others.eq(Mux(payload[0], inside[0], inside[1]) - (went & (o.payload[0] != payload[0]))),
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
        # The oldest one is passed over once at most, the one that was offered when it became the oldest apart.
        self.check(passed <= 2)

        # Two of one key in a row only if none of the other key waited when the second one was chosen.
        shown, key_before, had, others_before = Signal(), Signal(), Signal(), Signal(range(most + 2))
        m.d.sync += [shown.eq(o.valid & ~ready), others_before.eq(Mux(key_before, inside[0], inside[1]))]
        fresh = o.valid & ~shown
        with m.If(fresh):
            m.d.sync += [
                key_before.eq(o.payload[0]), had.eq(1), others_before.eq(Mux(o.payload[0], inside[0], inside[1])),
            ]
        self.check(~(fresh & had & (o.payload[0] == key_before)) | (others_before == 0))

        # A stalled item stays as it is.
        before = Signal(3)
        m.d.sync += before.eq(o.payload)
        self.check(~shown | o.valid & (o.payload == before))

        self.reach(total == most, "full")
        self.reach(following & (passed != 0), "the oldest item is passed over")
        self.reach(following & goes_alike & (alike == 0) & (kept[1:] != 0), "the item followed comes out")
