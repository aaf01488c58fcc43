"""The stash of a cuckoo table, beside a list of entries, while tags enter, move, are displaced, rest, and go.

The bench is the pipeline around the part: operations are read in one cycle and act in the next, as in the table; the
banks are a dictionary.
"""

import random
from collections import Counter
from dataclasses import dataclass
from functools import cache

import pytest

from firmware_models.abi import formats
from rtl.buffer.secded import Secded
from rtl.buffer.tag_code import TagCode
from rtl.buffer.tag_stash import TagStash
from testbench.parts.faults import changed
from testbench.parts.simulation import run

KEY_BITS, SLOT_BITS = formats.HASH_KEY.width, 4
DOUBLE = 2
"""Errors of a code with which it is the wanted one only for removals, and cannot be put right."""


@dataclass
class Entry:
    """An entry of the stash: a tag with the errors that it came with, and how it fares."""

    key: int = 0
    slot: int = 0
    code_errors: int = 0
    slot_errors: int = 0
    valid: bool = False
    away: bool = False
    resting: bool = False
    raw: bool = False
    kicks: int = 0
    steps: int = 0

    @property
    def doubtful(self) -> bool:
        """True if the key has a double error."""
        return self.code_errors.bit_count() == DOUBLE

    @property
    def may_move(self) -> bool:
        """True if the tag is to be offered."""
        return self.valid and not (self.away or self.resting or self.raw or self.doubtful)


@dataclass(frozen=True)
class Operation:
    """An operation in the pipeline: an insertion, a removal, or a move of entry `index`."""

    kind: str
    key: int
    slot: int
    index: int = 0

    def wants(self, entry: Entry) -> bool:
        """True if an entry has its tag. A removal tolerates two errors, but wants the slot as well."""
        if not entry.valid or entry.key != self.key:
            return False
        return entry.slot == self.slot if self.kind == "remove" else not entry.doubtful


class Table:
    """The pipeline and the banks around the part, and the entries as they must be."""

    def __init__(self, part: TagStash, rng: random.Random):
        self.part, self.rng, self.ecc = part, rng, part.code.ecc
        self.codes, self.slots = Secded(1 + KEY_BITS), Secded(SLOT_BITS)
        self.encode, self.encode_slot = cache(self.codes.encode_int), cache(self.slots.encode_int)
        self.keys = [rng.getrandbits(KEY_BITS) for _ in range(part.n_entries + 4)]
        self.entries = [Entry() for _ in range(part.n_entries)]
        self.banks: dict[int, int] = {}
        self.asked: Operation | None = None
        self.read: Operation | None = None
        self.act: Operation | None = None
        self.put: tuple[Operation, list[int]] | None = None
        self.offer: Operation | None = None
        self.chosen_from: dict[int, Operation] | None = {}
        self.room, self.level, self.pulses = False, 0, (0, 0)
        self.passed_over = [0] * part.n_entries
        self.pressure, self.roominess, self.removal_rate = 1.0, 0.2, 0.5
        self.counts: Counter[str] = Counter()

    def stored(self, one: Entry | Operation) -> int:
        """A tag as it stands in memory."""
        code, slot = 1 | one.key << 1, one.slot
        if self.ecc:
            code, slot = self.encode(code), self.encode_slot(slot)
            slot |= slot << self.slots.width
        if isinstance(one, Entry):
            code, slot = code ^ one.code_errors, slot ^ one.slot_errors
        return code | slot << self.part.code.entry["slot"].offset

    def begin(self, context) -> None:
        """Follows the part into the next cycle: the entry that it has chosen for a tag, and the tag that it offers."""
        if self.put is not None:
            tag, free = self.put
            taken = [number for number in free if context.get(self.part.entries[number].valid)]
            assert len(taken) == 1, "a tag enters once"
            self.entries[taken[0]] = Entry(tag.key, tag.slot, valid=True, steps=1)
        if self.chosen_from is not None:
            assert context.get(self.part.o.valid) == bool(self.chosen_from), "a tag that may move is offered"
            self.offer = None
            if self.chosen_from:
                index = context.get(self.part.o.payload.index)
                assert index in self.chosen_from, "a tag that may not move, or is on its way"
                self.offer = self.chosen_from[index]
                self.entries[index].away = True
                self.counts["offers"] += 1
                self.passed_over = [
                    passed + 1 if number in self.chosen_from and number != index else 0
                    for number, passed in enumerate(self.passed_over)
                ]
                assert max(self.passed_over) < self.part.n_entries, "a tag whose turn does not come"
        if self.offer is not None:
            assert context.get(self.part.o.valid)
            assert int(context.get(self.part.o.payload.entry.as_value())) == self.stored(self.offer)
            assert context.get(self.part.o.payload.index) == self.offer.index

    def choose(self) -> Operation | None:
        """Takes an operation into the pipeline."""
        rng = self.rng
        if rng.random() < 0.015:
            self.pressure, self.roominess = rng.choice((0.2, 1.0, 1.0)), rng.choice((0, 0.05, 0.5))
            self.removal_rate = rng.choice((0.05, 0.3, 0.7))
        kind = rng.choice(("insert", "remove", "move", "move", "none"))
        if kind == "move":
            return self.offer
        # Operations on one tag often follow each other.
        recent = [one.key for one in (self.asked, self.read) if one is not None] if rng.random() < 0.5 else []
        doubtful = {entry.key for entry in self.entries if entry.valid and entry.doubtful}
        if kind == "insert" and self.room and rng.random() < self.pressure:
            # One with a double error is not found: nothing inserts it again.
            key = rng.choice([key for key in recent or self.keys if key not in doubtful] or [0])
            return Operation("insert", key, rng.getrandbits(SLOT_BITS))
        stands = {entry.key: entry.slot for entry in self.entries if entry.valid} | self.banks
        if kind == "remove" and stands and rng.random() < self.removal_rate:
            key = rng.choice(recent or sorted(stands))
            coming = [one.slot for one in (self.asked, self.read) if one is not None and one.key == key]
            slot = coming[0] if coming else stands.get(key, 0)
            return Operation("remove", key, slot ^ rng.choice((0, 0, 0, 1)))
        return None

    def displace(self) -> Entry:
        """Takes a tag out of the banks, as it stands there."""
        rng = self.rng
        wanted = self.read.key if self.read is not None else 0
        key = wanted if wanted in self.banks else rng.choice(sorted(self.banks))
        entry = Entry(key, self.banks.pop(key), valid=True, raw=self.ecc)
        if self.ecc:
            is_coming = any(one is not None and one.key == key and one.kind == "insert"
                            for one in (self.asked, self.read, self.taken))
            n_errors = rng.choice((0, 1) if is_coming else (0, 1, 1, 2))
            entry.code_errors = sum(1 << bit for bit in rng.sample(range(self.codes.width), n_errors))
            entry.slot_errors = sum(1 << bit for bit in rng.sample(range(2 * self.slots.width), rng.choice((0, 1, 2))))
        return entry

    def decide(self) -> dict[str, int]:
        """Effect of the acting operation in this cycle, as the table would have it."""
        effect = dict.fromkeys(("put", "drop", "placed", "swap", "rest", "back", "wake"), 0)
        act, self.victim = self.act, None
        if act is None:
            return effect
        in_bank = act.key in self.banks and (act.kind != "remove" or self.banks[act.key] == act.slot)
        has_room = self.rng.random() < self.roominess
        if act.kind == "insert":
            if not in_bank and not any(self.match):
                effect["put"] = int(not has_room)
                if has_room:
                    self.banks[act.key] = act.slot
        elif act.kind == "remove":
            effect.update(drop=1, wake=int(in_bank))
            if in_bank:
                del self.banks[act.key]
        else:
            effect["back"] = 1
            entry = self.entries[act.index]
            if entry.valid:
                if has_room or not self.banks:
                    effect["placed"] = 1
                elif entry.kicks == self.part.max_kicks:
                    effect["rest"] = 1
                else:
                    effect["swap"] = 1
                    self.victim = self.displace()
                if not effect["rest"]:
                    self.banks[act.key] = act.slot
        return effect

    def drive(self, context) -> None:
        part, rng = self.part, self.rng
        self.begin(context)
        act, read = self.act, self.read
        self.match = [act is not None and act.wants(entry) for entry in self.entries]
        self.taken = self.choose()
        self.effect = self.decide()
        self.inserts = sum(one is not None and one.kind == "insert" for one in (self.taken, self.asked, read, act))
        stray = Operation("insert", rng.choice(self.keys), rng.getrandbits(SLOT_BITS))
        context.set(part.o.ready, self.taken is not None and self.taken is self.offer)
        context.set(part.n_inserts, self.inserts)
        context.set(part.effect, self.effect)
        context.set(part.act.index, act.index if act and act.kind == "move" else rng.randrange(part.n_entries))
        context.set(part.act.entry.as_value(), self.stored(act or stray))
        context.set(part.victim.as_value(), self.stored(self.victim or stray))
        same = act is not None and read is not None and act.key == read.key and (
            read.kind != "remove" or act.slot == read.slot)
        taken_over = self.victim is not None and read is not None and read.wants(self.victim)
        context.set(part.read.entry.as_value(), self.stored(read or stray))
        context.set(part.read.removing, int(read is not None and read.kind == "remove"))
        context.set(part.read.same_as_act, int(same))
        context.set(part.read.taken_over, int(taken_over))
        self.counts.update(same_as_act=same and bool(self.effect["put"]), taken_over=taken_over)
        self.counts.update(name for name, does in self.effect.items() if does)

    def settle(self, read) -> None:
        part = self.part
        self.compare(read)
        # What may be offered, and how many entries are free, follows from this cycle.
        may_choose = not read(part.o.valid) or read(part.o.ready)
        self.chosen_from = {
            number: Operation("move", entry.key, entry.slot, number)
            for number, entry in enumerate(self.entries) if entry.may_move
        } if may_choose else None
        n_free = sum(not entry.valid and not entry.away for entry in self.entries)
        self.room, self.level = n_free > self.inserts, sum(entry.valid for entry in self.entries)
        self.counts["full"] += n_free == 0
        self.wash()
        self.apply()
        self.act, self.read, self.asked = self.read, self.asked, self.taken

    def compare(self, read) -> None:
        """Compares everything that can be seen."""
        part, act = self.part, self.act
        assert read(part.room) == self.room
        assert read(part.level) == self.level
        assert (read(part.corrected), read(part.uncorrectable)) == self.pulses
        width = len(part.entries[0].as_value())
        shown = read(part.entries.as_value())
        for number, entry in enumerate(self.entries):
            bits = shown >> number * width & (1 << width) - 1
            assert bits & 1 == entry.valid, f"entry {number}"
            assert not entry.valid or bits >> 1 == self.stored(entry), f"entry {number}"
        if act is not None:
            assert read(part.match) == sum(match << number for number, match in enumerate(self.match))
            self.counts["matches"] += any(self.match)
        if act is not None and act.kind == "move":
            entry = self.entries[act.index]
            assert read(part.moved.alive) == entry.valid
            assert read(part.moved.exhausted) == (entry.kicks == part.max_kicks) or not entry.valid
            assert read(part.moved.steps) == entry.steps + 1 or not entry.valid
            self.counts["dead"] += not entry.valid

    def wash(self) -> None:
        """A tag that came out of a bank is put right in the cycle after, as far as it goes."""
        self.pulses = (0, 0)
        for entry in self.entries:
            if entry.raw and entry.valid:
                is_single = entry.code_errors.bit_count() == 1
                self.pulses = (int(is_single or entry.slot_errors > 0), int(entry.doubtful))
                self.counts.update(corrected=self.pulses[0], uncorrectable=self.pulses[1])
                entry.slot_errors, entry.raw = 0, False
                entry.code_errors = entry.code_errors if entry.doubtful else 0

    def apply(self) -> None:
        """Does what the acting operation does."""
        act, effect, self.put = self.act, self.effect, None
        if effect["put"]:
            free = [number for number, entry in enumerate(self.entries) if not entry.valid and not entry.away]
            assert free, "no entry for an insertion that was let in"
            self.put = act, free
        if effect["drop"]:
            for entry, match in zip(self.entries, self.match, strict=True):
                entry.valid &= not match
        if effect["wake"]:
            for entry in self.entries:
                self.counts["woken"] += entry.valid and entry.resting
                entry.resting, entry.kicks = False, 0
        if effect["back"]:
            entry = self.entries[act.index]
            entry.away, entry.steps = False, entry.steps + 1
            entry.resting |= bool(effect["rest"])
            entry.valid &= not effect["placed"]
            if self.victim is not None:
                self.victim.kicks, self.victim.steps = entry.kicks + 1, entry.steps
                self.entries[act.index] = self.victim


@pytest.mark.parametrize(("seed", "n_entries", "max_kicks", "ecc"), [
    (0, 1, 1, False), (1, 6, 2, False), (0, 4, 2, True), (1, 4, 2, True),
])
def test_tag_stash(seed: int, n_entries: int, max_kicks: int, ecc: bool) -> None:
    """Entries, matches, offers and figures in every cycle, whatever the table does."""
    part = TagStash(code=TagCode(slot_bits=SLOT_BITS, ecc=ecc), n_entries=n_entries, max_kicks=max_kicks)
    table = Table(part, random.Random(seed))
    run(part, [table], cycles=1200 if ecc else 2000, rng=table.rng)
    names = ["put", "drop", "placed", "swap", "rest", "wake", "woken", "offers", "matches"]
    # What needs several tags at once is left to the larger ones.
    names += ["full", "dead"]
    names += ["same_as_act", "taken_over"] if n_entries > 1 else []
    names += ["corrected", "uncorrectable"] if ecc else []
    assert {name: table.counts[name] for name in names if table.counts[name] < (1 if ecc else 3)} == {}


@pytest.mark.parametrize(("old", "new"), [
    ("free.eq(~(valid | away))", "free.eq(~valid)"),
    ("self.match[j].eq(self.read.same_as_act)", "self.match[j].eq(0)"),
    ("self.match[j].eq(self.read.taken_over)", "self.match[j].eq(alike)"),
    ("m.d.sync += [resting[j].eq(0), kicks[j].eq(0)]", "m.d.sync += [resting[j].eq(0)]"),
    (" & ~(self.effect.drop & self.match[j]))", ")"),
    ("> self.n_inserts", ">= self.n_inserts"),
    ("valid & ~(away | resting | raw | bad)", "valid & ~(away | resting | raw)"),
    ("self.moved.exhausted.eq(kicks[self.act.index] == self.max_kicks)",
     "self.moved.exhausted.eq(kicks[self.act.index] == self.max_kicks - 1)"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that is used too soon, a match that misses what has just happened, and kicks that stay are found."""
    monkeypatch.setitem(globals(), "TagStash", changed(TagStash, old, new))
    with pytest.raises(AssertionError):
        test_tag_stash(0, 4, 2, True)
