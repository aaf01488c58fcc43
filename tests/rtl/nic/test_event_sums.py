"""Sums of pulses: each kind by itself, a cycle late."""

import random

import pytest

from rtl.nic.event_counters import Events
from rtl.nic.event_sums import EventSums
from testbench.parts.faults import changed
from testbench.parts.simulation import fields, run

SOURCES = {"tx_packets": 2, "descriptors": 1, "rx_unknown": 5, "loans_granted": 16, "tx_lost": 0}


def check(part: EventSums, rng: random.Random) -> None:
    """Runs any pulses."""
    before: dict[str, int] = {}
    seen = set()

    def step(read) -> None:
        nonlocal before
        events = fields(Events, read(part.events.as_value()))
        assert {name: count for name, count in events.items() if count} == {
            name: count for name, count in before.items() if count
        }
        seen.add(events["loans_granted"])
        pulses = fields(part.pulses.shape(), read(part.pulses.as_value()))
        before = {name: bits.bit_count() for name, bits in pulses.items()}

    run(part, [], step=step, levels=(part.pulses.as_value(),), rng=rng, cycles=400)
    assert len(seen) > 8


@pytest.mark.parametrize("seed", range(2))
def test_sums(seed: int) -> None:
    check(EventSums(SOURCES), random.Random(seed))


@pytest.mark.parametrize(("old", "new"), [
    ("sum(self.pulses[name])", "self.pulses[name].any()"), ("sum(self.pulses[name])", "sum(self.pulses[name][:15])"),
    ("m.d.sync +=", "m.d.comb +="),
])
def test_planted(old: str, new: str) -> None:
    """An error of the sums is found."""
    with pytest.raises(AssertionError):
        check(changed(EventSums, old, new)(SOURCES), random.Random(1))


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(("sources", "message"), [
    ({"nothing": 1}, "sources must be kinds of events, not 'nothing'"),
    ({"tx_packets": 32}, r"sources\['tx_packets'\] must be 0 to 31, not 32"),
    ({"tx_packets": -1}, r"sources\['tx_packets'\] must be 0 to 31, not -1"),
])
def test_sources_are_checked(sources: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        EventSums(sources)
