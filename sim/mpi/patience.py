"""Ranks that others wait for: may they still come?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sim.mpi.agreement import Communicator, DisagreementError, Round
from sim.mpi.links import Link
from sim.mpi.presence import Presence
from sim.mpi.tally import name_of
from sim.mpi.wire import Reason

_IDLE = "has not come, and does nothing outside of MPI"


@dataclass
class Patience:
    """How long ranks wait for one that has not come.

    Members
    -------
    with_idle : float
        Seconds that they wait while it does nothing; 0: for ever.
    with_work : float
        Seconds that they wait while it works outside of MPI, or waits for a rank that does; 0: for ever.
    """

    with_idle: float
    with_work: float
    _presence: Presence = field(default_factory=Presence)
    _ranks: set[int] = field(default_factory=set)
    _links: Sequence[Link] = ()

    def look(self, links: Sequence[Link], now: float) -> None:
        """Sees what the ranks do; to be called a few times a second."""
        self._presence.look(links, now)
        self._links, self._ranks = links, {link.rank for link in links}

    def judge(
        self, communicators: Iterable[Communicator], communicator: Communicator, found: Round, waited: float, now: float
    ) -> str | None:
        """A line for the program if ranks have waited for so many seconds in a round, and may go on; once.

        Raises
        ------
        DisagreementError
            If they may not.
        """
        if not self.with_idle or waited <= self.with_idle:
            return None
        since = now - self.with_idle
        known, missing = list(communicators), communicator.missing(found)
        ranks = self._ranks | {communicator.members[rank] for rank in missing}
        works = {rank for rank in ranks if self._presence.computes(rank, since)}
        where = {rank: self._where(known, communicator, rank, works) for rank in missing}
        idles = _IDLE in where.values()
        where = {rank: f"{there}{self._refused(communicator.members[rank])}" for rank, there in where.items()}
        # A rank inside an MPI call may wait for a rank that works.
        if idles or not works:
            what = f"no rank has come for {self.with_idle:g} s (--patience)"
        elif self.with_work and waited > self.with_work:
            what = f"no rank has come for {self.with_work:g} s, though some work (--work-patience)"
        elif found.warned:
            return None
        else:
            found.warned = True
            most = f"for at most {self.with_work:g} s (--work-patience)" if self.with_work else "as long as it takes"
            return communicator.describe(found, f"waits {most}", where)
        raise DisagreementError(communicator.describe(found, what, where))

    def _refused(self, world: int) -> str:
        """Which collectives of a rank MPI has refused so far: who got an error may think that it has been there."""
        names = {
            name_of(collective): None for link in self._links if link.rank == world
            for collective, reason in link.passed() if reason is Reason.INVALID
        }
        return f"; MPI has refused a call of it: {', '.join(names)}" if names else ""

    def _where(
        self, communicators: Iterable[Communicator], communicator: Communicator, rank: int, works: set[int]
    ) -> str:
        """Where a rank is that has not come."""
        world = communicator.members[rank]
        for other in communicators:
            for found in other.rounds:
                call = found.calls.get(other.members.index(world)) if world in other.members else None
                if call is not None:
                    return f"has not come, but is in operation {found.number + 1} of {other.name}: {call.words}"
        inside = self._presence.call_of(world)
        if inside is not None:
            return f"has not come, but is in {inside}"
        return "has not come, but works outside of MPI" if world in works else _IDLE
