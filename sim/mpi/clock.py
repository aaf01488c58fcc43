"""Simulated time of the calls of a round: how far apart ranks come, and when it is over for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.mpi.agreement import Call

_MOST_SKEW = 100_000


@dataclass(frozen=True)
class Clock:
    """Time of NICs with `frequency` cycles a second, if it is `simulated`; of the machine's clock they say nothing."""

    simulated: bool
    frequency: float

    def skews(self, calls: Sequence[Call]) -> list[int]:
        """Cycles by which ranks come later than the first, in simulated time; all at once in the machine's."""
        if not self.simulated:
            return [0] * len(calls)
        last = max(call.request.now for call in calls)
        # Nobody sees what is beyond: whoever waits waits for the last.
        early = [min(_MOST_SKEW, round((last - call.request.now) * self.frequency)) for call in calls]
        return [max(early) - cycles for cycles in early]

    def ends(self, calls: Sequence[Call], ended: Sequence[int]) -> list[float]:
        """When it was over for each rank, in simulated time; `ended` are cycles from the first doorbell, if any."""
        if not ended or not self.simulated:
            return [call.request.now for call in calls]
        skews, last = self.skews(calls), max(call.request.now for call in calls)
        # A rank that was done before the last rank came has not waited for it.
        return [
            call.request.now + (end - skew) / self.frequency if end < max(skews)
            else last + (end - max(skews)) / self.frequency
            for call, end, skew in zip(calls, ended, skews, strict=True)
        ]
