"""How far a program is: what it has done, and what waits for what."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sim.mpi.agreement import Communicator, Round
from sim.mpi.running import Running

SECONDS_PER_STANDING = 10.0
"""How often a program that runs for long is asked."""
_MOST_WORDS = 300


@dataclass(frozen=True)
class Standing:
    """How far a program is.

    Members
    -------
    seconds : float
        Since it was begun.
    offloaded, passed : int
        Calls of ranks so far: on the NICs, and by MPI.
    cycles : int
        That the NICs have been simulated for.
    waits : str
        What is under way, or what waits for what.
    """

    seconds: float
    offloaded: int
    passed: int
    cycles: int
    waits: str

    @property
    def line(self) -> str:
        """In one line."""
        return (
            f"{self.seconds:.0f} s: {self.offloaded:,} calls on the NICs, {self.passed:,} by MPI, "
            f"{self.cycles:,} cycles simulated; {self.waits}"
        )


StandingCallback = Callable[[Standing], None]
"""Hears how far a program is, every few seconds."""


def on_the_nics(communicator: Communicator, found: Round, running: Running) -> str:
    """An operation under way, and which part of it is done where it is done in pieces."""
    sizes = running.operation.sizes
    total = max(sizes)
    part = f"{running.position / total:.0%} of " if running.width < total else ""
    return f"on the NICs: {part}{communicator.name}, operation {found.number + 1}: {found.first.words}"


def waiting(communicators: Iterable[Communicator]) -> str:
    """Whom the oldest calls wait for; the program computes if there are none."""
    open_rounds = [
        (communicator, communicator.rounds[0]) for communicator in communicators
        if communicator.rounds and communicator.rounds[0].calls
    ]
    if not open_rounds:
        return "no rank waits: the program computes, or is in calls of MPI's own"
    communicator, found = min(open_rounds, key=lambda pair: pair[1].since)
    more = f" (and {len(open_rounds) - 1} others)" if len(open_rounds) > 1 else ""
    what = communicator.describe(found, "waits", {})
    return (what if len(what) <= _MOST_WORDS else f"{what[:_MOST_WORDS]}…") + more
