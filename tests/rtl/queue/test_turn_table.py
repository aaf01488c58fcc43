"""Turns of the virtual ports, beside a list of those that wait and the indexes of each."""

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from firmware_models.abi import formats
from rtl.queue.records import Doorbell, DoorbellKind, TurnEnd, VpCommit, VpRecord, turn_layout
from rtl.queue.turn_table import TurnTable
from testbench.parts.faults import changed
from testbench.parts.simulation import Offers, fields, run

INDEXES = 1 << 16
TIMES = 1 << 32


@dataclass
class Port:
    """A VP as the table must know it. Indexes count for ever."""

    enable: int = 0
    base: int = 0
    log2: int = 0
    cq_log2: int = 0
    cons: int = 0
    prod: int = 0
    reserved: int = 0
    cq_cons: int = 0
    queued: bool = False
    blocked: int = 0
    crowded: int = 0
    since: int = 0


class Queues:
    """Software, which loads records and rings doorbells, and the scheduler, which serves one turn after the other."""

    def __init__(self, part: TurnTable, rng: random.Random):
        self.part, self.rng = part, rng
        self.layout = turn_layout(part.address_bits)
        self.ports = [Port() for _ in range(part.n_vps)]
        self.waiting: list[int] = []
        self.wipes = list(range(part.n_vps))
        self.commits = Offers(part.commit, rng, self.draw_commit)
        self.doorbells = Offers(part.doorbell, rng, self.draw_doorbell)
        self.commits.rate, self.doorbells.rate = 1, 0.2
        # An index of a record that is being replaced would lie anywhere in the new ring.
        self.commits.may = lambda: self.doorbells.offered is None and (
            bool(self.wipes) or rng.random() < self.commit_rate)
        self.doorbells.may = lambda: self.commits.offered is None and not self.wipes and self.rings
        self.rings, self.commit_rate, self.enable_rate = True, 0.015, 0.9
        self.cycle, self.time = -1, TIMES - 800
        self.retry_limit, self.enabled_for, self.quiet_for = 60, 0, 0
        self.enable = 1
        self.offer: dict[str, int] | None = None
        self.stale = False
        self.turn: dict[str, int] | None = None
        self.replaced = False
        self.ending = 0
        self.end: dict[str, int] | None = None
        self.order: list[int] = []
        self.offered_at: list[int] = []
        self.blocks = 0.97
        self.last_time, self.last_limit, self.was_stale, self.takes = self.time, 0, False, False
        self.counts: Counter[str] = Counter()

    def draw_commit(self) -> int:
        """A record; the first one of each VP wipes what the memories held."""
        rng = self.rng
        record = fields(VpRecord, rng.getrandbits(VpRecord.size)) | {
            "enable": rng.random() < self.enable_rate, "dq_log2": rng.choice((0, 1, 3, 5)),
            "cq_log2": rng.choice((0, 1, 3)),
        }
        # Often that of a VP whose turn is on offer, or in progress.
        served = [turn["vp"] for turn in (self.offer, self.turn) if turn is not None]
        vp = self.wipes[0] if self.wipes else rng.choice((rng.randrange(self.part.n_vps), *served))
        return int(VpCommit.const({"vp": vp, "wipe": bool(self.wipes), "keep": 0, "record": record}).as_bits())

    def draw_doorbell(self) -> int:
        """An index that software may have come to by now."""
        rng = self.rng
        vp = rng.randrange(self.part.n_vps)
        port = self.ports[vp]
        kind = rng.choice((DoorbellKind.DQ_PROD, DoorbellKind.DQ_PROD, DoorbellKind.CQ_CONS))
        if kind is DoorbellKind.DQ_PROD:
            index = rng.choice((rng.randint(port.prod, port.cons + (1 << port.log2)), port.cons + (1 << port.log2)))
        else:
            index = rng.choice((port.reserved, rng.randint(port.cq_cons, port.reserved)))
        return int(Doorbell.const({"vp": vp, "kind": kind, "index": index % INDEXES}).as_bits())

    def load(self, item: int) -> None:
        """A record has been loaded."""
        commit, first = fields(VpCommit, item), self.part.first_index
        record, vp = fields(VpRecord, commit["record"]), commit["vp"]
        if self.wipes:
            self.wipes.pop(0)
        queued = self.ports[vp].queued and not commit["wipe"]
        self.ports[vp] = Port(
            record["enable"], record["dq_base"], record["dq_log2"], record["cq_log2"], first, first, first, first,
            queued)
        if self.offer is not None and self.offer["vp"] == vp:
            self.stale = True
            self.counts["stale"] += 1
        if self.turn is not None and self.turn["vp"] == vp:
            self.replaced = True
            self.counts["replaced"] += 1

    def ring(self, item: int) -> None:
        """A doorbell has been taken."""
        bell = fields(Doorbell, item)
        port = self.ports[bell["vp"]]
        if bell["kind"] == DoorbellKind.CQ_CONS.value:
            port.cq_cons += (bell["index"] - port.cq_cons) % INDEXES
            return
        port.prod += (bell["index"] - port.prod) % INDEXES
        if not port.queued:
            port.queued = True
            self.waiting.append(bell["vp"])

    def note_end(self) -> None:
        """The turn in progress has ended."""
        vp, end = self.turn["vp"], self.end
        port = self.ports[vp]
        if not self.replaced:
            if not port.crowded:
                port.since = self.time
            port.cons += (end["cons"] - port.cons) % INDEXES
            port.reserved += end["taken"]
            port.blocked, port.crowded = end["blocked"], end["crowded"]
        port.queued = bool(port.enable and port.cons != port.prod)
        if port.queued:
            self.waiting.append(vp)
        self.turn, self.end = None, None
        self.counts["ends"] += 1

    def describe(self, vp: int, time: int) -> dict[str, int]:
        """The turn of a VP, if it begins now."""
        port, entry_bytes = self.ports[vp], formats.DESCRIPTOR.bytes
        size, used = 1 << port.cq_log2, port.reserved - port.cq_cons
        count, most = port.prod - port.cons, 1 if port.blocked else self.part.batch
        waited = (time - port.since) % TIMES
        return {
            "vp": vp, "enable": port.enable,
            "base": port.base // entry_bytes * entry_bytes % (1 << self.part.address_bits),
            "mask": (1 << port.log2) - 1, "cons": port.cons % INDEXES, "count": count, "room": size - used,
            "blocked": port.blocked,
            "expired": int(port.crowded and self.last_limit > 0 and waited >= self.last_limit),
            "serves": int(port.enable and count > 0 and used < size), "first": min(count, most),
            "whole": int(count <= most),
        }

    def serve(self) -> dict[str, int]:
        """The end of the turn in progress: a turn of a VP that was blocked is one unit long."""
        turn, rng = self.turn, self.rng
        most = min(turn["room"], turn["count"], 1 if turn["blocked"] else 3)
        # A unit that finds no room ends the turn: of a VP that was blocked nothing else is taken.
        may_take = turn["serves"] and not self.was_stale and not (turn["blocked"] and rng.random() < self.blocks)
        taken = rng.randint(0, most) if may_take else 0
        consumed = rng.randint(taken, turn["count"]) if taken else 0
        may_block = turn["enable"] and turn["count"] > 0 and not (turn["blocked"] and taken)
        blocked = may_block and rng.random() < self.blocks
        crowded = blocked and turn["serves"] and rng.random() < max(0.5, self.blocks)
        if blocked:
            # The unit that could not be taken is still there.
            taken = min(taken, turn["count"] - 1)
            consumed = min(consumed, turn["count"] - 1) if taken else 0
        return {"vp": turn["vp"], "cons": (turn["cons"] + consumed) % INDEXES, "taken": taken,
                "blocked": int(blocked), "crowded": int(crowded)}

    def drive(self, context) -> None:
        part, rng = self.part, self.rng
        self.cycle += 1
        self.last_time, self.last_limit = self.time, self.retry_limit
        self.time = (self.time + 1) % TIMES
        if rng.random() < 0.01:
            self.retry_limit = rng.choice((0, 10, 60))
        if rng.random() < 0.008:
            self.blocks = rng.choice((0.1, 0.97, 0.97)) if self.blocks else 0
        if rng.random() < 0.01 and self.rings:
            self.enable = rng.random() < 0.8
        self.enabled_for = max(0, self.enabled_for) + 1 if self.enable else min(0, self.enabled_for) - 1
        self.follow(context)
        context.set(part.enable, self.enable)
        context.set(part.cycles, self.time)
        context.set(part.retry_limit, self.retry_limit)
        self.commits.drive(context)
        self.doorbells.drive(context)
        # An offer is often taken while its record is being replaced.
        commit = fields(VpCommit, self.commits.offered or 0)
        is_old = self.commits.offered is not None and self.offer is not None and commit["vp"] == self.offer["vp"]
        self.takes = self.turn is None and rng.random() < (0.25 if is_old else 0.4)
        context.set(part.turn.offer.ready, self.takes)
        if self.turn is not None and self.end is None:
            self.ending -= 1
            if self.ending <= 0:
                self.end = self.serve()
        context.set(part.turn.end.valid, self.end is not None)
        context.set(part.turn.end.payload, self.end or fields(TurnEnd, rng.getrandbits(TurnEnd.size)))

    def follow(self, context) -> None:
        """Compares the turn on offer with the one whose turn it is."""
        turn = self.part.turn
        shown = fields(self.layout, int(context.get(turn.offer.payload.as_value())))
        if not context.get(turn.offer.valid):
            assert self.offer is None, "an offer was taken back"
            self.quiet_for = self.quiet_for + 1 if self.waiting and self.enabled_for > 0 and not self.wipes else 0
            assert self.quiet_for < self.part.retry_cycles + 20, "nobody's turn comes"
        elif self.offer is None:
            assert self.waiting, "a turn of a VP that waits for none"
            assert self.enabled_for > -3, "a turn begins though none may"
            vp = self.waiting.pop(0)
            self.offer, self.stale, self.quiet_for = self.describe(vp, self.last_time), False, 0
            assert shown == self.offer
            self.order.append(vp)
            self.offered_at.append(self.cycle)
            self.counts.update(name for name in ("expired", "blocked", "serves") if shown[name])
            self.counts.update(no_room=shown["room"] == 0, whole=not shown["whole"], disabled=not shown["enable"])
        else:
            assert shown == self.offer, "an offer was changed"
        if self.offer is not None:
            assert context.get(turn.stale) == self.stale

    def settle(self, read) -> None:
        part = self.part
        assert read(part.busy) == (self.turn is not None or self.offer is not None or bool(self.waiting))
        ports = (part.commit, part.turn.end, part.doorbell)
        actions = [read(port.valid) and read(port.ready) for port in ports]
        assert sum(actions) <= 1
        if self.offer is not None and self.takes:
            self.turn, self.replaced, self.was_stale = self.offer, self.stale, self.stale
            self.offer, self.ending = None, self.rng.choice((1, 2, 8, 20))
        if actions[0]:
            self.load(self.commits.offered)
        elif actions[1]:
            self.note_end()
        elif actions[2]:
            self.ring(self.doorbells.offered)
        self.commits.settle(read)
        self.doorbells.settle(read)


@pytest.mark.parametrize(("seed", "n_vps", "first_index", "address_bits", "batch"), [
    (0, 2, 0, 64, 8), (0, 8, INDEXES - 20, 40, 2), (1, 8, INDEXES - 20, 40, 2), (1, 16, INDEXES - 3, 32, 4),
])
def test_turn_table(seed: int, n_vps: int, first_index: int, address_bits: int, batch: int) -> None:
    """Turns in their order, each as its VP stood when it began, through records that change under them."""
    part = TurnTable(n_vps=n_vps, retry_cycles=12, first_index=first_index, address_bits=address_bits, batch=batch)
    queues = Queues(part, random.Random(seed))
    run(part, [queues], cycles=3000, rng=queues.rng)
    names = ["ends", "serves", "blocked", "expired", "no_room", "whole", "disabled", "stale", "replaced"]
    assert {name: queues.counts[name] for name in names if queues.counts[name] < 3} == {}
    assert queues.counts["ends"] > 70


def test_a_doorbell_begins_a_turn() -> None:
    """If nobody waits a turn is valid two cycles after its doorbell."""
    queues = Queues(part := TurnTable(n_vps=4), random.Random(1))
    queues.commit_rate, queues.doorbells.rate = 0, 0.05
    queues.serve = lambda: {  # type: ignore[method-assign]
        "vp": queues.turn["vp"], "cons": (queues.turn["cons"] + queues.turn["count"]) % INDEXES, "taken": 0,
        "blocked": 0, "crowded": 0}
    begun: list[int] = []

    def step(read) -> None:
        idle = queues.offer is None and queues.turn is None and not queues.waiting
        bell = fields(Doorbell, queues.doorbells.offered or 0)
        if idle and queues.doorbells.offered is not None and bell["kind"] == DoorbellKind.DQ_PROD.value:
            begun.append(queues.cycle)

    run(part, [queues], step=step, cycles=2000, rng=queues.rng)
    # A doorbell is on offer for two cycles: the first of each two counts.
    first = [cycle for cycle in begun if cycle - 1 not in begun]
    in_time = [cycle for cycle in first if cycle + 2 in queues.offered_at]
    assert len(first) > 15
    assert len(first) - len(in_time) <= len(first) // 4


@pytest.mark.parametrize("n_vps", [2, 4])
def test_turns_pause(n_vps: int) -> None:
    """VPs of which none can be served are tried once in a pause each; a doorbell ends the pause."""
    retry_cycles = 100
    part = TurnTable(n_vps=n_vps, retry_cycles=retry_cycles)
    queues = Queues(part, random.Random(2))
    queues.commit_rate, queues.enable_rate, queues.doorbells.rate = 0, 1, 0.5
    since = {"blocked": 0, "rung": 0}

    class Phases:
        """Work for everybody at first; then nothing can be taken, and nobody rings, until the end of a long time."""

        def drive(self, context) -> None:
            now = queues.cycle + 1
            if not since["blocked"] and now > 300 and all(port.queued and port.enable for port in queues.ports):
                since["blocked"] = now
                queues.rings, queues.enable = False, 1
                queues.serve = lambda: {
                    "vp": queues.turn["vp"], "cons": queues.turn["cons"], "taken": 0, "blocked": 1, "crowded": 0}
            is_late = since["blocked"] and now > since["blocked"] + 15 * retry_cycles and not since["rung"]
            # In the midst of a pause: nothing has been on offer for some time.
            if is_late and queues.turn is None and queues.offer is None and now > queues.offered_at[-1] + 40:
                queues.rings, queues.doorbells.rate = True, 1
            if queues.rings and since["blocked"] and queues.doorbells.offered is not None:
                since["rung"], queues.rings = now, False

        def settle(self, read) -> None:
            pass

    run(part, [Phases(), queues], cycles=2400, rng=queues.rng)
    times = list(zip(queues.order, queues.offered_at, strict=True))
    assert 300 < since["blocked"] < 600
    begin = since["blocked"] + 2 * retry_cycles
    turns = Counter(vp for vp, cycle in times if begin <= cycle < begin + 12 * retry_cycles)
    assert len(turns) == n_vps
    assert all(6 <= n_turns <= 13 for n_turns in turns.values())
    assert not [cycle for _, cycle in times if since["rung"] - 10 <= cycle <= since["rung"]], "no pause to be ended"
    assert [cycle for _, cycle in times if since["rung"] < cycle <= since["rung"] + 8]


@pytest.mark.parametrize(("old", "new"), [
    ("pause.streak.eq(0), pause.left.eq(self.retry_cycles)", "pause.streak.eq(0), pause.left.eq(1)"),
    ("pause.streak >= n_waiting", "pause.streak > n_waiting + 20"),
    ("m.d.sync += [pause.streak.eq(0), pause.pausing.eq(0)]", "m.d.sync += pause.streak.eq(0)"),
])
def test_planted_pauses(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without a pause, and a doorbell that does not end one, are found."""
    monkeypatch.setitem(globals(), "TurnTable", changed(TurnTable, old, new))
    with pytest.raises(AssertionError):
        test_turns_pause(4)


@pytest.mark.parametrize(("old", "new"), [
    (" | waiting.o.valid | describing)", " | waiting.o.valid)"),
    ("looked_at.eq(waiting.o.payload)", "looked_at.eq(turn.payload.vp)"),
    ("state.data.since.eq(Mux(before.crowded, before.since, self.cycles))", "state.data.since.eq(self.cycles)"),
    ("may_wait & (left_at != ", "may_wait & (end.payload.cons != "),
    ("state.en.eq(~replaced)", "state.en.eq(1)"),
    ("queued.en.eq(1), queued.data.eq(waiting.i.valid)", "queued.en.eq(1), queued.data.eq(0)"),
    ("replaced.eq(hit)", "replaced.eq(stale)"),
    ("now.room.eq(Mux(used < size, size - used, 0))", "now.room.eq(size)"),
    ("records[\"queued\"].write.en.eq(self.commit.payload.wipe)", "records[\"queued\"].write.en.eq(1)"),
    ("waited >= self.retry_limit", "self.cycles >= state.since + self.retry_limit"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn of another VP, a wait that begins anew, a record that is gone, and a VP that waits twice are found."""
    monkeypatch.setitem(globals(), "TurnTable", changed(TurnTable, old, new))
    with pytest.raises(AssertionError):
        test_turn_table(0, 8, INDEXES - 20, 40, 2)
