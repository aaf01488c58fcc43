"""When a driver pauses: idle cycles of a source, backpressure of a sink."""

import random
from collections.abc import Iterator

_rates = (0.0, 0.0, 0.1, 0.5, 0.9)


def bursts(rng: random.Random) -> Iterator[bool]:
    """Endless pauses (True) in stretches of different density.

    Full speed, rare pauses and near standstill alternate, so that one run sees buffers run empty, run full and
    flow without a gap.
    """
    while True:
        rate = rng.choice(_rates)
        for _ in range(rng.randrange(1, 64)):
            yield rng.random() < rate


def steady(rng: random.Random, rate: float) -> Iterator[bool]:
    """Endless pauses with probability `rate` each cycle; 0 never pauses, 1 always."""
    while True:
        yield rng.random() < rate


def pauses(rng: random.Random, rate: float | None) -> Iterator[bool]:
    """:func:`steady` with `rate`, or :func:`bursts` if it is None."""
    return bursts(rng) if rate is None else steady(rng, rate)
