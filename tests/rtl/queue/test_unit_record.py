"""The rules of a sequence and the completion of a refused unit, beside a list of the unit's descriptors."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import CplKind, P2pOp, Status
from rtl.abi import DescriptorControl
from rtl.interface import CompletionEvent
from rtl.queue.unit_record import UnitRecord
from testbench.parts.faults import changed
from testbench.parts.simulation import fields, run

KEPT = ("job_id", "length", "pulse_bytes", "block_count")
"""Fields that all descriptors of a sequence share."""
FAULTS = ("c", "ch", *KEPT, "cp_count")
STATUSES = (Status.BAD_DESCRIPTOR, Status.BAD_SEQUENCE, Status.MEMORY_ERROR, Status.BAD_LENGTH, Status.JOB_CLOSED)
P2P_KINDS = {P2pOp.SEND: CplKind.SEND, P2pOp.PUT: CplKind.PUT, P2pOp.GET: CplKind.GET}


def may_follow(desc: dict[str, int], first: dict[str, int], before: dict[str, int]) -> bool:
    """True if a descriptor may stand in a sequence, behind the one `before`."""
    kept = all(max(desc[name], name == "block_count") == max(first[name], name == "block_count") for name in KEPT)
    return bool(kept and desc["c"] and not desc["ch"] and desc["cp_count"] >= before["cp_count"])


class Scheduler:
    """Units one after the other: sequences with faults in any place, and point-to-point descriptors.

    Each cycle is an action: `begin`, `advance`, `refuse` or a pause, in which the descriptor is looked at.
    """

    def __init__(self, part: UnitRecord, rng: random.Random):
        self.part, self.rng = part, rng
        self.script = self.units()
        self.inside = self.overlong = False
        self.expected: dict[str, int] | None = None
        self.desc: dict[str, int] = {}
        self.may_stand: bool | None = None
        self.counts: Counter[str] = Counter()
        self.status, self.vp, self.fault_rate = Status.OK, 0, 0.0

    def draw(self) -> dict[str, int]:
        """A descriptor of any bits, but for small numbers where equal ones matter."""
        desc = fields(DescriptorControl, self.rng.getrandbits(DescriptorControl.size))
        desc["p2p_op"] = self.rng.choice([int(op) for op in P2pOp])
        desc["block_count"] = self.rng.choice((0, 1, 2, 3, 1 << 15, (1 << 16) - 1))
        return desc

    def member(self, first: dict[str, int], before: dict[str, int]) -> dict[str, int]:
        """A descriptor for the middle of a sequence, with a fault in some."""
        desc = self.draw() | {name: first[name] for name in KEPT} | {"c": 1, "ch": 0}
        desc["cp_count"] = min((1 << 16) - 1, before["cp_count"] + self.rng.choice((0, 0, 1, 300)))
        if first["block_count"] < 2 and self.rng.random() < 0.5:
            desc["block_count"] ^= 1
        if self.rng.random() < self.fault_rate:
            name = self.rng.choice(FAULTS)
            desc[name] ^= 1 << self.rng.randrange(DescriptorControl[name].width)
            if name == "cp_count":
                desc[name] = max(0, before[name] - self.rng.choice((1, 1, 200)))
        return desc

    def units(self):
        """Yields the action of each cycle; the fields say what is to be seen in it."""
        while True:
            yield from self.unit()

    def show(self, desc: dict[str, int], may_stand: bool | None, action: str | None = None) -> str | None:
        """Shows a descriptor for a cycle, with what must be found out about it, if anything."""
        self.desc, self.may_stand = desc, may_stand
        return action

    def unit(self):
        """A unit, from its first descriptor to its end, which is always a refusal."""
        rng, depth = self.rng, self.part.sequence_depth
        first = self.draw()
        vp = rng.getrandbits(len(self.part.vp))
        if first["c"] and rng.random() < 0.7:
            first["ch"] = 1
        kind = CplKind.COLLECTIVE if first["c"] else P2P_KINDS[P2pOp(first["p2p_op"])]
        self.inside, self.fault_rate = False, rng.choice((0, 0, 0.05, 0.5))
        allowed = bool(first["ch"] or not first["c"])
        self.counts["broken_first"] += not allowed
        self.vp = vp
        for _ in range(rng.randrange(3)):
            yield self.show(first, allowed)
        yield self.show(first, allowed, "begin")
        self.overlong, self.expected = False, None
        before = first
        if rng.random() < 0.3:
            yield from self.refuse(first, first, vp, kind, index=0)
            return
        length = rng.choice((1, 2, depth - 1, depth, depth, rng.randint(1, depth)))
        for index in range(1, depth + 1):
            yield self.show(before, None, "advance")
            self.inside, self.overlong = True, index == depth
            desc = self.member(first, before)
            right = may_follow(desc, first, before) and not self.overlong
            self.counts.update(right=right, broken=not right, overlong=self.overlong)
            for _ in range(1 + rng.randrange(2)):
                yield self.show(desc, right)
            if not right or index >= length or self.overlong:
                yield from self.refuse(desc, first, vp, kind, index=index)
                return
            before = desc

    def refuse(self, desc, first, vp: int, kind: CplKind, *, index: int):
        """Refuses the unit, waits for the completion, and skips descriptors."""
        status = self.rng.choice(STATUSES)
        self.status = status
        yield self.show(desc, None, "refuse")
        yield self.show(desc, None)
        self.overlong = False
        unreadable = not index and status is Status.MEMORY_ERROR
        if not index and status in (Status.MEMORY_ERROR, Status.BAD_DESCRIPTOR):
            kind = CplKind.DESCRIPTOR
        self.expected = {"vp": vp, "status": int(status), "kind": int(kind), "detail": index} | (
            {"job_id": 0, "bytes": 0, "tag": 0} if unreadable
            else {"job_id": first["job_id"], "bytes": first["length"], "tag": first["tag"]})
        self.counts.update({f"refused_{int(bool(index))}": 1, kind.name: 1})
        n_skipped = self.rng.choice((0, 1, self.part.sequence_depth))
        for skipped in range(n_skipped):
            yield self.show(desc, None, "advance")
            self.overlong = skipped + 1 == self.part.sequence_depth
        for _ in range(self.rng.randrange(2)):
            yield self.show(desc, None)

    def drive(self, context) -> None:
        action, part = next(self.script), self.part
        context.set(part.desc, self.desc)
        context.set(part.vp, self.vp if action == "begin" else self.rng.getrandbits(len(part.vp)))
        context.set(part.inside, self.inside)
        for name in ("begin", "advance", "refuse"):
            context.set(getattr(part, name), action == name)
        context.set(part.status, int(self.status) if action == "refuse" else self.rng.randrange(16))

    def settle(self, read) -> None:
        if self.may_stand is not None:
            assert (read(self.part.broken) == 0) == self.may_stand
        if self.inside:
            assert read(self.part.overlong) == self.overlong
        if self.expected is not None:
            assert fields(CompletionEvent, read(self.part.event.as_value())) == self.expected
            self.counts["events"] += 1



@pytest.mark.parametrize(("seed", "depth"), [(0, 1), (0, 4), (1, 4), (1, 32)])
def test_unit_record(seed: int, depth: int) -> None:
    """Each rule by a descriptor that breaks it alone; each refusal shows what the first descriptor said, if it did."""
    part = UnitRecord(sequence_depth=depth)
    scheduler = Scheduler(part, random.Random(seed))
    run(part, [scheduler], cycles=2500, rng=scheduler.rng)
    counts = scheduler.counts
    names = ["overlong", "broken", "broken_first", "refused_0", "refused_1", "events", *(kind.name for kind in CplKind)]
    assert {name: counts[name] for name in names if counts[name] < 4} == {}
    assert counts["right"] > 100 or depth == 1


@pytest.mark.parametrize(("old", "new"), [
    ("desc.length != length,", "0,"),
    ("desc.cp_count < cp_count", "desc.cp_count <= cp_count"),
    (" & ~uncut)", ")"),
    ("index == self.sequence_depth - 1", "index == self.sequence_depth"),
    ("event.detail.eq(index), index.eq(0), self.overlong.eq(0)", "event.detail.eq(index), index.eq(0)"),
    ("first & unreadable", "unreadable"),
    ("self.overlong.eq(index == self.sequence_depth - 1), first.eq(0)",
     "self.overlong.eq(index == self.sequence_depth - 1)"),
    ("                cp_count.eq(desc.cp_count),\n            ]\n        # That",
     "            ]\n        # That"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is missing, too strict or off by one, and a completion that says too much or too little are found."""
    monkeypatch.setitem(globals(), "UnitRecord", changed(UnitRecord, old, new))
    with pytest.raises(AssertionError):
        test_unit_record(0, 4)
