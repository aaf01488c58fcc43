"""Entries of the rings that the NIC writes, beside the rings as software sees them."""

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from rtl.interface import ReceiveSlotSignature
from rtl.queue.records import VpCommit, VpRecord
from rtl.queue.ring_slots import RingSlots
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run

INDEXES = 1 << 16
ANSWER = ReceiveSlotSignature().members["answer"].signature.members["payload"].shape
QUERY = ReceiveSlotSignature().members["query"].signature.members["payload"].shape


@dataclass
class Ring:
    """A ring: its entries are numbered for ever, `written` and `read` count them."""

    base: int
    log2: int
    written: int
    read: int


class Software:
    """Loads records, reads entries, and knows which entry comes next."""

    def __init__(self, part: RingSlots, rng: random.Random):
        self.part, self.rng = part, rng
        self.rings: dict[int, Ring] = {}
        self.counts: Counter[str] = Counter()

    def vp(self) -> int:
        """A VP, or one that this build has not, whose number ends as that of one which it has."""
        vp = self.rng.randrange(self.part.n_vps)
        return vp if self.rng.random() < 0.6 else (vp + self.part.n_vps * self.rng.randrange(1 << 11)) % (1 << 11)

    def draw_commit(self) -> int:
        """A record, of a small ring or of a large one that lies anywhere."""
        record = fields(VpRecord, self.rng.getrandbits(VpRecord.size))
        record |= {"enable": self.rng.random() < 0.8, f"{self.part.ring}_log2": self.rng.choice((0, 1, 2, 3, 3, 15))}
        vp = self.rng.randrange(self.part.n_vps)
        return int(VpCommit.const({"vp": vp, "wipe": 0, "keep": self.rng.getrandbits(1), "record": record}).as_bits())

    def load(self, item: int) -> None:
        """Notes a record that has been loaded."""
        commit = fields(VpCommit, item)
        record, ring = fields(VpRecord, commit["record"]), self.part.ring
        self.rings.pop(commit["vp"], None)
        if record["enable"]:
            first = self.part.first_index
            self.rings[commit["vp"]] = Ring(record[f"{ring}_base"], record[f"{ring}_log2"], first, first)

    def draw_read(self) -> int:
        """An index up to which software has read: one that can be."""
        vp = self.vp()
        ring = self.rings.get(vp)
        index = self.rng.randint(ring.read, ring.written) if ring else self.rng.randrange(INDEXES)
        shape = self.part.cons.payload.shape()
        return int(shape.const({"vp": vp, "index": index % INDEXES}).as_bits())

    def note_read(self, item: int) -> None:
        """Notes that index."""
        shown = fields(self.part.cons.payload.shape(), item)
        ring = self.rings.get(shown["vp"])
        if ring:
            ring.read += (shown["index"] - ring.read) % INDEXES

    def answer(self, vp: int) -> tuple[int, ...]:
        """Takes the next entry of a ring: `ok`, and where it is and its phase."""
        ring = self.rings.get(vp)
        if ring is None:
            self.counts["disabled" if vp < self.part.n_vps else "unknown"] += 1
            return (0,)
        size = 1 << ring.log2
        if self.part.check_room and ring.written - ring.read == size:
            self.counts.update(full=1, full_past_wrap=ring.read < INDEXES <= ring.written)
            return (0,)
        entry_bytes, space = self.part.entry_bytes, 1 << self.part.address_bits
        base = ring.base // entry_bytes * entry_bytes
        lap, offset = divmod(ring.written % INDEXES, size)
        ring.written += 1
        self.counts["wrapped"] += ring.written == INDEXES
        self.counts["laps"] += offset == size - 1
        return 1, (base + offset * entry_bytes) % space, 1 - lap % 2


@pytest.mark.parametrize(("seed", "n_vps", "ring", "entry_bytes", "check_room", "first_index", "address_bits"), [
    (0, 2, "rq", 16, True, 0, 64), (0, 4, "rq", 32, True, INDEXES - 3, 40), (1, 4, "rq", 32, True, INDEXES - 3, 40),
    (1, 8, "cq", 1, False, INDEXES - 3, 32), (0, 2048, "cq", 64, False, 0, 64),
])
def test_ring_slots(
    seed: int, n_vps: int, ring: str, entry_bytes: int, check_room: bool, first_index: int, address_bits: int,
) -> None:
    """Every entry once and in order, four cycles after its query, none of a full ring and none of a VP without one."""
    rng = random.Random(seed)
    part = RingSlots(n_vps=n_vps, ring=ring, entry_bytes=entry_bytes, check_room=check_room, first_index=first_index,
                     address_bits=address_bits)
    software = Software(part, rng)
    commits = Offers(part.commit, rng, software.draw_commit)
    queries = Offers(part.slot.query, rng, lambda: int(QUERY.const({"vp": choose()}).as_bits()))
    answers = Takes(part.slot.answer, rng)
    reads = [Offers(part.cons, rng, software.draw_read)] if check_room else []
    # Either a record or an index is on the way: an index of a ring that is gone would lie ahead of the new one.
    commits.may = lambda: not any(port.offered is not None for port in reads)
    for port in reads:
        port.may = lambda: commits.offered is None
    expected: list[tuple[int, ...]] = []
    state = {"cycle": 0, "due": -1}

    def choose() -> int:
        # Of many VPs few are asked for, most of them after their record has come.
        return rng.choice(list(software.rings)) if software.rings and rng.random() < 0.8 else software.vp()

    def step(read) -> None:
        cycle = state["cycle"]
        assert read(part.slot.answer.valid) == (state["due"] >= 0 and cycle >= state["due"])
        if read(part.slot.answer.valid):
            one = fields(ANSWER, read(part.slot.answer.payload.as_value()))
            assert ((1, one["addr"], one["phase"]) if one["ok"] else (0,)) == expected[len(answers.taken)]
            state["due"] = -1 if read(part.slot.answer.ready) else state["due"]
            software.counts["ok"] += one["ok"]
        if commits.offered is not None and read(part.commit.ready):
            software.load(commits.offered)
        for port in reads:
            if port.offered is not None and read(port.port.ready):
                software.note_read(port.offered)
        if queries.offered is not None and read(part.slot.query.ready):
            expected.append(software.answer(fields(QUERY, queries.offered)["vp"]))
            state["due"] = cycle + 4
        state["cycle"] = cycle + 1

    pace = Pace(queries, answers, *reads, rng=rng, cycles=20)
    commits.rate = 0.02
    run(part, [pace, commits, *reads, queries, answers], step=step, cycles=2500, rng=rng)
    assert len(expected) - len(answers.taken) <= 1
    conditions = {"unknown": n_vps < 2048, "full": check_room, "wrapped": first_index > 0,
                  "full_past_wrap": check_room and first_index > 0}
    wanted = ["ok", "disabled", "laps", *(name for name, holds in conditions.items() if holds)]
    assert {name: software.counts[name] for name in wanted if software.counts[name] < 4} == {}
    assert len(commits.taken) > 10


@pytest.mark.parametrize(("old", "new"), [
    ("used >= size", "used > size"),
    ("used = (index - read_up_to)[:INDEX_BITS]", "used = index - read_up_to"),
    ("(base + offset)[:base_bits]", "base | offset"),
    ("answer.ok.eq(ring_look.data.enable & known)", "answer.ok.eq(ring_look.data.enable)"),
    ("prod_store.en.eq(answer.ok & ~full)", "prod_store.en.eq(answer.ok)"),
    ("cons_store.eq(known)", "cons_store.eq(1)"),
    ("Mux(self.cons.ready, self.cons.payload.index, self.first_index)", "self.cons.payload.index"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room that is off by one or past the wrap, an address without a carry, and an index that moves alone are found."""
    monkeypatch.setitem(globals(), "RingSlots", changed(RingSlots, old, new))
    with pytest.raises(AssertionError):
        test_ring_slots(0, 4, "rq", 32, True, INDEXES - 3, 40)
