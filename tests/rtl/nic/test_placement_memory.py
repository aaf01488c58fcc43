"""Looks at where jobs are, beside a dictionary of the entries that were written."""

import random

import pytest

from rtl.interface import PlacementSignature
from rtl.nic.placement_memory import PlacementMemory
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run

ANSWER = PlacementSignature().members["answer"].signature.members["payload"].shape
QUERY = PlacementSignature().members["query"].signature.members["payload"].shape


class Writes:
    """Entries that the job table writes: each once before it says so, then any, often where somebody looks."""

    def __init__(self, part: PlacementMemory, n_units: int, rng: random.Random):
        self.part, self.n_units, self.rng = part, n_units, rng
        self.entries: dict[int, tuple[int, int]] = {}
        self.sweep = iter(range(part.n_jobs))
        self.swept = False
        self.write: tuple[int, int, int] | None = None
        self.wanted: int | None = None

    def drive(self, context) -> None:
        part, rng, job = self.part, self.rng, None
        if not self.swept:
            job = next(self.sweep, None)
            self.swept = job is None
        elif rng.random() < 0.4:
            job = rng.choice((rng.randrange(part.n_jobs), self.wanted or 0))
        self.write = None if job is None else (job, rng.randrange(self.n_units), rng.getrandbits(1))
        address, unit, held = self.write or (rng.choice((rng.randrange(part.n_jobs), self.wanted or 0)), 0, 0)
        context.set(part.swept, self.swept)
        context.set(part.write_enable, self.write is not None)
        context.set(part.write_address, address)
        context.set(part.write_data, {"unit": unit, "held": held})

    def settle(self, read) -> None:
        if self.write is not None:
            self.entries[self.write[0]] = self.write[1:]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("n_units", "n_jobs"), [(1, 4), (16, 256)])
def test_placement_memory(seed: int, n_units: int, n_jobs: int) -> None:
    """Each look finds the entry of its cycle, two cycles later; only a write of the same entry holds it up."""
    rng = random.Random(seed)
    part = PlacementMemory(n_units=n_units, n_jobs=n_jobs)
    writes = Writes(part, n_units, rng)

    def look() -> int:
        # Few jobs, so that looks and writes meet.
        return int(QUERY.const({"job_id": rng.randrange(min(n_jobs, 6)), "shared": rng.getrandbits(1)}).as_bits())

    queries, answers = Offers(part.look.query, rng, look), Takes(part.look.answer, rng)
    expected: list[tuple[int, int, int]] = []
    state = {"cycle": 0, "held_up": 0, "back_to_back": 0, "due": -1}

    def step(read) -> None:
        cycle = state["cycle"]
        writes.wanted = None if queries.offered is None else fields(QUERY, queries.offered)["job_id"]
        waits = bool(read(part.look.answer.valid)) and not read(part.look.answer.ready)
        assert read(part.look.answer.valid) == (len(expected) > len(answers.taken) and cycle >= state["due"])
        if writes.wanted is not None:
            is_written = writes.write is not None and writes.write[0] == writes.wanted
            free = writes.swept and state["due"] != cycle + 1 and not waits
            assert read(part.look.query.ready) == (free and not is_written)
            state["held_up"] += free and is_written
            if read(part.look.query.ready):
                unit, held = writes.entries[writes.wanted]
                expected.append((held, unit, cycle))
                state["back_to_back"] += state["due"] == cycle
                state["due"] = cycle + 2
        state["cycle"] = cycle + 1

    run(part, [Pace(queries, answers, rng=rng), queries, answers, writes], step=step, cycles=n_jobs + 700, rng=rng)
    found = [fields(ANSWER, item) for item in answers.taken]
    assert [(one["ok"], one["unit"]) for one in found] == [(held, unit) for held, unit, _ in expected[:len(found)]]
    assert len(expected) - len(found) in (0, 1)
    assert len(found) > 100
    assert state["held_up"] > 20
    assert state["back_to_back"] > 20


@pytest.mark.parametrize(("old", "new"), [
    (" & ~written", ""),
    ("~looking & (~seen.valid | seen.ready)", "~looking"),
    ("query.ready.eq(self.swept & ", "query.ready.eq("),
    ("seen.payload.ok.eq(memory.read_data.held)", "seen.payload.ok.eq(1)"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look beside a write, over an answer, or at a memory without contents, and a job that nobody holds are found."""
    monkeypatch.setitem(globals(), "PlacementMemory", changed(PlacementMemory, old, new))
    with pytest.raises(AssertionError):
        test_placement_memory(0, 16, 256)
