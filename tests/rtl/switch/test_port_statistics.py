"""Counters of a switch's ports: each answer is the sum of the events before it, and comes within a walk and a bit."""

import random

import pytest

from firmware_models.abi.registers import SWITCH_COUNTERS
from rtl.link.link_layer import LINK_EVENTS
from rtl.switch.port_statistics import EVENT_BITS, PortStatistics
from testbench.parts.faults import changed
from testbench.parts.simulation import run

NAMES = [counter.name for counter in SWITCH_COUNTERS]


@pytest.mark.parametrize(("n_ports", "cycles", "reliable"), [(2, 1500, False), (5, 1500, False), (3, 1500, True)])
@pytest.mark.parametrize("seed", range(2))
def test_counters(n_ports: int, cycles: int, reliable: bool, seed: int) -> None:
    """Bursts and silence in turns, so that the walk comes to rest, and questions in both."""
    rng, part = random.Random(seed), PortStatistics(n_ports=n_ports, reliable=reliable)
    walk = n_ports << part.read.counter.shape().width
    totals = [[0] * len(NAMES) for _ in range(n_ports)]
    asked: tuple[int, int] | None = None
    wait, busy, answers, silent, counted, rested = 0, False, 0, 0, 0, 0
    before = totals

    class Events:
        def drive(self, context) -> None:
            nonlocal asked, busy, wait, before, silent
            if rng.random() < 0.007:
                busy = not busy
            silent = 0 if busy else silent + 1
            # The answer is the sum of the cycles before it.
            before = [list(counts) for counts in totals]
            for port, counts in enumerate(totals):
                events = [rng.getrandbits(EVENT_BITS) if busy and rng.random() < 0.5 else 0 for _ in NAMES]
                if reliable:
                    # Of a link pulses come, of packets that it has lost a bit for each direction.
                    pulses = {name: int(events[NAMES.index(f"link_{name}")] == 1) for name in LINK_EVENTS}
                    lost = events[NAMES.index("link_lost")]
                    context.set(part.links[port], {**pulses, "lost": lost})
                    for name, pulse in {**pulses, "lost": lost.bit_count()}.items():
                        events[NAMES.index(f"link_{name}")] = pulse
                shown = {name: 0 if reliable and name.startswith("link_") else event
                         for name, event in zip(NAMES, events, strict=True)}
                context.set(part.events[port], shown)
                counts[:] = [count + event for count, event in zip(counts, events, strict=True)]
            if asked is None and rng.random() < 0.05:
                asked, wait = (rng.randrange(n_ports), rng.randrange(len(NAMES))), 0
            context.set(part.read.ask, asked is not None)
            port, counter = asked or (rng.randrange(n_ports), rng.randrange(len(NAMES)))
            context.set(part.port, port)
            context.set(part.read.counter, counter)

        def settle(self, read) -> None:
            nonlocal asked, wait, answers, counted, rested
            wait += 1
            answered = read(part.read.answered)
            assert asked or not answered, "an answer to no question"
            if answered:
                port, counter = asked
                # Events of the last two cycles are on their way to the memory.
                assert read(part.read.value) == recent[0][port][counter]
                rested += silent > walk
                answers, counted, asked = answers + 1, counted + (read(part.read.value) > 0), None
            assert asked is None or wait < walk + 4
            recent[:] = [recent[1], before]

    recent = [before, before]
    run(part, [Events()], cycles=cycles, rng=rng)
    assert answers > 10
    assert counted > 8
    assert rested > 0


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("Mux(visited, 0, own) + events[counter.name]", "Mux(visited, 0, own + events[counter.name])",
                 id="events-of-a-visit"),
    pytest.param(".any() | self.read.ask)", ".any())", id="a-question-does-not-wake-it"),
    pytest.param("Mux(old, read.data, 0) + added", "read.data + added - Mux(old, 0, 1)", id="memory-not-cleared"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PortStatistics", changed(PortStatistics, old, new))
    with pytest.raises(AssertionError):
        test_counters(2, 1500, False, 1)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("link.lost[0] + link.lost[1]", "link.lost.any()", id="one-of-two-lost"),
    pytest.param("happens.eq(self.events[port]), ", "", id="links-alone"),
])
def test_planted_in_links(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PortStatistics", changed(PortStatistics, old, new))
    with pytest.raises(AssertionError):
        test_counters(3, 1500, True, 1)
