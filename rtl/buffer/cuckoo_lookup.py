"""Look-ups in a cuckoo table: a pipeline of its own."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.abi import HashKey
from rtl.buffer.hash_function import hash_index
from rtl.buffer.tag_code import TagCode
from rtl.buffer.tag_stash import stash_layout
from rtl.buffer.tag_table import answer_layout


def removal_layout(code: TagCode) -> data.StructLayout:
    """A removal that was taken and has not taken effect yet."""
    return data.StructLayout({"valid": 1, "code": code.entry["code"].shape, "slot": code.slot_bits})


class CuckooLookup(wiring.Component):
    """Finds keys in the banks and in the stash.

    Banks and stash are looked at in one and the same cycle, the one after the key was taken. Since a tag is in exactly
    one of them in every cycle, it is found once. Removals that were taken before and are still under way are
    taken into account.

    Timing: an answer 4 cycles after its request; one request a cycle.

    Parameters
    ----------
    code : TagCode
        Layout of tags.
    banks, ways, index_bits, stash : int
        Of the table.

    Members
    -------
    i, o :
        Keys, answers.
    ready : ``In(1)``
        The table can be read.
    address : ``Out(ArrayLayout(index_bits, banks))``, enable : ``Out(1)``,
    found : ``In(ArrayLayout(entry, candidates))``
        Read ports of the memories.
    entries : ``In(ArrayLayout({valid, entry}, stash))``
        The stash.
    going : ``In(ArrayLayout({valid, code, slot}, 2))``
        Removals on their way.
    corrected, uncorrectable : ``Out(1)``
        Pulses: the tag found has a single error, a double one.
    """

    def __init__(self, *, code: TagCode, banks: int, ways: int, index_bits: int, stash: int):
        self.code, self.banks, self.index_bits, self.n_candidates, self.n_stash = (
            code, banks, index_bits, banks * ways, stash
        )
        super().__init__({
            "i": In(stream.Signature(HashKey)),
            "o": Out(stream.Signature(answer_layout(code.slot_bits))),
            "ready": In(1),
            "address": Out(data.ArrayLayout(index_bits, banks)), "enable": Out(1),
            "found": In(data.ArrayLayout(code.entry, self.n_candidates)),
            "entries": In(data.ArrayLayout(stash_layout(code), stash)),
            "going": In(data.ArrayLayout(removal_layout(code), 2)),
            "corrected": Out(1), "uncorrectable": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        code, n = self.code, self.n_candidates + self.n_stash
        advance = Signal()
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready), self.enable.eq(advance), self.i.ready.eq(advance & self.ready),
        ]

        # First stage: the rows are read, the stash is compared.
        looked_up, read, chosen = (Signal(name=name) for name in ("looked_up", "read", "chosen"))
        wanted, compared = Signal(code.entry["code"].shape), Signal(code.entry["code"].shape)
        with m.If(advance):
            m.d.sync += [
                looked_up.eq(self.i.valid & self.ready), wanted.eq(code.code(self.i.payload)),
                [self.address[b].eq(hash_index(self.i.payload, self.index_bits, bank=b)) for b in range(self.banks)],
                read.eq(looked_up), compared.eq(wanted), chosen.eq(read),
            ]
        in_stash = Signal(data.ArrayLayout(data.StructLayout({"same": 1, "wrong": 1, "doubt": 1}), self.n_stash))
        stash_slots = Signal(data.ArrayLayout(code.entry["slot"].shape, self.n_stash))
        left = Signal(data.ArrayLayout(data.StructLayout({"same": 1, "slot": code.slot_bits}), 2))
        with m.If(advance):
            for j in range(self.n_stash):
                same, wrong, doubt = code.differs(m, self.entries[j].entry.code, wanted)
                m.d.sync += [
                    in_stash[j].same.eq(self.entries[j].valid & same), in_stash[j].wrong.eq(wrong),
                    in_stash[j].doubt.eq(self.entries[j].valid & doubt), stash_slots[j].eq(self.entries[j].entry.slot),
                ]
            for k in range(2):
                m.d.sync += [
                    left[k].same.eq(self.going[k].valid & (self.going[k].code == wanted)),
                    left[k].slot.eq(self.going[k].slot),
                ]

        # Second stage: entries of the banks are compared.
        same, wrong, doubt = (Signal(n, name=name) for name in ("same", "wrong", "doubt"))
        slots = Signal(data.ArrayLayout(code.entry["slot"].shape, n))
        removed_before = Signal.like(left)
        with m.If(advance):
            for p in range(self.n_candidates):
                is_same, is_wrong, is_doubt = code.differs(m, self.found[p].code, compared)
                m.d.sync += [
                    same[p].eq(is_same), wrong[p].eq(is_wrong), doubt[p].eq(is_doubt), slots[p].eq(self.found[p].slot),
                ]
            for j in range(self.n_stash):
                p = self.n_candidates + j
                m.d.sync += [
                    same[p].eq(in_stash[j].same), wrong[p].eq(in_stash[j].wrong), doubt[p].eq(in_stash[j].doubt),
                    slots[p].eq(stash_slots[j]),
                ]
            m.d.sync += removed_before.eq(left)

        # Third stage: the slot of the one that is the same. A doubtful one is taken only if there is none.
        pick = Signal(n)
        stored = Signal(code.entry["slot"].shape)
        m.d.comb += [
            pick.eq(Mux(same.any(), same, doubt & -doubt)),
            stored.eq(_any_of([pick[p].replicate(len(stored)) & slots[p] for p in range(n)])),
        ]
        slot = Signal(code.slot_bits)
        m.d.comb += slot.eq(code.slot(m, stored, name="found"))
        removed = Cat(removed_before[k].same & (removed_before[k].slot == slot) for k in range(2)).any()
        hit = Signal()
        m.d.comb += hit.eq(pick.any() & ~removed)
        m.d.sync += [self.corrected.eq(0), self.uncorrectable.eq(0)]
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(chosen), self.o.payload.hit.eq(hit), self.o.payload.slot.eq(slot),
                self.o.payload.error.eq(hit & ~same.any()),
                self.corrected.eq(chosen & (same & wrong).any()), self.uncorrectable.eq(chosen & hit & ~same.any()),
            ]
        return m


def _any_of(values: list):
    """The OR of values, as a balanced tree."""
    while len(values) > 1:
        values = [values[k] | values[k + 1] if k + 1 < len(values) else values[k] for k in range(0, len(values), 2)]
    return values[0]
