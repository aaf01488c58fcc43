"""Tag table of the packet buffer: which slot holds the packet of a key.

Architecture: ``docs/packet_buffer.md``; NIC paper, section 1.3.
"""

from amaranth import Module, Mux, Signal
from amaranth.hdl import Assert
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from rtl.abi import HashKey
from rtl.cou.hash_function import hash_index


def tag_layout(slot_bits: int) -> data.StructLayout:
    """What goes into the table and comes out of it: a key, and the slot of its packet."""
    return data.StructLayout({"key": HashKey, "slot": slot_bits})


def answer_layout(slot_bits: int) -> data.StructLayout:
    """Answer to a look-up; `slot` means something only with `hit`."""
    return data.StructLayout({"hit": 1, "slot": slot_bits})


class HashTable(wiring.Component):
    """Maps keys to slot numbers by open addressing with linear probing.

    A key stands at its hash or at one of the entries behind it, with no empty entry in between. Deletion keeps that
    true by *backward shift*: entries behind the hole that may stand in it move there, until an empty entry ends
    the run. So there are no tombstones, and a table that has seen any number of operations is as fast as a new one.

    Look-ups have a port of the memory to themselves and run while entries are inserted and removed. One that came
    to an empty entry while others were moved starts over, and holds up the next removal meanwhile, so that it ends.

    Timing: an answer comes 2 cycles after its request, one more for each further entry that had to be read.
    An insertion is `done` in the cycle after it was taken, one more for each further entry; a removal takes a cycle
    more, and one for each entry behind it in the run. After reset `n_entries` cycles pass until anything is taken.

    Parameters
    ----------
    n_entries : int
        Size of the table: a power of two, at least 2. The caller never has more than ``n_entries - 1`` keys in it.
    slot_bits : int
        Bits of a slot number.

    Members
    -------
    insert : ``In(stream.Signature({key, slot}))``
        Tags to be put in. No other tag is taken until it is `done`.
    done : ``Out(1)``
        Pulse: the insertion has ended. Look-ups taken from the next cycle on find it.
    duplicate : ``Out(1)``
        With `done`: the key was there already, the table is as it was.
    steps : ``Out(range(n_entries + 1))``
        With `done`: entries that were read.
    max_steps : ``Out(range(n_entries + 1))``
        The most of all insertions since reset.
    remove : ``In(stream.Signature({key, slot}))``
        Tags to be taken out, as a look-up gave them. Look-ups taken after it do not find it.
    removed, removed_slot : ``Out``
        Pulse: the removal has ended, the slot can be used again. There is none for a key that was not there.
    lookup : ``In(stream.Signature(HashKey))``
        Keys to be found.
    o_lookup : ``Out(stream.Signature({hit, slot}))``
        An answer for each, in order.
    hidden, hidden_slot : ``In``
        Slot that look-ups must not find yet: its packet has not come in entirely.
    """

    def __init__(self, *, n_entries: int, slot_bits: int):
        if not isinstance(n_entries, int) or n_entries < 2 or n_entries & (n_entries - 1):
            raise ValueError(f"n_entries must be a power of two from 2 on, not {n_entries!r}")
        if not isinstance(slot_bits, int) or slot_bits < 1:
            raise ValueError(f"slot_bits must be a positive integer, not {slot_bits!r}")
        self.n_entries = n_entries
        self.slot_bits = slot_bits
        self.index_bits = bits_for(n_entries - 1)
        tag = tag_layout(slot_bits)
        super().__init__({
            "insert": In(stream.Signature(tag)),
            "done": Out(1), "duplicate": Out(1),
            "steps": Out(range(n_entries + 1)), "max_steps": Out(range(n_entries + 1)),
            "remove": In(stream.Signature(tag)),
            "removed": Out(1), "removed_slot": Out(slot_bits),
            "lookup": In(stream.Signature(HashKey)),
            "o_lookup": Out(stream.Signature(answer_layout(slot_bits))),
            "hidden": In(1), "hidden_slot": In(slot_bits),
        })

    def elaborate(self, platform):
        m = Module()

        # `valid` is the bitmap of the paper, a column of the memory so that it scales. `home` is the hash of
        # the key: deletion needs it of every entry it passes, right behind the memory.
        entry = data.StructLayout({"valid": 1, "key": HashKey, "home": self.index_bits, "slot": self.slot_bits})
        m.submodules.tags = tags = memory.Memory(shape=entry, depth=self.n_entries, init=[])
        write, read, lookup_read = tags.write_port(), tags.read_port(), tags.read_port()

        swept = Signal()
        moving = Signal()
        hold = Signal()
        going = Signal()
        going_slot = Signal(self.slot_bits)
        common = {"swept": swept, "moving": moving, "hold": hold, "going": going, "going_slot": going_slot}
        self._elaborate_update(m, write, read, **common)
        self._elaborate_lookup(m, lookup_read, **common)
        return m

    def _elaborate_update(self, m: Module, write, read, *, swept, moving, hold, going, going_slot):
        """Insertion and removal, one at a time."""
        tag = Signal(tag_layout(self.slot_bits))
        removing = Signal()
        home, index, hole = (Signal(self.index_bits, name=name) for name in ("home", "index", "hole"))
        following = Signal(self.index_bits)
        steps = Signal.like(self.steps, init=1)
        m.d.comb += following.eq(index + 1)

        # Both take turns, so that neither waits for more than one of the other.
        remove_first, pick_remove = Signal(), Signal()
        taken = Signal(tag_layout(self.slot_bits))
        taken_home = Signal(self.index_bits)
        m.d.comb += [
            pick_remove.eq(self.remove.valid & ~hold & (remove_first | ~self.insert.valid)),
            taken.eq(Mux(pick_remove, self.remove.payload, self.insert.payload)),
            taken_home.eq(hash_index(taken.key, self.index_bits)),
        ]

        # Unless something else is said below, the entry behind is on its way.
        m.d.comb += [read.addr.eq(following), write.addr.eq(index)]
        m.d.sync += index.eq(following)

        # A look-up that is taken after a removal may still read the entry in the cycle in which it goes: `going` covers
        # that cycle too.
        busy_removing = Signal()
        m.d.sync += going.eq(busy_removing)
        m.d.comb += [going_slot.eq(tag.slot), self.removed_slot.eq(tag.slot), self.steps.eq(steps)]
        with m.If(self.done & (steps > self.max_steps)):
            m.d.sync += self.max_steps.eq(steps)

        found = read.data
        with m.FSM(name="update"):
            with m.State("SWEEP"):
                m.d.comb += [write.en.eq(1), write.data.eq(0)]
                with m.If(index == self.n_entries - 1):
                    m.d.sync += swept.eq(1)
                    m.next = "IDLE"

            with m.State("IDLE"):
                m.d.comb += [
                    self.remove.ready.eq(~hold & (remove_first | ~self.insert.valid)),
                    self.insert.ready.eq(~pick_remove),
                    read.addr.eq(taken_home), busy_removing.eq(pick_remove),
                ]
                m.d.sync += [
                    tag.eq(taken), home.eq(taken_home), index.eq(taken_home), removing.eq(pick_remove), steps.eq(1),
                ]
                with m.If(pick_remove | self.insert.valid):
                    m.d.sync += remove_first.eq(~pick_remove)
                    m.next = "FIND"

            with m.State("FIND"):
                m.d.sync += [hole.eq(index), steps.eq(steps + 1)]
                m.d.comb += [
                    busy_removing.eq(removing),
                    write.data.valid.eq(1), write.data.key.eq(tag.key), write.data.home.eq(home),
                    write.data.slot.eq(tag.slot),
                ]
                match = found.valid & (found.key == tag.key)
                with m.If(removing):
                    with m.If(match & (found.slot == tag.slot)):
                        m.next = "SHIFT"
                    with m.Elif(match | ~found.valid):
                        m.next = "IDLE"
                with m.Elif(match | ~found.valid):
                    m.d.comb += [self.done.eq(1), self.duplicate.eq(match), write.en.eq(~match)]
                    m.next = "IDLE"

            with m.State("SHIFT"):
                # An entry may stand in the hole if its home is not behind it.
                fits = Signal()
                m.d.comb += [
                    busy_removing.eq(1), write.addr.eq(hole), write.data.eq(found),
                    fits.eq((index - found.home)[: self.index_bits] >= (index - hole)[: self.index_bits]),
                ]
                with m.If(~found.valid):
                    m.d.comb += [write.en.eq(1), write.data.valid.eq(0), self.removed.eq(1)]
                    m.next = "IDLE"
                with m.Elif(fits):
                    m.d.comb += [write.en.eq(1), moving.eq(1)]
                    m.d.sync += hole.eq(index)

        m.d.sync += Assert(~self.done | (steps <= self.n_entries), "the table has no empty entry")

    def _elaborate_lookup(self, m: Module, read, *, swept, moving, hold, going, going_slot):
        """Look-ups, one at a time."""
        key = Signal(HashKey)
        asked_home, home, index = (Signal(self.index_bits, name=name) for name in ("asked_home", "first", "at"))
        following = Signal(self.index_bits)
        # An entry that moves towards its home can slip past a look-up that is between the two places.
        moved = Signal()
        m.d.comb += [asked_home.eq(hash_index(self.lookup.payload, self.index_bits)), following.eq(index + 1)]
        m.d.sync += [index.eq(following), moved.eq(moved | moving)]
        m.d.comb += read.addr.eq(following)

        with m.If(self.o_lookup.ready):
            m.d.sync += self.o_lookup.valid.eq(0)

        found = read.data
        with m.FSM(name="look"):
            with m.State("IDLE"):
                m.d.comb += [
                    self.lookup.ready.eq(swept & (~self.o_lookup.valid | self.o_lookup.ready)),
                    read.addr.eq(asked_home),
                ]
                m.d.sync += [key.eq(self.lookup.payload), home.eq(asked_home), index.eq(asked_home), moved.eq(moving)]
                with m.If(self.lookup.valid & self.lookup.ready):
                    m.next = "PROBE"

            with m.State("PROBE"):
                match = found.valid & (found.key == key)
                gone = going & (found.slot == going_slot)
                hidden = self.hidden & (found.slot == self.hidden_slot)
                with m.If(match | (~found.valid & ~moved & ~moving)):
                    m.d.sync += [
                        self.o_lookup.valid.eq(1), self.o_lookup.payload.hit.eq(match & ~gone & ~hidden),
                        self.o_lookup.payload.slot.eq(found.slot), hold.eq(0),
                    ]
                    m.next = "IDLE"
                with m.Elif(~found.valid):
                    m.d.sync += hold.eq(1)
                    m.next = "AGAIN"

            with m.State("AGAIN"):
                m.d.comb += read.addr.eq(home)
                m.d.sync += [index.eq(home), moved.eq(moving)]
                m.next = "PROBE"
