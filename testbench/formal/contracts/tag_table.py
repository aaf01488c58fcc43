"""Tag tables of the packet buffer: what a key's look-ups, insertions and removals may answer."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value

from testbench.formal.contract import Contract

KEY_BITS = 3


class TagTableContract(Contract):
    """Follows one key, any one of eight, while all of them are inserted, looked up and removed in any mixture.

    Insertions and removals take effect in the order in which they are taken. From that follows for the key:

    - its insertion is a duplicate if and only if it is there, and nothing else ends an insertion;
    - its removal frees its slot if and only if it is there with that slot, once;
    - a look-up finds it from the end of its insertion until its removal is taken, with the slot that was inserted;
    - a look-up taken after its removal, or with no insertion taken before the answer, does not find it;
    - one key never makes another one answer.

    The hash is replaced by single bits of the key: two keys share every row, four share any; a table must be right with
    any hash.
    """

    def __init__(self, *, slot_bits: int = 1, **parameters: Any):
        super().__init__()
        self.slot_bits = slot_bits
        self.parameters = parameters

    def make(self) -> Any:
        """The table, with the small hash."""
        raise TypeError(f"{type(self).__name__} has no table")

    def drive(self, m: Module, table: Any) -> None:
        """Inputs of all streams; they keep no rule but that of `valid` and `ready`."""
        for name in ("insert", "remove", "lookup"):
            port = getattr(table, name)
            valid, number = self.free(1, name), self.free(KEY_BITS, f"{name}_key")
            m.d.comb += port.valid.eq(valid)
            if name == "lookup":
                m.d.comb += port.payload.as_value().eq(number)
            else:
                slot = self.free(self.slot_bits, f"{name}_slot")
                m.d.comb += [port.payload.key.as_value().eq(number), port.payload.slot.eq(slot)]
        m.d.comb += table.o_lookup.ready.eq(self.free(1, "take"))

    def build(self, m: Module) -> None:
        m.submodules.unit = table = self.make()
        self.drive(m, table)
        key = self.constant(KEY_BITS, "key")
        self.came = came = Signal()
        self.left = left = Signal()
        self.put = put = Signal()
        self.taken = taken = Signal()
        self.matches = matches = Signal()
        self.present = present = Signal()
        self.slot = slot = Signal(self.slot_bits)
        tag, gone = table.insert.payload, table.remove.payload
        m.d.comb += [
            came.eq(table.insert.valid & table.insert.ready), left.eq(table.remove.valid & table.remove.ready),
            put.eq(came & (tag.key.as_value() == key)), taken.eq(left & (gone.key.as_value() == key)),
            matches.eq(taken & present & (gone.slot == slot)),
        ]
        self.check(~(came & left))
        with m.If(put & ~present):
            m.d.sync += [present.eq(1), slot.eq(tag.slot)]
        with m.If(matches):
            m.d.sync += present.eq(0)

        # Tags in the table are conserved: those put in and not taken out.
        live = Signal(5)
        m.d.sync += live.eq(live + (table.done & ~table.duplicate) - table.removed)
        self.live = live
        self.check(~table.removed | (live != 0))
        self.check(table.figures.stash_level <= live)

        self.solid = Signal()
        self.expect(m, table)
        self._look(m, table, key)

    def expect(self, m: Module, table: Any) -> None:
        """Claims about `done` and `removed`; drives `solid`: the key's insertion has ended."""
        raise TypeError(f"{type(self).__name__} expects nothing")

    def _look(self, m: Module, table: Any, key: Signal) -> None:
        asked = table.lookup.valid & table.lookup.ready
        answered = table.o_lookup.valid & table.o_lookup.ready
        answer = table.o_lookup.payload
        outstanding = Signal(4)
        m.d.sync += outstanding.eq(outstanding + asked - answered)
        self.check(~table.o_lookup.valid | (outstanding != 0))

        watching, ahead, must_hit, must_miss = Signal(), Signal(4), Signal(), Signal()
        first_slot, slots = Signal(self.slot_bits), Signal(1 << self.slot_bits)
        put_slot = Mux(self.put, 1 << table.insert.payload.slot, 0)
        pick = self.free(1, "pick")
        mine = watching & (ahead == 0) & answered
        with m.If(~watching & asked & pick & (table.lookup.payload.as_value() == key)):
            m.d.sync += [
                watching.eq(1), ahead.eq(outstanding - answered), first_slot.eq(self.slot),
                slots.eq(Mux(self.present, 1 << self.slot, 0) | put_slot),
                must_hit.eq(self.solid & ~self.matches), must_miss.eq(~self.present & ~self.put),
            ]
        with m.Elif(watching):
            m.d.sync += slots.eq(slots | put_slot)
            with m.If(answered):
                m.d.sync += ahead.eq(ahead - 1)
            with m.If(self.matches):
                m.d.sync += must_hit.eq(0)
            with m.If(self.put):
                m.d.sync += must_miss.eq(0)
            with m.If(mine):
                m.d.sync += watching.eq(0)
        self.check(~(mine & must_hit) | answer.hit)
        self.check(~(mine & must_miss) | ~answer.hit)
        # Removed and inserted again while the look-up was on its way: any of the slots that it had is right.
        self.check(~(mine & answer.hit) | slots.bit_select(answer.slot, 1))
        self.check(~(mine & must_hit) | (answer.slot == first_slot))

        stalled, shown = Signal(), Signal(len(answer.as_value()))
        m.d.sync += [stalled.eq(table.o_lookup.valid & ~table.o_lookup.ready), shown.eq(answer.as_value())]
        self.check(~stalled | table.o_lookup.valid & (answer.as_value() == shown))
        self.reach(mine & must_hit & answer.slot.any(), "a look-up that must hit")
        self.reach(mine & must_miss, "a look-up that must miss")
        self.reach(mine & ~must_hit & ~must_miss, "a look-up between")


class CuckooContract(TagTableContract):
    """:class:`~rtl.buffer.cuckoo_table.CuckooTable`; every look-up, insertion and removal takes 4 cycles."""

    def make(self) -> Any:
        from rtl.buffer import cuckoo_lookup, cuckoo_table
        from rtl.buffer.cuckoo_table import CuckooTable

        def one_bit(key: Any, index_bits: int, *, bank: int = 0) -> Any:
            return Value.cast(key)[bank : bank + index_bits]

        cuckoo_table.hash_index = cuckoo_lookup.hash_index = one_bit
        return CuckooTable(slot_bits=self.slot_bits, **self.parameters)

    def expect(self, m: Module, table: Any) -> None:
        # An operation accepted four cycles ago ends now.
        shape = [("came", 1), ("put", 1), ("twice", 1), ("matched", 1), ("taken", 1), ("slot", self.slot_bits)]
        width = sum(bits for _, bits in shape)
        line = [Signal(width, name=f"line_{k}") for k in range(4)]
        remove_slot, insert_slot = table.remove.payload.slot, table.insert.payload.slot
        m.d.sync += [
            line[0].eq(Cat(
                self.came, self.put, self.put & self.present, self.matches, self.taken,
                Mux(self.came, insert_slot, remove_slot),
            )),
            *[line[k + 1].eq(line[k]) for k in range(3)],
        ]
        came, put, twice, matched, taken = (line[3][k] for k in range(5))
        slot = line[3][5:]
        self.check(table.done == came)
        self.check(~put | (table.duplicate == twice))
        self.check(~came | (table.done_slot == slot))
        self.check(~taken | (table.removed == matched))
        self.check(~matched | (table.removed_slot == slot))

        # Its insertion has ended when four cycles have gone by since; an older one does not count.
        age = Signal(range(4))
        with m.If(self.put & ~self.present):
            m.d.sync += age.eq(0)
        with m.Elif(age != 3):
            m.d.sync += age.eq(age + 1)
        m.d.comb += self.solid.eq(self.present & (age == 3))

        # The latency of a look-up is constant, whatever else goes on.
        places = Signal(4)
        asked = table.lookup.valid & table.lookup.ready
        with m.If(~table.o_lookup.valid | table.o_lookup.ready):
            m.d.sync += places.eq(Cat(asked, places))
        self.check(table.o_lookup.valid == places[3])
        self.check(self.live <= table.n_entries + table.stash)
        self.reach(table.figures.stash_level != 0, "the stash is used")
        self.reach(table.figures.settled & (table.figures.steps > 1), "a tag of the stash finds a place")
        self.reach(matched, "a removal")
        self.reach(twice, "a duplicate")


class LinearContract(TagTableContract):
    """:class:`~rtl.buffer.linear_table.LinearTable`; the environment leaves one entry empty, as it must."""

    def make(self) -> Any:
        from rtl.buffer import linear_table
        from rtl.buffer.linear_table import LinearTable

        def low_bits(key: Any, index_bits: int, *, bank: int = 0) -> Any:
            return key.as_value()[:index_bits]

        linear_table.hash_index = low_bits
        return LinearTable(slot_bits=self.slot_bits, **self.parameters)

    def expect(self, m: Module, table: Any) -> None:
        # One operation at a time: its outcome is known before the next one is taken.
        busy, inserting, mine, outcome = (Signal(name=name) for name in ("busy", "inserting", "mine", "outcome"))
        started = self.came | self.left
        with m.If(started):
            m.d.sync += [
                busy.eq(1), inserting.eq(self.came), mine.eq(self.put | self.taken),
                outcome.eq(Mux(self.came, self.present, self.matches)),
            ]
        with m.Elif(table.done | table.removed):
            m.d.sync += busy.eq(0)
        self.check(~table.done | busy & inserting)
        self.check(~table.removed | busy & ~inserting)
        self.check(~(started & busy & inserting) | table.done)
        self.check(~(started & busy & ~inserting & mine & outcome) | table.removed)
        self.check(~(table.done & mine) | (table.duplicate == outcome))
        self.check(~(table.removed & mine) | outcome)

        done = table.done & mine & ~outcome
        known = Signal()
        m.d.comb += self.solid.eq(self.present & (known | done))
        with m.If(self.matches):
            m.d.sync += known.eq(0)
        with m.Elif(done):
            m.d.sync += known.eq(1)

        full = self.live + (busy & inserting) >= table.n_entries - 1
        self.assume(~(table.insert.valid & full))
        self.reach(table.done & (table.figures.steps > 2), "an insertion that probes")
        self.reach(table.removed & mine, "a removal")
        self.reach(table.done & table.duplicate, "a duplicate")
