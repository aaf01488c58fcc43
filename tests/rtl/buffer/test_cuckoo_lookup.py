"""Look-ups in a cuckoo table, beside a dictionary, while tags move, are removed, and have errors."""

import random
from collections import Counter, deque
from dataclasses import dataclass
from functools import cache

import pytest

from firmware_models.abi import formats
from rtl.buffer.cuckoo_lookup import CuckooLookup
from rtl.buffer.hash_function import hash_columns
from rtl.buffer.secded import Secded
from rtl.buffer.tag_code import TagCode
from rtl.buffer.tag_table import answer_layout
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run

KEY_BITS = formats.HASH_KEY.width
SLOT_BITS, INDEX_BITS = 5, 2
Place = tuple[int, int] | int
"""A way and a row, or an entry of the stash."""


@dataclass(frozen=True)
class Tag:
    """A tag as it stands somewhere: errors are bits that are inverted."""

    key: int
    slot: int
    code_errors: int = 0
    slot_errors: int = 0


@dataclass(frozen=True)
class Expected:
    """The answer to a look-up."""

    hit: bool
    slot: int
    code_errors: int
    slot_errors: int
    removed: bool


@cache
def row(key: int, bank: int) -> int:
    """The row of a key in a bank: the sum of the columns of its bits, modulo 2."""
    index = 0
    for bit, column in enumerate(hash_columns(INDEX_BITS, bank=bank)):
        index ^= column if key >> bit & 1 else 0
    return index


class Table:
    """Banks, stash and removals around the part; a tag moves from one place to another in one cycle."""

    def __init__(self, part: CuckooLookup, ways: int, rng: random.Random):
        self.part, self.rng, self.code = part, rng, part.code
        self.ecc, self.ways = part.code.ecc, ways
        self.codes, self.slots = Secded(1 + KEY_BITS), Secded(SLOT_BITS)
        self.encode, self.encode_slot = cache(self.codes.encode_int), cache(self.slots.encode_int)
        self.keys = [rng.getrandbits(KEY_BITS) for _ in range(10)]
        self.tags: dict[Place, Tag] = {}
        self.found = [0] * part.n_candidates
        self.going: list[tuple[int, int]] = []
        self.pipeline: deque[Expected | None] = deque([None] * 2)
        self.asked: int | None = None
        self.answers: list[Expected] = []
        self.counts: Counter[str] = Counter()
        self.shown: Expected | None = None
        self.is_new = False
        for key in self.keys[:7]:
            self.put(key)

    def places(self, key: int) -> list[Place]:
        """Where a tag may stand and nothing does."""
        banks = self.part.banks
        ways = [(way, row(key, way % banks)) for way in range(self.part.n_candidates)]
        return [place for place in (*ways, *range(self.part.n_stash)) if place not in self.tags]

    def put(self, key: int, slot: int | None = None) -> None:
        """Puts a tag somewhere, with errors that it may have."""
        places = self.places(key)
        if not places:
            return
        code_errors = slot_errors = 0
        if self.ecc:
            n_errors = self.rng.choice((0, 1, 2))
            code_errors = sum(1 << bit for bit in self.rng.sample(range(self.codes.width), n_errors))
            n_errors = self.rng.choice((0, 1, 2))
            slot_errors = sum(1 << bit for bit in self.rng.sample(range(2 * self.slots.width), n_errors))
        slot = self.rng.getrandbits(SLOT_BITS) if slot is None else slot
        self.tags[self.rng.choice(places)] = Tag(key, slot, code_errors, slot_errors)

    def stored(self, tag: Tag | None) -> int:
        """An entry as it stands in memory."""
        if tag is None:
            return 0
        code, slot = 1 | tag.key << 1, tag.slot
        if self.ecc:
            code, slot = self.encode(code), self.encode_slot(slot)
            slot |= slot << self.slots.width
        return (code ^ tag.code_errors) | (slot ^ tag.slot_errors) << self.code.entry["slot"].offset

    def look(self, key: int) -> Expected:
        """Answer to a look-up of this cycle."""
        tag = next((tag for tag in self.tags.values() if tag.key == key), None)
        if tag is None:
            return Expected(False, 0, 0, 0, False)
        is_removed = (tag.key, tag.slot) in self.going
        self.counts["removed"] += is_removed
        self.counts["other_slot"] += not is_removed and any(key == removed_before for removed_before, _ in self.going)
        in_stash = isinstance(next(place for place, one in self.tags.items() if one is tag), int)
        self.counts["stash" if in_stash else "bank"] += 1
        return Expected(not is_removed, tag.slot, tag.code_errors.bit_count(), tag.slot_errors.bit_count(), is_removed)

    def drive(self, context) -> None:
        part, rng = self.part, self.rng
        slots = {tag.key: tag.slot for tag in self.tags.values()}
        wanted = [self.asked] if self.asked is not None else []
        going = [rng.choice((*wanted * 3, *self.keys)) for _ in range(rng.choice((0, 1, 2)))]
        self.going = [(key, slots.get(key, 0) ^ rng.choice((0, 0, 1, 1 << SLOT_BITS - 1))) for key in going]
        for k in range(2):
            key, slot = self.going[k] if k < len(self.going) else (rng.choice(self.keys), rng.getrandbits(SLOT_BITS))
            code = 1 | key << 1
            code = self.encode(code) if self.ecc else code
            context.set(part.going[k].as_value(), (
                (k < len(self.going)) | code << 1 | slot << 1 + self.code.entry["code"].width))
        for k in range(part.n_stash):
            tag = self.tags.get(k)
            stray = rng.choice(self.keys) if tag is None else 0
            entry = self.stored(tag if tag else Tag(stray, 0))
            context.set(part.entries[k].as_value(), (tag is not None) | entry << 1)
        for place, entry in enumerate(self.found):
            context.set(part.found[place].as_value(), entry)
        context.set(part.ready, rng.random() < 0.9)

    def settle(self, read) -> None:
        part = self.part
        advances = not read(part.o.valid) or read(part.o.ready)
        assert read(part.enable) == advances
        assert read(part.i.ready) == (advances and read(part.ready))
        assert read(part.o.valid) == (self.shown is not None), "an answer early, late or from nowhere"
        self.check_pulses(read)
        if self.shown is not None and read(part.o.ready):
            self.answers.append(self.shown)
        self.is_new = bool(advances)
        if advances:
            self.counts["full_rate"] += self.shown is not None and bool(self.asked)
            self.shown = self.pipeline.popleft()
            looked = None
            if self.asked is not None:
                looked = self.look(self.asked)
                for bank in range(part.banks):
                    assert read(part.address[bank]) == row(self.asked, bank)
            self.pipeline.append(looked)
            self.found = [
                self.stored(self.tags.get((way, read(part.address[way % part.banks]))))
                for way in range(part.n_candidates)
            ]
            taken = read(part.i.valid) and read(part.i.ready)
            self.asked = read(part.i.payload.as_value()) if taken else None
        # Tags move, go and come for the next cycle.
        if self.tags and self.rng.random() < 0.5:
            place = self.rng.choice(list(self.tags))
            tag = self.tags.pop(place)
            if self.rng.random() < 0.8:
                self.put(tag.key, tag.slot)
        missing = [key for key in self.keys if all(tag.key != key for tag in self.tags.values())]
        if missing and self.rng.random() < 0.1:
            self.put(self.rng.choice(missing))

    def check_pulses(self, read) -> None:
        """Errors of the tag that is shown for the first time; of a slot's errors nothing is promised."""
        shown, part = self.shown if self.is_new else None, self.part
        if shown is None:
            assert not read(part.corrected)
            assert not read(part.uncorrectable)
        elif not shown.removed:
            assert read(part.corrected) == (shown.code_errors == 1)
            assert read(part.uncorrectable) == (shown.code_errors == 2)
            self.counts["corrected"] += shown.code_errors == 1
            self.counts["uncorrectable"] += shown.code_errors == 2
            self.counts["slot_errors"] += shown.slot_errors > 0


@pytest.mark.parametrize(("seed", "banks", "ways", "stash", "ecc"), [
    (0, 1, 1, 1, False), (1, 2, 2, 3, False), (0, 2, 1, 4, True), (1, 2, 1, 4, True),
])
def test_cuckoo_lookup(seed: int, banks: int, ways: int, stash: int, ecc: bool) -> None:
    """Each answer is what the table held in the cycle after its request, four cycles later, errors or not."""
    rng = random.Random(seed)
    part = CuckooLookup(code=TagCode(slot_bits=SLOT_BITS, ecc=ecc), banks=banks, ways=ways, index_bits=INDEX_BITS,
                        stash=stash)
    table = Table(part, ways, rng)
    requests, answers = Offers(part.i, rng, lambda: rng.choice(table.keys)), Takes(part.o, rng)
    run(part, [Pace(requests, answers, rng=rng), requests, answers, table], cycles=800, rng=rng)
    found = [fields(answer_layout(SLOT_BITS), item) for item in answers.taken]
    assert len(found) == len(table.answers) > 150
    for one, wanted in zip(found, table.answers, strict=True):
        assert one["hit"] == wanted.hit
        assert one["slot"] == wanted.slot or not wanted.hit
        assert one["error"] == (wanted.hit and wanted.code_errors == 2)
    names = ["removed", "other_slot", "stash", "bank", *(["corrected", "uncorrectable", "slot_errors"] * ecc)]
    names += ["full_rate"]
    assert {name: table.counts[name] for name in names if table.counts[name] < 3} == {}
    assert sum(not one["hit"] for one in found) > 20


@pytest.mark.parametrize(("old", "new"), [
    ("removed_before[k].same & (removed_before[k].slot == slot)", "removed_before[k].same"),
    ("self.entries[j].valid & same", "same"),
    ("in_stash[j].doubt.eq(self.entries[j].valid & doubt)", "in_stash[j].doubt.eq(0)"),
    ("Mux(same.any(), same, doubt & -doubt)", "same"),
    ("self.corrected.eq(chosen & (same & wrong).any())", "self.corrected.eq(chosen & same.any())"),
    ("self.i.ready.eq(advance & self.ready)", "self.i.ready.eq(advance)"),
    ("m.d.sync += removed_before.eq(left)", "m.d.comb += removed_before.eq(left)"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A removal of another slot, or of another cycle, tags that are not there, and errors of others are found."""
    monkeypatch.setitem(globals(), "CuckooLookup", changed(CuckooLookup, old, new))
    with pytest.raises(AssertionError):
        test_cuckoo_lookup(0, 2, 1, 4, True)
