"""Patience of an input beside a calendar: when it began to wait for others, and until when it pauses."""

import random
from collections import Counter

import pytest

from rtl.switch.patience import Patience
from testbench.parts.faults import changed
from testbench.parts.simulation import run


@pytest.mark.parametrize(("radix", "limit", "pause"), [(2, 2, 5), (4, 3, 2), (5, 6, 9)])
@pytest.mark.parametrize("seed", range(2))
def test_pauses(radix: int, limit: int, pause: int, seed: int) -> None:
    rng, part = random.Random(seed), Patience(radix=radix, limit=limit, pause=pause)
    served = started = others = avoid = cycle = since = 0
    pausing = False
    counts: Counter[str] = Counter()

    class Input:
        def drive(self, context) -> None:
            nonlocal started, others
            # It sends to the same outputs again and again, to all or a part of them, seldom to another.
            any_ = rng.getrandbits(radix)
            (started,) = rng.choices((0, served, served & any_, any_), (50, 30, 15, 5))
            if rng.random() < 0.04:
                others = rng.getrandbits(radix)
            context.set(part.started, started)
            context.set(part.others, others)

        def settle(self, read) -> None:
            nonlocal served, avoid, cycle, since, pausing
            assert read(part.avoid) == avoid
            counts["avoids"] += avoid != 0
            if started & ~served or not others & ~served:
                counts["other started"] += pausing and bool(started & ~served)
                avoid, pausing, since = 0, False, cycle + 1
            elif cycle - since == (pause if pausing else limit):
                counts["pause over"] += pausing
                counts["part of them"] += not pausing and started not in (0, served)
                avoid, pausing, since = 0 if pausing else started or served, not pausing, cycle + 1
            served = started or served
            cycle += 1

    run(part, [Input()], cycles=2000, rng=rng)
    assert min(counts["avoids"], counts["pause over"], counts["other started"]) > 3, counts
    assert counts["part of them"] or radix < 5, counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("(cycles == self.pause)", "(cycles == self.pause - 1)", id="pause-too-short"),
    pytest.param("Mux(self.started.any(), self.started, served)", "served", id="avoids-what-it-had"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Patience", changed(Patience, old, new))
    with pytest.raises(AssertionError):
        test_pauses(5, 6, 9, 1)
