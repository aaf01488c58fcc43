"""The choice of an offload unit, beside a minimum over what the units had when it began."""

import random

import pytest

from rtl.nic.least_unit import LeastUnit
from testbench.parts.faults import changed
from testbench.parts.simulation import run


class Units:
    """Counts of jobs and levels of buffers, with many ties; assignments whenever the part lets one."""

    def __init__(self, part: LeastUnit, rng: random.Random):
        self.part, self.rng = part, rng
        self.rounds = (part.n_units - 1).bit_length()
        self.history: list[list[tuple[int, int, int]]] = []
        self.taken: list[int] = []
        self.ties = 0

    def drive(self, context) -> None:
        part, rng = self.part, self.rng
        jobs_bound = rng.choice((2, part.n_jobs + 1))
        loads = []
        for k in range(part.n_units):
            # The largest counts too: a comparison that loses the top bit takes them for the least.
            jobs = rng.choice((rng.randrange(jobs_bound), part.n_jobs))
            level = rng.choice((rng.getrandbits(1), rng.getrandbits(part.level_bits)))
            context.set(part.jobs[k], jobs)
            context.set(part.levels[k], level)
            loads.append((jobs, level, k))
        self.history.append(loads)
        self.taken.append(int(bool(context.get(part.valid)) and rng.random() < 0.2))
        context.set(part.taken, self.taken[-1])

    def settle(self, read) -> None:
        now = len(self.history) - 1
        recent = self.taken[max(0, now - self.rounds):now]
        assert read(self.part.valid) == (not any(recent)), "an answer from before an assignment"
        if now >= self.rounds:
            loads = self.history[now - self.rounds]
            assert read(self.part.unit) == min(loads)[2]
            self.ties += len({load[:2] for load in loads}) < len(loads)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("n_units", "n_jobs", "level_bits"), [(1, 1, 1), (2, 4, 3), (16, 5, 9)])
def test_least_unit(seed: int, n_units: int, n_jobs: int, level_bits: int) -> None:
    """The winner as many cycles old as there are rounds, and valid only if no job has come since."""
    part = LeastUnit(n_units=n_units, n_jobs=n_jobs, level_bits=level_bits)
    units = Units(part, random.Random(seed))
    run(part, [units], cycles=500, rng=units.rng)
    assert sum(units.taken) > 30
    assert units.ties > 25 or n_units == 1


@pytest.mark.parametrize(("old", "new"), [
    ("Cat(self.levels[k], self.jobs[k])", "Cat(self.jobs[k], self.levels[k])"),
    ("other_load < load", "other_load <= load"),
    ("stale.eq(rounds)", "stale.eq(rounds - 1)"),
    ("Cat(self.levels[k], self.jobs[k])", "Cat(self.levels[k], self.jobs[k][:-1])"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels before jobs, the last one of equals, an answer that is valid early, and a count cut short are found."""
    monkeypatch.setitem(globals(), "LeastUnit", changed(LeastUnit, old, new))
    with pytest.raises(AssertionError):
        test_least_unit(0, 16, 5, 9)
