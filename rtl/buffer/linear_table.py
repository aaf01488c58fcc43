"""Tag table of the packet buffer as the NIC paper has it (section 1.3): open addressing.

Architecture: ``docs/packet_buffer.md``. The same interface as :class:`~rtl.buffer.cuckoo_table.CuckooTable`.
"""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In
from amaranth.utils import bits_for

from rtl.abi import HashKey
from rtl.buffer.hash_function import hash_index
from rtl.buffer.tag_code import TagCode
from rtl.buffer.tag_table import STEP_BITS, tag_layout, tag_table_members


@dataclass(frozen=True, kw_only=True)
class Interplay:
    """Signals between updates and look-ups.

    Parameters
    ----------
    homes : View
        Hash of the key at each port.
    swept : Signal
        The table has been cleared after reset.
    moving : Signal
        An entry may move in this cycle.
    hold : Signal
        A look-up starts over: no removal is taken.
    going, going_tag : Signal, View
        This tag is being removed.
    """

    homes: View
    swept: Signal
    moving: Signal
    hold: Signal
    going: Signal
    going_tag: View


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The operation that is taken next, an insertion or a removal.

    Parameters
    ----------
    tag, home : View, Signal
        Its tag, and the hash of that.
    pick_remove, remove_first : Signal
        It is a removal; one has the turn if both are there.
    """

    tag: View
    home: Signal
    pick_remove: Signal
    remove_first: Signal


class LinearTable(wiring.Component):
    """Maps keys to slot numbers by open addressing with linear probing.

    A key stands at its hash or at one of the entries behind it, with no empty entry in between. Deletion keeps that
    true by *backward shift*: entries behind the hole that may stand in it move there, until an empty entry ends
    the run. So there are no tombstones, and a table that has seen any number of operations is as fast as a new one.

    Look-ups have a port of the memory to themselves and run while entries are inserted and removed. One that came
    to an empty entry while others were moved starts over, and holds up the next removal meanwhile, so that it ends.

    Timing: an answer comes 2 cycles after its request, one more for each further entry that had to be read.
    An insertion is `done` 2 cycles after it was taken, one more for each further entry; a removal takes a cycle
    more, and one for each entry behind it in the run; they go one at a time. After reset `n_entries` cycles pass until
    anything is taken.

    Parameters
    ----------
    n_entries : int
        Size of the table: a power of two, at least 2. The caller never has more than ``n_entries - 1`` keys in it; at
        90% of it probes stay bearable.
    slot_bits : int
        Bits of a slot number.
    ecc : bool
        If true, tags are protected against errors of the memory.
    hashed : bool
        If true, the hash of each key comes with it: from the register in which the key waited.

    Members
    -------
    See :func:`~rtl.buffer.tag_table.tag_table_members`. There is no stash: its level is 0.
    hashes : ``In({insert, remove, lookup})``
        If `hashed`: the hash of the key at each port.
    """

    def __init__(self, *, n_entries: int, slot_bits: int, ecc: bool = False, hashed: bool = False):
        if not isinstance(n_entries, int) or n_entries < 2 or n_entries & (n_entries - 1):
            raise ValueError(f"n_entries must be a power of two from 2 on, not {n_entries!r}")
        if not isinstance(slot_bits, int) or slot_bits < 1:
            raise ValueError(f"slot_bits must be a positive integer, not {slot_bits!r}")
        self.n_entries, self.slot_bits, self.ecc = n_entries, slot_bits, ecc
        self.index_bits = bits_for(n_entries - 1)
        # Deletion needs the hash of every entry that it passes, right behind the memory: it stands beside the slot.
        self.code = TagCode(slot_bits=slot_bits + self.index_bits, ecc=ecc)
        self.hashed = hashed
        self.homes = data.StructLayout(dict.fromkeys(("insert", "remove", "lookup"), self.index_bits))
        super().__init__(tag_table_members(slot_bits) | ({"hashes": In(self.homes)} if hashed else {}))

    def elaborate(self, platform):
        m = Module()

        m.submodules.tags = tags = memory.Memory(shape=self.code.entry, depth=self.n_entries, init=[])
        write, read, lookup_read = tags.write_port(), tags.read_port(), tags.read_port()

        homes = Signal(self.homes)
        if self.hashed:
            m.d.comb += homes.eq(self.hashes)
        else:
            m.d.comb += [homes[name].eq(hash_index(key, self.index_bits)) for name, key in (
                ("insert", self.insert.payload.key), ("remove", self.remove.payload.key),
                ("lookup", self.lookup.payload),
            )]
        interplay = Interplay(
            homes=homes, swept=Signal(name="swept"), moving=Signal(name="moving"), hold=Signal(name="hold"),
            going=Signal(name="going"), going_tag=Signal(tag_layout(self.slot_bits), name="going_tag"),
        )
        self._elaborate_update(m, write, read, interplay)
        self._elaborate_lookup(m, lookup_read, interplay)
        return m

    def _take_turns(self, m: Module, interplay: Interplay) -> Taken:
        """Takes insertions and removals in turn, so that neither waits for more than one of the other."""
        remove_first, pick_remove = Signal(), Signal()
        taken = Signal(tag_layout(self.slot_bits))
        taken_home = Signal(self.index_bits)
        m.d.comb += [
            pick_remove.eq(self.remove.valid & ~interplay.hold & (remove_first | ~self.insert.valid)),
            taken.eq(Mux(pick_remove, self.remove.payload, self.insert.payload)),
            # Of both, for the choice is known late.
            taken_home.eq(Mux(pick_remove, interplay.homes.remove, interplay.homes.insert)),
        ]
        return Taken(tag=taken, home=taken_home, pick_remove=pick_remove, remove_first=remove_first)

    def _elaborate_update(
        self, m: Module, write: memory.WritePort, read: memory.ReadPort, interplay: Interplay
    ) -> None:
        """Inserts and removes, one at a time."""
        swept, moving, hold = interplay.swept, interplay.moving, interplay.hold
        tag = Signal(tag_layout(self.slot_bits))
        removing, busy_removing = Signal(), Signal()
        home, index, hole, following = (
            Signal(self.index_bits, name=name) for name in ("home", "index", "hole", "following")
        )
        steps = Signal(STEP_BITS, init=1)
        m.d.comb += following.eq(index + 1)
        taken = self._take_turns(m, interplay)
        remove_first, pick_remove = taken.remove_first, taken.pick_remove

        # Unless one of the cases below applies, the entry behind is on its way.
        m.d.comb += [read.addr.eq(following), read.en.eq(1), write.addr.eq(index)]
        m.d.sync += index.eq(following)
        # A look-up that is taken after a removal may still read the entry in the cycle in which it goes: `going` covers
        # that cycle too.
        m.d.sync += interplay.going.eq(busy_removing)
        m.d.comb += interplay.going_tag.eq(tag)

        # For tests, an error in what is written.
        code = self.code
        stored, error = Signal(code.entry), Signal(code.entry)
        hurt = Signal()
        m.d.comb += [
            hurt.eq((self.test.flip != 0) & write.en & ~code.empty(m, stored.code)),
            error.as_value().eq(Mux(hurt, Mux(self.test.flip[1], 3, 1) << self.test.flip_bit, 0)),
            write.data.eq(stored.as_value() ^ error.as_value()),
        ]
        m.d.sync += self.test.flipped.eq(hurt)
        found = read.data
        wanted = Signal(code.entry)
        number = Signal(self.slot_bits + self.index_bits)
        m.d.comb += [
            wanted.code.eq(code.code(tag.key)), wanted.slot.eq(code.stored_slot(Cat(tag.slot, home))),
            number.eq(code.slot(m, found.slot, name="found")),
        ]
        same, _, doubt = code.differs(m, found.code, wanted.code)
        empty = Signal()
        m.d.comb += empty.eq(code.empty(m, found.code))
        ended, twice, is_removed = (Signal(name=name) for name in ("ended", "twice", "is_removed"))
        figures = self.figures
        m.d.sync += [
            self.done.eq(ended), self.duplicate.eq(twice), self.done_slot.eq(tag.slot), self.removed.eq(is_removed),
            self.removed_slot.eq(tag.slot), figures.settled.eq(ended & ~twice), figures.steps.eq(steps),
        ]
        with m.FSM(name="update"):
            with m.State("SWEEP"):
                m.d.comb += [write.en.eq(1), stored.eq(0)]
                with m.If(index == self.n_entries - 1):
                    m.d.sync += swept.eq(1)
                    m.next = "IDLE"

            with m.State("IDLE"):
                m.d.comb += [
                    self.remove.ready.eq(~hold & (remove_first | ~self.insert.valid)),
                    self.insert.ready.eq(~(self.remove.valid & ~hold & remove_first)),
                    read.addr.eq(taken.home), read.en.eq(pick_remove | self.insert.valid),
                    busy_removing.eq(pick_remove),
                ]
                m.d.sync += index.eq(index)
                with m.If(pick_remove | self.insert.valid):
                    m.d.sync += [
                        tag.eq(taken.tag), home.eq(taken.home), index.eq(taken.home), removing.eq(pick_remove),
                        steps.eq(1), remove_first.eq(~pick_remove),
                    ]
                    m.next = "FIND"

            with m.State("FIND"):
                m.d.sync += [hole.eq(index), steps.eq(steps + ~steps.all())]
                m.d.comb += [busy_removing.eq(removing), stored.eq(wanted)]
                with m.If(removing):
                    with m.If((same | doubt) & code.same_slot(m, found.slot, wanted.slot)):
                        m.next = "SHIFT"
                    with m.Elif(same | empty):
                        m.next = "IDLE"
                with m.Elif(same | empty):
                    m.d.comb += [ended.eq(1), twice.eq(same), write.en.eq(~same)]
                    m.next = "IDLE"

            with m.State("SHIFT"):
                # An entry may stand in the hole if its home is not behind it.
                fits = Signal()
                its_home = number[self.slot_bits :]
                m.d.comb += [
                    busy_removing.eq(1), write.addr.eq(hole), stored.eq(found),
                    fits.eq((index - its_home)[: self.index_bits] >= (index - hole)[: self.index_bits]),
                ]
                # It is known late that an entry moves, so look-ups count every entry that may.
                m.d.comb += moving.eq(~empty)
                with m.If(empty):
                    # The end of the run is empty: so is a copy of it, unless that is known in spite of an error.
                    m.d.comb += [write.en.eq(1), is_removed.eq(1), *([stored.eq(0)] if code.ecc else ())]
                    m.next = "IDLE"
                with m.Elif(fits):
                    m.d.comb += write.en.eq(1)
                    m.d.sync += hole.eq(index)

    def _elaborate_lookup(self, m: Module, read: memory.ReadPort, interplay: Interplay) -> None:
        """Looks up keys, one at a time."""
        homes, swept, moving, hold = interplay.homes, interplay.swept, interplay.moving, interplay.hold
        going, going_tag = interplay.going, interplay.going_tag
        key = Signal(HashKey)
        home, index = (Signal(self.index_bits, name=name) for name in ("first", "at"))
        following = Signal(self.index_bits)
        # An entry that moves towards its home can slip past a look-up that is between the two places.
        moved = Signal()
        m.d.comb += following.eq(index + 1)
        m.d.sync += [index.eq(following), moved.eq(moved | moving)]
        m.d.comb += read.addr.eq(following)

        with m.If(self.o_lookup.ready):
            m.d.sync += self.o_lookup.valid.eq(0)

        found = read.data
        code = self.code
        wanted = Signal(code.entry["code"].shape)
        number = Signal(self.slot_bits + self.index_bits)
        doubtful, doubtful_slot = Signal(), Signal(self.slot_bits)
        m.d.comb += [wanted.eq(code.code(key)), number.eq(code.slot(m, found.slot, name="looked"))]
        same, wrong, doubt = code.differs(m, found.code, wanted)
        empty = code.empty(m, found.code)
        m.d.sync += [self.corrected.eq(0), self.uncorrectable.eq(0)]
        with m.FSM(name="look"):
            with m.State("IDLE"):
                m.d.comb += [
                    self.lookup.ready.eq(swept & (~self.o_lookup.valid | self.o_lookup.ready)),
                    read.addr.eq(homes.lookup),
                ]
                m.d.sync += [
                    key.eq(self.lookup.payload), home.eq(homes.lookup), index.eq(homes.lookup), moved.eq(moving),
                    doubtful.eq(0),
                ]
                with m.If(self.lookup.valid & self.lookup.ready):
                    m.next = "PROBE"

            with m.State("PROBE"):
                # A doubtful entry is the one that is wanted only if no other is.
                slot = Signal(self.slot_bits)
                its_slot = number[:self.slot_bits]
                ends = same | (empty & ~moved & ~moving)
                m.d.comb += slot.eq(Mux(same, number, doubtful_slot))
                # Both candidates are compared, for it is known late which of them it is.
                removes_key = going & (going_tag.key.as_value() == key.as_value())
                is_removed = removes_key & Mux(same, going_tag.slot == its_slot, going_tag.slot == doubtful_slot)
                hit = (same | doubtful) & ~is_removed
                error = doubtful & hit & ~same
                # No answer stands while a look-up goes on: what it is to be need not wait for the end of it.
                m.d.sync += [
                    self.o_lookup.payload.hit.eq(hit), self.o_lookup.payload.slot.eq(slot),
                    self.o_lookup.payload.error.eq(error),
                ]
                with m.If(ends):
                    m.d.sync += [
                        self.o_lookup.valid.eq(1), hold.eq(0),
                        self.corrected.eq(same & wrong), self.uncorrectable.eq(error),
                    ]
                    m.next = "IDLE"
                with m.Elif(empty):
                    m.d.sync += hold.eq(1)
                    m.next = "AGAIN"
                with m.Elif(doubt):
                    m.d.sync += [doubtful.eq(1), doubtful_slot.eq(number)]

            with m.State("AGAIN"):
                m.d.comb += read.addr.eq(home)
                m.d.sync += [index.eq(home), moved.eq(moving), doubtful.eq(0)]
                m.next = "PROBE"
