"""The calls of a communicator, round by round: who has come, and whether all say the same."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.mpi.jobs import Job
from sim.mpi.links import Link
from sim.mpi.operation import REDUCTIONS, ROOTED, block_sizes, fits
from sim.mpi.wire import Collective, Flag, Reason, Request, text


class DisagreementError(RuntimeError):
    """Ranks do not do the same, or some do not come; the message names the call of each rank."""


class DesertionError(DisagreementError):
    """Some rank has ended, and others wait for it; the launcher may end them too."""


@dataclass(eq=False)
class Call:
    """A call of one rank: its request and its connection."""

    request: Request
    link: Link
    time: float
    """When it came, by the machine's clock."""

    @property
    def collective(self) -> Collective:
        """Collective that was called."""
        return Collective(self.request.collective)

    @property
    def operand(self) -> NDArray[np.uint8]:
        """Operand of the rank, as the program has it."""
        return self.link.memory[self.request.in_at:self.request.in_at + self.request.in_bytes]

    @property
    def result(self) -> NDArray[np.uint8]:
        """Where the rank wants its result."""
        return self.link.memory[self.request.out_at:self.request.out_at + self.request.out_bytes]

    @property
    def words(self) -> str:
        """The call as a program would write it."""
        request, collective = self.request, self.collective
        name = collective.mpi_name
        if request.flags & Flag.PERSISTENT:
            name = f"{name}_init"
        elif request.flags & Flag.NONBLOCKING:
            name = f"I{name.lower()}"
        words = name if collective is Collective.BARRIER else f"{name} of {request.elements} {text(request.type_name)}"
        if collective in REDUCTIONS:
            words += f" by {text(request.op_name)}"
        if collective in ROOTED:
            words += f", root {request.root}"
        return words


@dataclass(eq=False)
class Round:
    """The calls of all ranks of a communicator that belong together.

    Members
    -------
    number : int
        Which of the communicator's operations it is.
    calls : dict
        By rank.
    warned : bool
        The program has been asked to wait.
    reason : str, optional
        Why it is MPI's, or empty: the NICs have it. Decided when the first rank has called.
    """

    number: int
    calls: dict[int, Call] = field(default_factory=dict)
    warned: bool = False
    reason: str | None = None

    @property
    def first(self) -> Call:
        """The call of the rank that came first."""
        return next(iter(self.calls.values()))

    @property
    def since(self) -> float:
        """When the last call came."""
        return max(call.time for call in self.calls.values())


@dataclass(eq=False)
class Communicator:
    """A communicator: its ranks, and its rounds that are not over.

    Members
    -------
    name : str
        For messages.
    members : tuple of int
        Rank of MPI_COMM_WORLD of each rank.
    job : Job, optional
        What its operations run as.
    decision : tuple of Reason and str, optional
        Of a persistent collective: why it is MPI's, for all starts.
    """

    name: str
    members: tuple[int, ...]
    job: Job | None = None
    counts: list[int] = field(default_factory=list)
    rounds: deque[Round] = field(default_factory=deque)
    busy: bool = False
    released: set[int] = field(default_factory=set)
    decision: tuple[Reason, str] | None = None

    def __post_init__(self) -> None:
        self.counts = [0] * len(self.members)

    @property
    def size(self) -> int:
        """Ranks."""
        return len(self.members)

    def add(self, call: Call) -> Round:
        """The round that a call belongs to.

        Raises
        ------
        DisagreementError
            If it does not fit the other calls of that round.
        """
        rank = call.request.rank
        number = self.counts[rank]
        self.counts[rank] += 1
        first = self.rounds[0].number if self.rounds else number
        while len(self.rounds) <= number - first:
            self.rounds.append(Round(first + len(self.rounds)))
        found = self.rounds[number - first]
        found.calls[rank] = call
        if _key(found.first) != _key(call):
            raise DisagreementError(self.describe(found, "ranks do not call the same"))
        return found

    def ready(self) -> Round | None:
        """The oldest round, if it is complete and none is under way."""
        if self.busy or not self.rounds or len(self.rounds[0].calls) < self.size:
            return None
        return self.rounds[0]

    def missing(self, found: Round) -> list[int]:
        """Ranks that have not come to a round."""
        return [rank for rank in range(self.size) if rank not in found.calls]

    def sizes(self, found: Round) -> tuple[int, ...]:
        """Bytes of the blocks of a complete round.

        Raises
        ------
        DisagreementError
            If what ranks bring is not what others want.
        """
        requests = [found.calls[rank].request for rank in range(self.size)]
        collective, root = found.calls[0].collective, requests[0].root
        sizes = block_sizes(
            collective, root, [request.in_bytes for request in requests], [request.out_bytes for request in requests]
        )
        alike = all(
            fits(collective, rank, root, sizes, request.in_bytes, request.out_bytes)
            for rank, request in enumerate(requests)
        )
        types = {request.element for request in requests}
        if not alike or len(types) > 1 or min(sizes) < 0:
            raise DisagreementError(self.describe(found, "ranks do not agree on how much there is"))
        return sizes

    def describe(self, found: Round, what: str, notes: dict[int, str] | None = None) -> str:
        """The call of each rank in a round; `notes` on ranks without one."""
        lines: dict[str, list[int]] = {}
        for rank in sorted(found.calls):
            lines.setdefault(found.calls[rank].words, []).append(rank)
        for rank in self.missing(found):
            lines.setdefault((notes or {}).get(rank, "has not come"), []).append(rank)
        calls = "; ".join(f"{rank_words(ranks)}: {words}" for words, ranks in lines.items())
        return f"{self.name}, operation {found.number + 1}: {what}: {calls}"


def rank_words(ranks: Iterable[int]) -> str:
    """``rank 2``, or ``ranks 0, 1``."""
    listed = list(ranks)
    return f"rank{'s' * (len(listed) > 1)} {', '.join(map(str, listed))}"


def _key(call: Call) -> tuple[Any, ...]:
    """Fields that must be the same at all ranks, as far as they are known before all have come."""
    request, collective = call.request, call.collective
    reduction = (request.op_name, request.reason, request.element) if collective in REDUCTIONS else ()
    # Ranks may leave out their own buffer, but the message of a reduction has one length.
    counted = collective in REDUCTIONS and collective is not Collective.REDUCE_SCATTER
    return (
        collective, request.root, bool(request.flags & Flag.NONBLOCKING), reduction, request.elements if counted else 0,
    )
