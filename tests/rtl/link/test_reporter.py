"""Reports of a link's receiving end: the most urgent first, nothing left out, and turns where nothing presses."""

import random
from collections import Counter

import pytest
from amaranth import Signal

from rtl.link.reporter import Reporter
from testbench.parts.simulation import run

ITEMS = 4
"""Acknowledgements of two channels, then their credits."""


@pytest.mark.parametrize(("bits", "buffer_flits"), [(2, 1), (4, 3), (5, 16), (9, 200)])
@pytest.mark.parametrize("seed", range(2))
def test_reports(bits: int, buffer_flits: int, seed: int) -> None:
    rng, part = random.Random(seed), Reporter(bits=bits, buffer_flits=buffer_flits)
    totals, reported = [0] * ITEMS, [0] * ITEMS
    again, taken, wanted, pulse = [False, False], False, 0, 0
    passed_over = [0] * ITEMS
    quiet: list[int] = []
    counts: Counter[str] = Counter()

    class Link:
        def drive(self, context) -> None:
            nonlocal taken, wanted, pulse
            for item in range(ITEMS):
                room = buffer_flits - (totals[item] - reported[item])
                if rng.random() < 0.06:
                    totals[item] += rng.randint(0, room)
                port = (part.whole if item < 2 else part.free)[item % 2]
                context.set(port, totals[item] % (1 << bits))
            taken, wanted = rng.random() < 0.4, rng.choice((0, 0, 0, 0, 0, 0, 0, 1, 2, 3))
            pulse = rng.choice((0,) * 30 + (1, 2, 3))
            context.set(part.report.taken, taken)
            context.set(part.wanted, wanted)
            context.set(part.again, pulse)

        def settle(self, read) -> None:
            unsent = [now - then for now, then in zip(totals, reported, strict=True)]
            new = [bool(unsent[item] or (item < 2 and again[item])) for item in range(ITEMS)]
            short = [item for item in (2, 3) if unsent[item] >= max(1, buffer_flits // 2)]
            assert read(part.report.due) == any(new)
            assert read(part.report.urgent) == bool(short or wanted)

            item = 2 * read(part.report.what.is_credit) + read(part.report.what.about)
            assert read(part.report.what.value) == totals[item] % (1 << bits)
            assert read(part.report.what.replay) == (item < 2 and wanted >> item & 1)
            assert read(part.asks) == (taken and item < 2 and wanted & 1 << item)
            case = "wanted" if wanted else "short" if short else "new" if any(new) else "quiet"
            if wanted:
                assert item in [vc for vc in range(2) if wanted >> vc & 1]
            elif short:
                assert item in short
            elif any(new):
                assert new[item]
            if taken:
                counts[case] += 1
                counts[f"again {item}"] += item < 2 and again[item]
                # Nothing new waits for more than the others' turns, but for what is more urgent.
                quiet.append(item) if case == "quiet" else quiet.clear()
                assert len(quiet) < ITEMS or sorted(quiet[-ITEMS:]) == list(range(ITEMS))
                for other in range(ITEMS):
                    waits = case == "new" and new[other] and other != item
                    passed_over[other] = passed_over[other] + 1 if waits else 0
                assert max(passed_over) < ITEMS
                reported[item] = totals[item]
            for vc in range(2):
                again[vc] = bool(pulse >> vc & 1) or (again[vc] and not (taken and item == vc))

    run(part, [Link()], cycles=1200, rng=rng)
    assert min(counts[case] for case in ("wanted", "short", "quiet", "again 0", "again 1")) > 10, counts
    assert counts["new"] > 10, counts


@pytest.mark.parametrize("threshold", [-1, 1])
def test_planted(threshold: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credits that are short a flit too early or too late are found."""
    monkeypatch.setattr("rtl.link.reporter.max", lambda least, half: half + threshold, raising=False)
    with pytest.raises(AssertionError):
        test_reports(5, 16, 1)


def test_planted_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns that go round among acknowledgements alone are found."""
    shapes = iter([range(2)])
    monkeypatch.setattr(
        "rtl.link.reporter.Signal",
        lambda shape=1, **kwargs: Signal(next(shapes, shape) if shape == range(ITEMS) else shape, **kwargs))
    with pytest.raises(AssertionError):
        test_reports(9, 200, 1)
