"""One iteration of a switch's matching beside the same in words: who asks, who is granted, who accepts."""

import random
from collections import Counter

import pytest

from rtl.switch.match_iteration import MatchIteration
from testbench.parts.faults import changed
from testbench.parts.simulation import run


def next_one(candidates: set[int], after: int) -> int:
    """The lowest of those that have their bit in `after`, else the lowest of all."""
    return min({one for one in candidates if after >> one & 1} or candidates)


def bits(value: int) -> set[int]:
    """Numbers of the bits that are set."""
    return {place for place in range(value.bit_length()) if value >> place & 1}


@pytest.mark.parametrize("radix", [2, 4, 7])
@pytest.mark.parametrize("seed", range(2))
def test_iteration(radix: int, seed: int) -> None:
    rng, part = random.Random(seed), MatchIteration(radix=radix)
    arrays = ("single", "multiple", "has_single", "has_copies", "output_after", "input_after")
    given: dict[str, list[int]] = {}
    counts: Counter[str] = Counter()
    open_ = copies_next = 0

    class Ports:
        def drive(self, context) -> None:
            nonlocal open_, copies_next
            density = rng.choice((0.1, 0.4, 0.8))

            def vector() -> int:
                return sum((rng.random() < density) << port for port in range(radix))

            given.update({name: [vector() for _ in range(radix)] for name in arrays})
            for name in ("output_after", "input_after"):
                given[name] = [-(1 << rng.randint(0, radix)) % (1 << radix) for _ in range(radix)]
            for port in range(radix):
                # At most one of both, and one output for a packet that has one.
                kind = rng.choice(("none", "none", "single", "copies"))
                if kind != "copies":
                    given["has_copies"][port] = 0
                given["has_single"][port] = 1 << rng.randrange(radix) if kind == "single" else 0
            open_, copies_next = vector(), vector()
            for name in arrays:
                for signal, value in zip(getattr(part, name), given[name], strict=True):
                    context.set(signal, value)
            context.set(part.open, open_)
            context.set(part.copies_next, copies_next)

        def settle(self, read) -> None:
            asks = [set[int]() for _ in range(radix)]
            for port in range(radix):
                if not given["has_single"][port]:
                    asks[port] |= bits(given["multiple"][port])
                    if not given["has_copies"][port]:
                        asks[port] |= bits(given["single"][port])
            granted = [set[int]() for _ in range(radix)]
            for output in bits(open_):
                if candidates := {port for port in range(radix) if output in asks[port]}:
                    granted[next_one(candidates, given["output_after"][output])].add(output)
                    counts["contended"] += len(candidates) > 1
            left = bits(open_)
            for port in range(radix):
                copies = granted[port] & bits(given["multiple"][port])
                others = granted[port] & bits(given["single"][port]) if not given["has_copies"][port] else set()
                singles, multiples = bits(given["has_single"][port]), bits(given["has_copies"][port])
                counts["both"] += bool(copies and others)
                if copies and (copies_next >> port & 1 or not others):
                    multiples |= copies
                    left -= copies
                    counts["copies"] += 1
                elif others:
                    one = next_one(others, given["input_after"][port])
                    singles |= {one}
                    left -= {one}
                    counts["single"] += 1
                assert bits(read(part.singles[port])) == singles
                assert bits(read(part.copies[port])) == multiples
            assert bits(read(part.still_open)) == left

    run(part, [Ports()], cycles=250, rng=rng)
    assert min(counts[case] for case in ("contended", "both", "copies", "single")) > 20, counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("(self.copies_next[i] | ~wants.any())", "1", id="multicasts-always-first"),
    pytest.param("Mux(self.has_copies[i].any(), 0, self.single[i])", "self.single[i]", id="asks-beside-its-copies"),
    pytest.param("round_robin(wants, self.input_after[i])", "round_robin(wants, self.output_after[i])", id="after"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "MatchIteration", changed(MatchIteration, old, new))
    with pytest.raises(AssertionError):
        test_iteration(4, 1)
