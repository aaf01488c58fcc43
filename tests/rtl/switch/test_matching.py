"""Matching of a switch's inputs and outputs: what may start does, nothing else, and everybody has a turn."""

import random
from collections import Counter
from typing import Any

import pytest

from rtl.switch.matching import Matching
from rtl.switch.sizes import SwitchSizes
from testbench.parts.faults import changed
from testbench.parts.simulation import run
from testbench.unit_config import UNIT

RADIX = 4


def sizes(iterations: int) -> SwitchSizes:
    """Of a small switch; as many iterations as ports find a matching to which nothing can be added."""
    return SwitchSizes(config=UNIT.changed(switch={"radix": RADIX, "match_iterations": iterations}))


def bits(value: int) -> set[int]:
    """Numbers of the bits that are set."""
    return {place for place in range(value.bit_length()) if value >> place & 1}


class Input:
    """One input: the packet that it sends, and those that wait, as its candidate shows them."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.holds, self.flits, self.at_last, self.ending = 0, 0, False, False
        self.waiting = self.waiting_short = self.mc_ports = self.mc_short = self.mc_complete = 0
        self.served = 0

    def draw(self) -> None:
        """Moves on by a cycle."""
        rng = self.rng
        if rng.random() < 0.1:
            self.waiting, self.waiting_short = rng.getrandbits(RADIX) & rng.getrandbits(RADIX), rng.getrandbits(RADIX)
        if not self.mc_ports and rng.random() < 0.1:
            self.mc_ports, self.mc_short, self.mc_complete = rng.getrandbits(RADIX), rng.getrandbits(1), 0
        self.mc_complete |= rng.random() < 0.2
        self.at_last = bool(self.holds) and self.flits == 1 and (self.at_last or rng.random() < 0.8)
        self.ending = self.at_last and rng.random() < 0.7

    def show(self, context: Any, port: Any) -> None:
        for name in ("waiting", "waiting_short", "mc_ports", "mc_short", "mc_complete", "holds", "at_last", "ending"):
            context.set(getattr(port, name), getattr(self, name))
        context.set(port.busy, self.holds != 0)
        context.set(port.keeps, 0 if self.at_last else self.holds)
        context.set(port.kept, self.kept)

    @property
    def kept(self) -> int:
        """Outputs that the packet in progress keeps beyond this cycle."""
        return 0 if self.ending else self.holds

    def move(self, start: int, start_mc: int) -> None:
        """The flit of this cycle leaves, and packets start."""
        if self.ending:
            self.holds = 0
        elif self.flits > 1 and self.rng.random() < 0.8:
            self.flits -= 1
        if start | start_mc:
            self.holds = self.served = start | start_mc
            self.flits, self.at_last = self.rng.randint(1, 5), False
            self.mc_ports &= ~start_mc


@pytest.mark.parametrize("iterations", [1, RADIX])
@pytest.mark.parametrize("seed", range(2))
def test_random(iterations: int, seed: int) -> None:
    """Starts of packets that wait, at outputs that are free and have room, each output for one of them."""
    rng, part = random.Random(seed), Matching(sizes=sizes(iterations))
    inputs = [Input(rng) for _ in range(RADIX)]
    room = room_short = stalled = 0
    counts: Counter[str] = Counter()

    class Ports:
        def drive(self, context) -> None:
            nonlocal room, room_short
            if rng.random() < 0.2:
                room = rng.getrandbits(RADIX) | rng.getrandbits(RADIX)
                room_short = room | rng.getrandbits(RADIX)
            context.set(part.room, room)
            context.set(part.room_short, room_short)
            for one, port in zip(inputs, part.candidate, strict=True):
                one.draw()
                one.show(context, port)

        def settle(self, read) -> None:
            nonlocal stalled
            assert read(part.stalled) == stalled
            # A port is stalled if nobody sends to it and a packet waits that it has no credits for.
            stalled = sum(1 << j for j in range(RADIX) if not room >> j & 1 and not any(
                one.holds >> j & 1 for one in inputs) and any(
                (one.waiting >> j & 1 and not (one.waiting_short & room_short) >> j & 1)
                or (one.mc_ports >> j & 1 and not (one.mc_short and room_short >> j & 1)) for one in inputs))
            counts["stalled"] += stalled > 0
            starts = [(read(port.start), read(port.start_mc)) for port in part.candidate]
            taken = [j for one in inputs for j in bits(one.kept)]
            for one, (start, start_mc) in zip(inputs, starts, strict=True):
                assert not start or not start_mc
                assert len(bits(start)) <= 1
                assert not (start | start_mc) or not one.holds or one.ending
                assert start & ~(one.waiting & (room | one.waiting_short & room_short)) == 0
                assert start_mc & ~(one.mc_ports & (room | (room_short if one.mc_short else 0))) == 0
                assert one.mc_complete or start_mc in (0, one.mc_ports)
                taken += [*bits(start | start_mc)]
                counts["single"] += start > 0
                counts["copies"] += start_mc > 0
                counts["some copies"] += start_mc not in (0, one.mc_ports)
                counts["after another"] += one.ending and bool(start | start_mc)
            assert len(taken) == len(set(taken)), "two packets for one output"
            # If all last flits leave, nothing is left that could start, but what an input may have had enough of.
            if iterations == RADIX and all(one.ending == one.at_last for one in inputs):
                for one, (start, start_mc) in zip(inputs, starts, strict=True):
                    able = one.waiting & (room | one.waiting_short & room_short) & ~one.served
                    free = (not one.holds or one.ending) and not start | start_mc
                    # Copies of a multicast that is not complete may be matched and not start.
                    incomplete = any(other.mc_ports and not other.mc_complete for other in inputs)
                    if free and not one.mc_ports and not incomplete:
                        assert not bits(able) - set(taken), "a packet could have started"
                        counts["checked"] += able > 0
            for one, (start, start_mc) in zip(inputs, starts, strict=True):
                one.move(start, start_mc)

    run(part, [Ports()], cycles=400, rng=rng)
    assert min(counts[case] for case in ("single", "copies", "some copies", "after another", "stalled")) > 20, counts
    assert iterations == 1 or counts["checked"] > 10, counts


def starts_of(
    waiting: list[int], *, cycles: int, mc_ports: int = 0, held: int = 0, iterations: int = 1,
) -> list[list[int]]:
    """Outputs that each input starts packets for in each cycle, ever the same ones waiting and each packet a flit long.

    Outputs in `held` are kept by the last input. A multicast, of the first input, has `mc_ports` and is counted as
    those shifted left.
    """
    part, found = Matching(sizes=sizes(iterations)), []

    class Ports:
        def drive(self, context) -> None:
            context.set(part.room, -1)
            for wanted, port in zip(waiting, part.candidate, strict=True):
                context.set(port.waiting, wanted)
            context.set(part.candidate[0].mc_ports, mc_ports)
            context.set(part.candidate[0].mc_complete, 1)
            if held:
                for name in ("busy", "holds", "keeps", "kept"):
                    context.set(getattr(part.candidate[-1], name), 1 if name == "busy" else held)

        def settle(self, read) -> None:
            found.append([read(port.start) | read(port.start_mc) << RADIX for port in part.candidate])

    run(part, [Ports()], cycles=cycles, rng=random.Random(0))
    return found


@pytest.mark.parametrize("iterations", [1, 2])
def test_all_want_all(iterations: int) -> None:
    """The known property of iSLIP: pointers move apart, then all outputs are served in all cycles, and all by turns."""
    found = starts_of([(1 << RADIX) - 1] * RADIX, cycles=8 * RADIX, iterations=iterations)[-4 * RADIX:]
    assert all(len(bits(sum(cycle))) == RADIX for cycle in found)
    for first in range(len(found) - RADIX):
        for port in range(RADIX):
            assert sum(cycle[port] for cycle in found[first:first + RADIX]) == (1 << RADIX) - 1


def test_one_output() -> None:
    """Inputs that want the same output get it in turns."""
    winners = [cycle.index(1) for cycle in starts_of([1] * RADIX, cycles=3 * RADIX)]
    assert winners == [*range(RADIX)] * 3


def test_multicasts_in_turns() -> None:
    """An input with a multicast and another packet sends one after the other."""
    found = [cycle[0] for cycle in starts_of([1, 0, 0, 0], mc_ports=0b11, cycles=10)]
    assert sorted(found[:2]) == [1, 0b11 << RADIX]
    assert found == found[:2] * 5


def test_patience() -> None:
    """An input that waits for a held output lets go of its own after a tenth of the longest packet, for two of them."""
    longest = sizes(1).longest
    found = [cycle[0] for cycle in starts_of([0b11, 0, 0, 0], held=0b10, cycles=5 * longest)]
    first = found.index(0)
    assert longest // 10 <= first <= longest // 10 + 3
    pause = next(k for k, start in enumerate(found[first:]) if start)
    assert pause == 2 * longest + 1


@pytest.mark.parametrize(("old", "new", "test"), [
    pytest.param("Mux(own, steps[-1].singles[i] & clear, 0)", "steps[-1].singles[i] & clear",
                 lambda: test_random(1, 1), id="starts-before-the-last-flit"),
    pytest.param("(possible == candidate.mc_ports)", "1", lambda: test_random(1, 1), id="a-part-of-a-multicast"),
    pytest.param("steps[-1].copies[i] & clear", "steps[-1].copies[i]", lambda: test_random(1, 1), id="kept"),
    pytest.param("output_after[j].eq(~(started | (started - 1)))", "output_after[j].eq(0)", test_one_output,
                 id="turns"),
    pytest.param("copies_next[i].eq(1)", "copies_next[i].eq(0)", test_multicasts_in_turns, id="multicasts-never"),
    pytest.param("pause=2 * self", "pause=self", test_patience, id="short-pause"),
])
def test_planted(old: str, new: str, test, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Matching", changed(Matching, old, new))
    with pytest.raises(AssertionError):
        test()
