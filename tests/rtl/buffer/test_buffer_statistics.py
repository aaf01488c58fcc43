"""Figures of a packet buffer, beside sums of everything that was fed in."""

import random

import pytest

from rtl.buffer.buffer_statistics import BUFFER_SUMS, BufferStatistics
from testbench.parts.faults import changed
from testbench.parts.simulation import run

CYCLES = 600
QUIET = 4
"""Last cycles, without events, after which the sums are exact."""


class Events:
    """Random events, more and larger ones from phase to phase, and none at the end; figures beside them."""

    def __init__(self, part: BufferStatistics, rng: random.Random):
        self.part, self.rng, self.cycle = part, rng, 0
        self.history: list[dict[str, int]] = []
        self.most_steps: list[int] = [0]

    def drive(self, context) -> None:
        part, rng = self.part, self.rng
        # Peaks rise in steps, so that a maximum is more than what came last.
        bits = 1 + 11 * self.cycle // CYCLES
        quiet = self.cycle >= CYCLES - QUIET
        values = {
            "level": rng.getrandbits(len(part.level)), "peak": rng.getrandbits(len(part.peak)),
            "unlent": rng.getrandbits(len(part.unlent)), "stash": rng.getrandbits(min(bits, len(part.stash))),
            "settled": rng.random() < 0.3, "steps": rng.getrandbits(bits), "suspended": rng.getrandbits(1),
            "corrected": rng.getrandbits(3), "uncorrectable": rng.getrandbits(3),
        }
        if quiet:
            values |= {**dict.fromkeys(("level", "settled", "suspended", "corrected", "uncorrectable"), 0)}
        for name, value in values.items():
            context.set(getattr(part, name), value)
        self.history.append({name: int(value) for name, value in values.items()})
        self.cycle += 1

    def settle(self, read) -> None:
        o, past = self.part.o, self.history[:-1]
        if not past:
            return
        for name in ("level", "peak", "unlent", "stash"):
            assert read(getattr(o, name)) == past[-1][name], name
        assert read(o.stash_peak) in {max((one["stash"] for one in past[:end]), default=0) for end in (None, -1)}
        most = [max((one["steps"] for one in past[:end] if one["settled"]), default=0) for end in (None, -1)]
        assert read(o.steps_max) in most
        for name in BUFFER_SUMS:
            assert read(getattr(o, name)) in (self.total(name, None), self.total(name, -1)), name

    def total(self, name: str, end: int | None) -> int:
        """Sum of an event over the past."""
        past = self.history[:-1][:end]
        if name == "level_sum":
            return sum(one["level"] for one in past)
        if name == "steps_sum":
            return sum(one["steps"] for one in past if one["settled"])
        return sum(one[name] for one in past)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("level_bits", [1, 11])
def test_statistics(seed: int, level_bits: int) -> None:
    """Every figure in every cycle, a cycle or two late, and exact at the end."""
    part = BufferStatistics(level_bits=level_bits)
    events = Events(part, random.Random(seed))
    last: dict[str, int] = {}

    def step(read) -> None:
        last.update({name: read(getattr(part.o, name)) for name in BUFFER_SUMS})

    run(part, [events], step=step, cycles=CYCLES, rng=random.Random(seed))
    assert last == {name: events.total(name, None) for name in BUFFER_SUMS}
    assert last["settled"] > 100
    assert all(last[name] > 200 for name in BUFFER_SUMS if name != "settled")
    assert sum(one["steps"] > 1 << 9 for one in events.history) > 50


@pytest.mark.parametrize(("old", "new"), [
    ("Mux(self.settled, self.steps, 0)", "self.steps"),
    ("self.stash > o.stash_peak", "self.stash[:4] > o.stash_peak"),
    ("added = Signal(len(value), ", "added = Signal(min(2, len(value)), "),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of no tag, a peak of the low bits, and a sum that loses the high ones are found."""
    monkeypatch.setitem(globals(), "BufferStatistics", changed(BufferStatistics, old, new))
    with pytest.raises(AssertionError):
        test_statistics(0, 11)
