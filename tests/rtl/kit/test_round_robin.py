"""Round robin: the next request after the last that was served, in circular order; every one in its turn."""

import random

import pytest

from rtl.kit.round_robin import RoundRobin
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.simulation import run


class Bench:
    """Requests that stay until they are served, and others that come and go; some grants are served."""

    def __init__(self, part: RoundRobin, rng: random.Random):
        self.part, self.rng, self.n = part, rng, part.n
        n = self.n
        self.kept, self.requests, self.advance, self.cycle = 0, 0, 0, 0
        self.last = n - 1
        """The last one served; before any has been, the order begins with 0."""
        self.others = [0] * n
        """Requests served since each that is kept up came up."""
        self.n_served, self.n_wrapped, self.n_idle_advances = [0] * n, 0, 0

    def drive(self, put) -> None:
        """Some requests in addition to those that are kept up; at times none."""
        self.cycle += 1
        calm = self.cycle // 40 % 2
        if self.rng.random() < (0.4 if calm else 0.8):
            self.kept |= 1 << self.rng.randrange(self.n)
        self.requests = self.kept | (0 if calm else self.rng.getrandbits(self.n))
        self.advance = int(self.rng.random() < 0.6)
        put(self.part.requests, self.requests)
        put(self.part.advance, self.advance)

    def settle(self, read) -> None:
        """Compares the choice of this cycle, and notes whom it serves."""
        order = [(self.last + k) % self.n for k in range(1, self.n + 1)]
        chosen = next((k for k in order if self.requests >> k & 1), None)
        assert read(self.part.grant) == (0 if chosen is None else 1 << chosen)
        assert read(self.part.index) == (chosen or 0)
        if not self.advance:
            return
        if chosen is None:
            self.n_idle_advances += 1
            return
        self.n_wrapped += chosen < self.last
        self.n_served[chosen] += 1
        self.kept &= ~(1 << chosen)
        for k in range(self.n):
            self.others[k] = self.others[k] + 1 if self.kept >> k & 1 else 0
            assert self.others[k] < self.n, "a request waits for more than all others"
        self.last = chosen


def check(part: RoundRobin, rng: random.Random) -> None:
    """Runs requests."""
    bench = Bench(part, rng)
    run(part, [Inputs(bench.drive, bench.settle)], cycles=400, rng=rng)
    assert min(bench.n_served) >= 2
    assert part.n == 1 or bench.n_wrapped > 4
    assert bench.n_idle_advances > 4


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_turns(n: int, seed: int) -> None:
    check(RoundRobin(n=n), random.Random(seed))


@pytest.mark.parametrize(("old", "new"), [
    ("preferred = self.requests & after", "preferred = self.requests & (after << 1)[:self.n]"),
    ("with m.If(self.advance & self.requests.any()):", "with m.If(self.advance):"),
    ("with m.If(self.advance & self.requests.any()):", "with m.If(self.requests.any()):"),
    ("Cat(self.grant[:k].any() for", "Cat(self.grant[:k + 1].any() for"),
    ("lowest(self.requests) & restarts", "lowest(self.requests & (1 << self.n) - 2) & restarts"),
    ("if k >> bit & 1]", "if k >> bit & 1 and k < 8]"),
], ids=["a shifted order", "nobody is served", "not served", "the same one again", "without the first", "index of 8"])
def test_planted(old: str, new: str) -> None:
    """An error of the order is found."""
    with pytest.raises(AssertionError):
        check(changed(RoundRobin, old, new)(n=9), random.Random(1))
