"""Random delays of a run, for verification: none of them may change a bit of a result."""

import random
from dataclasses import dataclass, field

from sim.cluster.settings import LinkTiming, MemoryTiming


@dataclass(frozen=True, kw_only=True)
class StallProfile:
    """How host memories, links and hosts behave in a run.

    Members
    -------
    memory, links : MemoryTiming, LinkTiming
        Latencies and randomness.
    start_skew : int
        Most cycles by which the hosts ring their doorbells at different times.
    """

    memory: MemoryTiming = field(default_factory=MemoryTiming)
    links: LinkTiming = field(default_factory=LinkTiming)
    start_skew: int = 0


def random_stalls(seed: int) -> StallProfile:
    """A profile drawn from `seed`: from undisturbed to heavily disturbed memories, links and starts."""
    rng = random.Random(f"stalls {seed}")
    return StallProfile(
        memory=MemoryTiming(
            read_latency=rng.choice((1, 20, 200)), write_latency=rng.choice((1, 10, 200)),
            jitter=rng.choice((0, 10, 500)), stall=rng.choice((0.0, 0.5, 1.0)),
        ),
        links=LinkTiming(
            latency=rng.choice((0, 1, 4, 50)), jitter=rng.choice((0, 20, 500)), stall=rng.choice((0.0, 0.5, 1.0)),
        ),
        start_skew=rng.choice((0, 100, 5000)),
    )
