"""Event counters: every read is exact to the cycle, its high half belongs to it, and nothing else disturbs a count."""

import random

import pytest

from firmware_models.abi.registers import EVENT_COUNTERS
from rtl.nic.event_counters import EventCounters, Events
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, pack
from testbench.parts.simulation import run

NAMES = [counter.name for counter in EVENT_COUNTERS]
N = len(NAMES)
HALF = 12
"""Bits of a half here, so that a run carries; of the counters of the NIC it has 32."""


class Bench:
    """Events for a while of all kinds, of one kind, of none; reads now and then, or as often as they may come."""

    def __init__(self, part: EventCounters, rng: random.Random):
        self.part, self.rng = part, rng
        self.cycle, self.n_walked, self.phase = 0, 0, rng.randrange(300)
        self.events = dict.fromkeys(NAMES, 0)
        self.counts = dict.fromkeys(NAMES, 0)
        """Events before this cycle."""
        self.latch, self.high, self.index = 0, 0, 0
        self.shown: tuple[int, int] | None = None
        """Value of the last read, and the cycle from which on it is there."""
        self.latched: int | None = None
        """High half of the last low half read."""
        self.mode, self.kind = "all", NAMES[0]
        self.n_compared, self.n_high, self.n_carried, self.n_quiet, self.quiet_for = 0, 0, 0, 0, 0

    def drive(self, put) -> None:
        """Events and a read."""
        rng, most = self.rng, self.part.max_events
        if self.cycle % 60 == 0:
            self.mode = rng.choice(("all", "most", "some", "rare", "none"))
        self.events = {
            "all": lambda: {name: rng.randint(0, most) for name in NAMES},
            "most": lambda: dict.fromkeys(NAMES, most),
            "some": lambda: {name: rng.randint(0, most) * (rng.random() < 0.1) for name in NAMES},
            "rare": lambda: dict.fromkeys(NAMES, 0) | ({rng.choice(NAMES): most} if rng.random() < 0.02 else {}),
            "none": lambda: dict.fromkeys(NAMES, 0),
        }[self.mode]()
        often = 1 if (self.cycle + self.phase) // 150 % 2 else 0.1
        self.latch = int(not self.latch and rng.random() < often)
        self.index, self.high = rng.randrange(N), int(self.latched is not None and rng.random() < 0.4)
        put(self.part.events.as_value(), pack(Events, self.events))
        put(self.part.latch, self.latch)
        put(self.part.index, self.index)
        put(self.part.high, self.high)

    def settle(self, read) -> None:
        """Compares the value of the last read, and notes this one."""
        if self.shown is not None and self.cycle >= self.shown[1]:
            assert read(self.part.value) == self.shown[0]
            self.n_compared += 1
        self.quiet_for = 0 if any(self.events.values()) else self.quiet_for + 1
        if self.latch:
            # Reads in the first walk show nothing that counts.
            self.shown = None
            count = self.counts[NAMES[self.index]]
            if not self.high:
                self.latched = None
            if self.n_walked > N + 3:
                self.n_quiet += self.quiet_for > N
                if not self.high:
                    self.latched = count >> HALF
                    self.n_carried += self.latched > 0
                    self.shown = count % (1 << HALF), self.cycle + 3
                elif self.latched is not None:
                    self.n_high += 1
                    self.shown = self.latched, self.cycle + 3
        self.n_walked += not self.latch
        for name, count in self.events.items():
            self.counts[name] += count
        self.cycle += 1


def observed(part: EventCounters, rng: random.Random) -> Bench:
    """A bench that has run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(part.elaborate.__globals__, "COUNT_BITS", 2 * HALF)
        bench = Bench(part, rng)
        run(part, [Inputs(bench.drive, bench.settle)], cycles=1200, rng=rng)
    return bench


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("max_events", [1, 4, 31])
def test_reads_are_exact(max_events: int, seed: int) -> None:
    bench = observed(EventCounters(max_events=max_events), random.Random(seed))
    assert bench.n_compared > 300
    assert min(bench.n_high, bench.n_quiet) > 5
    assert max_events < 31 or bench.n_carried > 50


@pytest.mark.parametrize(("old", "new"), [
    ("Mux(takes & (visited == number), 0, own)", "Mux(visited == number, 0, own)"),
    ("0, own) + arriving[counter.name]", "0, own + arriving[counter.name])"),
    ("m.d.sync += carry.eq(total[-1])", "m.d.sync += carry.eq(0)"),
    ("shows_high.eq(high)", "shows_high.eq(high & cleared & ~resting)"),
    ("shows = visited, takes, cleared, reading & ~high", "shows = visited, takes, cleared, reading"),
    ("bits_for(2 * n * self.max_events)", "bits_for(n * self.max_events)"),
    ("[resting.eq(0), stirred.eq(1)]", "stirred.eq(1)"),
    ("Mux(reading, cleared, ~resting)", "cleared | ~resting"),
], ids=["a visit that does not take", "an event beside its visit", "no carry", "a high half at rest",
        "a high half that moves on", "too few bits", "rest for ever", "the walk takes at rest"])
def test_planted(old: str, new: str) -> None:
    """An error of the counters is found."""
    def look() -> None:
        # Some need events and reads in an order that not every run has.
        for seed in range(6):
            observed(changed(EventCounters, old, new)(max_events=31), random.Random(seed))

    with pytest.raises(AssertionError):
        look()
