"""Times of a part's streams: full rate, trickle, standstill, each for a while."""

import random
from collections.abc import Callable
from typing import Any

from amaranth.hdl import ValueLike

from testbench.parts.simulation import Offers, Takes

RATES = (0.03, 0.3, 0.7, 1.0, 1.0)
"""Probabilities of a transfer in a cycle. Full rate stands twice: that is when most parts are under strain."""


class Pace:
    """Changes the rates of some streams at random; goes before them in the list of ends.

    Parameters
    ----------
    ends : Offers or Takes
        The streams.
    rng : Random
        For the rates.
    cycles : int
        Cycles for which a stream keeps a rate, on average.
    """

    def __init__(self, *ends: Offers | Takes, rng: random.Random, cycles: int = 40):
        self.ends, self.rng, self.cycles = ends, rng, cycles
        for end in ends:
            end.rate = rng.choice(RATES)

    def drive(self, context: Any) -> None:
        """Changes a rate now and then."""
        for end in self.ends:
            if self.rng.randrange(self.cycles) == 0:
                end.rate = self.rng.choice(RATES)

    def settle(self, read: Callable[[ValueLike], int]) -> None:
        """Nothing: the streams settle themselves."""
