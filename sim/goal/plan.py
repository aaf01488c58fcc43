"""A GOAL file as a plan: what waits for what, who may receive what, which collectives all ranks take part in."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from firmware_models.connections.error import ConnectionsError
from firmware_models.connections.trace.goal_text import GoalText, Operation, parse_goal
from firmware_models.schedule import collective_names

_MOST_OPERATIONS = 1_000_000
_BINARY = 0x00


class GoalError(ValueError):
    """A schedule that cannot be read, or that cannot end; one line with ranks, labels and lines."""


@dataclass(kw_only=True)
class Plan:
    """A schedule that has been read.

    Members
    -------
    name : str
        The file.
    n_ranks : int
        Ranks.
    operations : list of Operation
        All, each with its place as number.
    waiting : list of list of (int, bool)
        By operation: those that wait for it, and whether for its begin only.
    needs : list of int
        By operation: how many begins and ends it waits for.
    by_rank : list of list of int
        Operations of each rank, as they stand in the file.
    rounds : list of list of int
        Collectives: the operation of each rank.
    """

    name: str
    n_ranks: int
    operations: list[Operation]
    waiting: list[list[tuple[int, bool]]]
    needs: list[int]
    by_rank: list[list[int]]
    rounds: list[list[int]] = field(default_factory=list)

    def of_kind(self, rank: int, kind: str) -> list[int]:
        """Operations of a rank of some kind."""
        return [number for number in self.by_rank[rank] if self.operations[number].kind == kind]

    def sends_to(self, rank: int) -> list[int]:
        """Sends whose messages a rank receives, in ascending order."""
        return self._sends_to[rank]

    def __post_init__(self) -> None:
        self._sends_to: dict[int, list[int]] = defaultdict(list)
        for number, each in enumerate(self.operations):
            if each.kind == "send":
                self._sends_to[each.peer].append(number)


def load_plan(path: Path) -> Plan:
    """Reads a schedule. What it is to do together (messages, dependences) is not checked here: see `sim.goal.check`.

    Raises
    ------
    GoalError
        If it cannot be read: file, line, field, and what is allowed.
    """
    with path.open("rb") as file:
        if _BINARY in file.read(4096):
            raise GoalError(
                f"{path}: must be GOAL in its text form, not binary: .bin files are read by LogGOPSim only; "
                f"give the .goal file that txt2bin made it from"
            )
    try:
        text = parse_goal(path, collectives=collective_names())
    except ConnectionsError as error:
        raise GoalError(str(error)) from None
    if len(text.operations) > _MOST_OPERATIONS:
        raise GoalError(f"{path}: operations must be at most {_MOST_OPERATIONS}, not {len(text.operations)}")
    return planned(str(path), text)


def planned(name: str, text: GoalText) -> Plan:
    """The plan of a schedule. Collectives of a rank follow each other in the order in which they stand.

    A NIC could hold several of a job at once, but few; one more would hold up the messages behind it in the ring, which
    the others may wait for.
    """
    plan = Plan(
        name=name, n_ranks=text.n_ranks, operations=text.operations, waiting=[[] for _ in text.operations],
        needs=[0] * len(text.operations), by_rank=[[] for _ in range(text.n_ranks)],
    )
    for number, each in enumerate(text.operations):
        plan.by_rank[each.rank].append(number)
    collectives = [
        [number for number in own if text.operations[number].kind not in ("send", "recv", "calc")]
        for own in plan.by_rank
    ]
    _check_rounds(plan, collectives)
    plan.rounds = [list(together) for together in zip(*collectives, strict=True)]
    in_turn = [(before, after, False) for own in collectives for before, after in pairwise(own)]
    for before, after, begin_only in [*text.edges, *in_turn]:
        plan.waiting[before].append((after, begin_only))
        plan.needs[after] += 1
    return plan


def _check_rounds(plan: Plan, collectives: list[list[int]]) -> None:
    """Every rank has the same collectives in the same order."""
    first = [plan.operations[number] for number in collectives[0]] if collectives else []
    for rank, own in enumerate(collectives):
        there = [plan.operations[number] for number in own]
        for expected, got in zip(first, there, strict=False):
            if (expected.kind, expected.amount, expected.words) != (got.kind, got.amount, got.words):
                raise GoalError(f"{plan.name}:{got.line}: collectives must be the same at all ranks, in the same "
                                f"order: {got} is not {expected}")
        if len(there) != len(first):
            longer = there if len(there) > len(first) else first
            alone = longer[min(len(there), len(first))]
            missing = 0 if longer is there else rank
            raise GoalError(f"{plan.name}:{alone.line}: collectives must be called by all ranks: rank {missing} has "
                            f"none for {alone}")
