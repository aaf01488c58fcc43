"""Tag table of the packet buffer: several banks read at once, so that every look-up takes the same time.

Architecture: ``docs/packet_buffer.md``. The same interface as :class:`~rtl.buffer.linear_table.LinearTable`.
"""

from dataclasses import dataclass

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, memory, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import connect, flipped
from amaranth.utils import bits_for

from rtl.buffer.cuckoo_lookup import CuckooLookup
from rtl.buffer.hash_function import hash_index
from rtl.buffer.tag_code import TagCode
from rtl.buffer.tag_stash import TagStash
from rtl.buffer.tag_table import tag_table_members
from rtl.kit.round_robin import RoundRobin


class Kind(enum.Enum, shape=2):
    """Kinds of operations in the pipeline."""

    NONE = 0
    INSERT = 1
    REMOVE = 2
    MOVE = 3
    """A tag of the stash looks for an empty way."""


@dataclass(frozen=True, kw_only=True)
class Stages:
    """Operations under way: the rows of one are read, the entries are compared with one, one acts.

    Parameters
    ----------
    entered, read, act : View
        They, the youngest first.
    """

    entered: View
    read: View
    act: View


@dataclass(frozen=True, kw_only=True)
class Storage:
    """Memories of the tags, and the changes that the operation that acts makes there.

    Parameters
    ----------
    reads : tuple of ReadPort
        A port of each entry's memory, for the operation that is compared.
    stash : TagStash
        The stash.
    write_at, swap_at : Signal
        Entries, a bit each, that are written; whose tag goes into the stash.
    """

    reads: tuple[memory.ReadPort, ...]
    stash: TagStash
    write_at: Signal
    swap_at: Signal


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Comparison of the entries with the operation that acts, a bit each.

    Parameters
    ----------
    match, empty : Signal
        The tag is there; the entry is empty.
    preferred : Signal
        Empty entries that chance has chosen.
    victim : Signal
        The entry whose tag is displaced, should one have to be.
    """

    match: Signal
    empty: Signal
    preferred: Signal
    victim: Signal


class CuckooTable(wiring.Component):
    """Maps keys to slot numbers: cuckoo hashing over `banks` of `ways` entries a row, and a small stash.

    A tag stands in one of ``banks * ways`` entries, in each bank in the row that the bank's own hash of its key names,
    or in the stash, which look-ups compare as well. An insertion takes an empty entry, or else goes into the
    stash; so it ends at once. A tag in the stash then looks for an entry by itself: it takes an empty one, or
    displaces a tag at random, which goes on from there. After `max_kicks` displacements it rests until something is
    removed.

    Insertions, removals and moves pass one pipeline, one a cycle, and each takes effect in one cycle, its
    last: so all of them happen one after the other, and a tag that moves stands in exactly one entry all the time.

    Timing: an answer comes 4 cycles after its request, always; one look-up a cycle. `done` and `removed` come 4
    cycles after the tag was taken; together one insertion, removal or move a cycle. After reset as many cycles as a
    bank has rows pass until anything is taken. An insertion is not taken while the stash may be full.

    Parameters
    ----------
    n_entries : int
        Entries of all banks together: ``banks * ways`` times a power of two, which is at least 2.
    slot_bits : int
        Bits of a slot number.
    banks, ways : int
        Memories with a hash of their own, and entries in a row of each: powers of two, at most 16.
    stash : int
        Entries of the stash, 1 to 64.
    max_kicks : int
        Most displacements in a row, 1 to 255.
    ecc : bool
        If true, tags are protected against errors of the memories.

    Members
    -------
    See :func:`~rtl.buffer.tag_table.tag_table_members`.
    """

    def __init__(
        self, *, n_entries: int, slot_bits: int, banks: int = 4, ways: int = 4, stash: int = 8, max_kicks: int = 32,
        ecc: bool = False,
    ):
        for name, value, least, most in (
            ("slot_bits", slot_bits, 1, 32), ("banks", banks, 1, 16), ("ways", ways, 1, 16),
            ("stash", stash, 1, 64), ("max_kicks", max_kicks, 1, 255),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise ValueError(f"{name} must be {least} to {most}, not {value!r}")
        for name, value in (("banks", banks), ("ways", ways)):
            if value & (value - 1):
                raise ValueError(f"{name} must be a power of two, not {value!r}")
        n_candidates = banks * ways
        rows = n_entries // n_candidates if isinstance(n_entries, int) else 0
        if rows < 2 or rows & (rows - 1) or rows * n_candidates != n_entries:
            raise ValueError(f"n_entries must be {n_candidates} times a power of two from 2 on, not {n_entries!r}")
        self.n_entries, self.slot_bits, self.banks, self.ways = n_entries, slot_bits, banks, ways
        self.stash, self.max_kicks, self.ecc = stash, max_kicks, ecc
        self.rows, self.n_candidates = rows, n_candidates
        self.index_bits = bits_for(rows - 1)
        self.code = TagCode(slot_bits=slot_bits, ecc=ecc)
        self.stage = data.StructLayout({
            "kind": Kind, "entry": self.code.entry, "slot": slot_bits, "index": range(max(2, stash)),
            "rows": data.ArrayLayout(self.index_bits, banks),
        })
        super().__init__(tag_table_members(slot_bits))

    def elaborate(self, platform):
        m = Module()
        code = self.code
        m.submodules.stash = stash = TagStash(code=code, n_entries=self.stash, max_kicks=self.max_kicks)
        m.submodules.look = look = CuckooLookup(
            code=code, banks=self.banks, ways=self.ways, index_bits=self.index_bits, stash=self.stash
        )
        # A memory for every way of all banks; way p belongs to bank p modulo the number of banks. Look-ups see what
        # was there before a write of the same cycle, as they do in the stash.
        writes, reads = [], []
        for p in range(self.n_candidates):
            m.submodules[f"tags_{p}"] = tags = memory.Memory(shape=code.entry, depth=self.rows, init=[])
            writes.append(tags.write_port())
            reads.append(tags.read_port())
            seen = tags.read_port()
            m.d.comb += [
                seen.addr.eq(look.address[p % self.banks]), seen.en.eq(look.enable), look.found[p].eq(seen.data),
            ]

        entered, read, act = (Signal(self.stage, name=name) for name in ("entered", "read", "act"))
        stages = Stages(entered=entered, read=read, act=act)
        swept, swept_row = Signal(), Signal(self.index_bits)
        with m.If(~swept):
            m.d.sync += [swept_row.eq(swept_row + 1), swept.eq(swept_row == self.rows - 1)]
        self._elaborate_choice(m, stages, stash, swept)
        m.d.sync += [read.eq(entered), act.eq(read)]
        m.d.comb += [reads[p].addr.eq(entered.rows[p % self.banks]) for p in range(self.n_candidates)]

        write_at, swap_at = Signal(self.n_candidates), Signal(self.n_candidates)
        # Empty entries and victims are chosen at random, so that all banks fill alike and no exchange is repeated.
        chance = Signal(32, init=0x2545F491)
        # They follow each other while there is something to be done, and only then.
        busy = Signal()
        m.d.comb += busy.eq(Cat(stage.kind != Kind.NONE for stage in (entered, read, act)).any())
        with m.If(busy):
            m.d.sync += chance.eq(Cat(chance[1:], chance[0]) ^ Mux(chance[0], 0x200003, 0))
        storage = Storage(reads=tuple(reads), stash=stash, write_at=write_at, swap_at=swap_at)
        compared = self._elaborate_compare(m, stages, storage, chance)
        self._elaborate_act(m, act, storage, compared)

        # Writes: the operation that acts, or the sweep after reset; and, for tests, an error in what is written.
        written, error = Signal(code.entry), Signal(code.entry)
        hurt = Signal()
        m.d.comb += [
            hurt.eq((self.test.flip != 0) & write_at.any() & (act.kind != Kind.REMOVE)),
            error.as_value().eq(Mux(hurt, Mux(self.test.flip[1], 3, 1) << self.test.flip_bit, 0)),
        ]
        with m.If(swept & (act.kind != Kind.REMOVE)):
            m.d.comb += written.eq(act.entry.as_value() ^ error.as_value())
        m.d.sync += self.test.flipped.eq(hurt)
        for p, write in enumerate(writes):
            m.d.comb += [
                write.en.eq(write_at[p] | ~swept), write.data.eq(written),
                write.addr.eq(Mux(swept, act.rows[p % self.banks], swept_row)),
            ]

        # Look-ups take removals into account that have been taken and not yet acted.
        connect(m, flipped(self.lookup), look.i)
        connect(m, look.o, flipped(self.o_lookup))
        m.d.comb += [
            look.ready.eq(swept), look.entries.eq(stash.entries),
            self.corrected.eq(look.corrected | stash.corrected),
            self.uncorrectable.eq(look.uncorrectable | stash.uncorrectable), self.figures.stash_level.eq(stash.level),
        ]
        for going, operation in zip(look.going, (read, act), strict=True):
            m.d.comb += [
                going.valid.eq(operation.kind == Kind.REMOVE), going.code.eq(operation.entry.code),
                going.slot.eq(operation.slot),
            ]
        return m

    def _elaborate_choice(self, m: Module, stages: Stages, stash: TagStash, swept: Signal) -> None:
        """Takes removals, insertions and moves in turn. Each has its hash before the choice, which is late."""
        entered, read, act = stages.entered, stages.read, stages.act
        m.submodules.turn = turn = RoundRobin(n=3)
        m.d.comb += [
            turn.requests.eq(
                Cat(self.remove.valid, self.insert.valid & stash.room, stash.o.valid) & swept.replicate(3)
            ),
            turn.advance.eq(1),
            self.remove.ready.eq(turn.grant[0]), self.insert.ready.eq(turn.grant[1]), stash.o.ready.eq(turn.grant[2]),
            stash.n_inserts.eq(turn.grant[1] + sum(stage.kind == Kind.INSERT for stage in (entered, read, act))),
        ]
        moving = stash.o.payload
        m.d.sync += [entered.kind.eq(Kind.NONE), entered.index.eq(moving.index)]
        taken, put = self.remove.payload, self.insert.payload
        code = self.code
        for number, (kind, key, stored_code, stored_slot, slot) in enumerate((
            (Kind.REMOVE, taken.key, code.code(taken.key), code.stored_slot(taken.slot), taken.slot),
            (Kind.INSERT, put.key, code.code(put.key), code.stored_slot(put.slot), put.slot),
            (Kind.MOVE, code.key(moving.entry.code), moving.entry.code, moving.entry.slot, 0),
        )):
            with m.If(turn.grant[number]):
                m.d.sync += [
                    entered.kind.eq(kind), entered.entry.code.eq(stored_code), entered.entry.slot.eq(stored_slot),
                    entered.slot.eq(slot),
                    [entered.rows[b].eq(hash_index(key, self.index_bits, bank=b)) for b in range(self.banks)],
                ]

    def _elaborate_compare(self, m: Module, stages: Stages, storage: Storage, chance: Signal) -> Comparison:
        """Compares the entries with the operation.

        What was read may be out of date: `act` writes in this cycle, and the operation before it, `acted`, in the one
        in which the rows were read. What they write counts instead; that takes a comparison with each of the
        two, which is less than to pass what they write by every memory. The victim, should the operation need
        one, is chosen here already: of all entries only that one is kept.
        """
        code, read, act = self.code, stages.read, stages.act
        reads, stash, write_at, swap_at = storage.reads, storage.stash, storage.write_at, storage.swap_at
        removing = read.kind == Kind.REMOVE
        acted, acted_at = Signal(self.stage), Signal(self.n_candidates)
        m.d.sync += [acted.eq(act), acted_at.eq(write_at)]
        same_as, over, clears = {}, {}, {}
        for name, writer, written_at in (("act", act, write_at), ("acted", acted, acted_at)):
            alike, _, _ = code.differs(m, read.entry.code, writer.entry.code)
            same_as[name] = Signal(name=f"same_as_{name}")
            over[name] = Signal(self.n_candidates, name=f"over_by_{name}")
            clears[name] = writer.kind == Kind.REMOVE
            rows = Cat(read.rows[b] == writer.rows[b] for b in range(self.banks))
            m.d.comb += [
                same_as[name].eq(alike & (~removing | code.same_slot(m, read.entry.slot, writer.entry.slot))),
                over[name].eq(written_at & Cat(rows[p % self.banks] for p in range(self.n_candidates))),
            ]

        match, empty, stored = (Signal(self.n_candidates, name=name) for name in ("match", "empty", "stored_match"))
        preferred, victim = Signal(self.n_candidates), Signal(self.n_candidates)
        index = Signal(range(max(2, self.n_candidates)))
        m.d.comb += index.eq(chance[: len(index)] if self.n_candidates > 1 else 0)
        m.d.sync += victim.eq(1 << index)
        for p, port in enumerate(reads):
            found = port.data
            same, _, doubt = code.differs(m, found.code, read.entry.code)
            same = Mux(removing, (same | doubt) & code.same_slot(m, found.slot, read.entry.slot), same)
            vacant = Mux(over["acted"][p], clears["acted"], code.empty(m, found.code))
            m.d.comb += stored[p].eq(Mux(over["acted"][p], same_as["acted"] & ~clears["acted"], same))
            m.d.sync += [
                match[p].eq(Mux(over["act"][p], same_as["act"] & ~clears["act"], stored[p])),
                empty[p].eq(Mux(over["act"][p], clears["act"], vacant)),
            ]
        with m.If(over["act"].bit_select(index, 1)):
            m.d.sync += stash.victim.eq(act.entry)
        with m.Elif(over["acted"].bit_select(index, 1)):
            m.d.sync += stash.victim.eq(acted.entry)
        with m.Else():
            m.d.sync += stash.victim.eq(Array(port.data for port in reads)[index])
        m.d.comb += [
            preferred.eq(empty & Cat(chance[p % 16 + 5] for p in range(self.n_candidates))),
            stash.read.entry.eq(read.entry), stash.read.removing.eq(removing),
            stash.read.same_as_act.eq(same_as["act"]),
            # The tag that `read` wants may be the one that is just being displaced.
            stash.read.taken_over.eq((swap_at & over["act"] & stored).any()),
        ]
        return Comparison(match=match, empty=empty, preferred=preferred, victim=victim)

    def _elaborate_act(self, m: Module, act: View, storage: Storage, compared: Comparison) -> None:
        """Carries an operation out, all of it in one cycle."""
        match, empty, victim, preferred = compared.match, compared.empty, compared.victim, compared.preferred
        stash, write_at, swap_at = storage.stash, storage.write_at, storage.swap_at
        pool, free_entry = (Signal(self.n_candidates, name=name) for name in ("pool", "free_entry"))
        m.d.comb += [
            pool.eq(Mux(preferred.any(), preferred, empty)), free_entry.eq(pool & -pool),
            stash.act.index.eq(act.index), stash.act.entry.eq(act.entry),
        ]
        here, roomy = Signal(), Signal()
        ended, twice, found_here, settled = (Signal(name=name) for name in ("ended", "twice", "found_here", "settled"))
        m.d.comb += [here.eq(match.any() | stash.match.any()), roomy.eq(empty.any())]
        with m.Switch(act.kind):
            with m.Case(Kind.INSERT):
                m.d.comb += [ended.eq(1), twice.eq(here)]
                with m.If(~here):
                    m.d.comb += [write_at.eq(free_entry), settled.eq(roomy), stash.effect.put.eq(~roomy)]
            with m.Case(Kind.REMOVE):
                m.d.comb += [
                    write_at.eq(match), stash.effect.drop.eq(1), stash.effect.wake.eq(match.any()), found_here.eq(here),
                ]
            with m.Case(Kind.MOVE):
                m.d.comb += stash.effect.back.eq(1)
                with m.If(stash.moved.alive):
                    with m.If(roomy):
                        m.d.comb += [write_at.eq(free_entry), stash.effect.placed.eq(1), settled.eq(1)]
                    with m.Elif(stash.moved.exhausted):
                        m.d.comb += stash.effect.rest.eq(1)
                    with m.Else():
                        m.d.comb += [swap_at.eq(victim), write_at.eq(swap_at), stash.effect.swap.eq(1)]
        m.d.sync += [
            self.done.eq(ended), self.duplicate.eq(twice), self.done_slot.eq(act.slot),
            self.removed.eq(found_here), self.removed_slot.eq(act.slot),
            self.figures.settled.eq(settled), self.figures.steps.eq(Mux(act.kind == Kind.INSERT, 1, stash.moved.steps)),
        ]
