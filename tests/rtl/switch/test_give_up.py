"""An output is given up if its link takes nothing for a window, taken back when there is room; never in a packet."""

import random

import pytest

from rtl.switch.give_up import LEAST_CREDITS, GiveUp
from testbench.parts.faults import changed
from testbench.parts.simulation import run

WINDOW = 64


@pytest.mark.parametrize("seed", range(3))
def test_give_up(seed: int) -> None:
    """A link that takes everything, little, hardly anything or nothing, for a window each; packets of any length, each
    of which begins where there seems to be room, some with too little of it.
    """
    rng, part = random.Random(seed), GiveUp()
    counts = dict.fromkeys(("given up", "taken back", "kept in a window without room"), 0)
    limits = set()

    class Output:
        def __init__(self) -> None:
            self.cycle, self.level, self.holds = 0, 40, False
            self.drains = self.closes = False
            self.n_returned, self.no_room, self.ended = 0, False, False
            self.before = (0, False)

        def drive(self, context) -> None:
            if self.cycle % WINDOW == 0:
                self.credits_left = rng.choice([0, 0, 3, *(LEAST_CREDITS + k for k in (-1, 0, 1)), WINDOW])
            self.ends = self.cycle % WINDOW == WINDOW - 1
            self.room = self.level > 20
            due = rng.random() < self.credits_left / (WINDOW - self.cycle % WINDOW)
            self.returned = self.level < 40 and due
            self.credits_left -= due
            self.sent = self.holds and rng.random() < 0.7 and (self.level > 0 or self.drains)
            for name, value in (
                ("window_ended", self.ends), ("has_room", self.room), ("returned", self.returned), ("sent", self.sent),
                ("holds", self.holds),
            ):
                context.set(getattr(part, name), value)

        def settle(self, read) -> None:
            drains, closes = bool(read(part.drains)), bool(read(part.closes))
            # Never while a packet was held or a flit was sent in the cycle before, and from one state to the other.
            if drains != self.drains:
                assert not self.quiet_broken, "a packet is cut in two"
                assert self.closes
                counts["given up" if drains else "taken back"] += 1
            if closes and not self.closes and not self.drains:
                n_returned, no_room = self.before
                limits.add(n_returned)
                assert self.ended, "given up within a window"
                assert no_room, "given up with room for a packet"
                assert n_returned < LEAST_CREDITS, "given up though credits return"
            elif self.ended and not self.drains and not self.closes and self.before[1]:
                counts["kept in a window without room"] += 1
                assert self.before[0] >= LEAST_CREDITS or self.room_before, "not given up"
            # What seems to be room: packets begin only then.
            starts = not self.holds and (self.level > 4 or drains) and not closes and rng.random() < 0.5
            ends = self.sent and rng.random() < 0.2
            self.quiet_broken = self.holds or self.sent
            self.ended, self.room_before = self.ends, self.room
            self.no_room = self.no_room and not self.room
            self.before = (self.n_returned, self.no_room)
            self.n_returned += self.returned
            if self.ends:
                self.n_returned, self.no_room = int(self.returned), not self.room
            self.level += self.returned - (self.sent and not drains)
            self.holds = (self.holds and not ends) or starts
            self.drains, self.closes, self.cycle = drains, closes, self.cycle + 1

    run(part, [Output()], cycles=40_000, rng=rng)
    assert all(count > 3 for count in (counts["given up"], counts["taken back"])), counts
    assert counts["kept in a window without room"] > 3
    assert LEAST_CREDITS - 1 in limits, "the limit itself has not been tried"


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("~self.holds & ~self.sent", "~self.sent", id="cut-in-two"),
    pytest.param("is_stuck & ~self.has_room &", "~self.has_room &", id="no-room-for-a-moment"),
    pytest.param("(n_returned != LEAST_CREDITS)\n            )", "1\n            )", id="credits-that-return"),
    pytest.param("& ~self.has_room & (n_returned != LEAST_CREDITS)", "& 0", id="never"),
    pytest.param("n_returned.eq(n_returned + 1)", "n_returned.eq(n_returned + 2)", id="credits-count-twice"),
    pytest.param("self.closes.eq(self.has_room)", "self.closes.eq(0)", id="for-ever"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "GiveUp", changed(GiveUp, old, new))
    with pytest.raises(AssertionError):
        test_give_up(0)
