"""Schedules in terms of ranks: what every node does, before it knows addresses and NodeIDs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

ALL = (0, 0)
"""All blocks of a message."""


class Source(Enum):
    """Where a step takes its local operand from."""

    NOTHING = "nothing"
    """No local operand; the first packet that brings data becomes it."""
    OWN = "own data"
    """This rank's part of the input."""
    RESULT = "result"
    """Data that the step before left."""


class Combine(Enum):
    """Use that a step makes of the packets that it consumes."""

    TRIGGER = "trigger"
    """Waits for them; their data is ignored."""
    REPLACE = "replace"
    """Each takes the place of the data so far."""
    REDUCE = "reduce"
    """Each is combined with the data so far, which is the operator's left operand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of one rank; it becomes one descriptor.

    The step takes its operand, consumes one packet from each rank of `receive_from`, in that order, and then sends
    and delivers what it has. What it sends goes to one rank, or in one packet to a group of them.

    Members
    -------
    source : Source
        The local operand.
    receive_from : tuple of int
        Ranks whose packets are consumed, in the order of consumption.
    combine : Combine
        What is made of these packets.
    send_to : int or None
        Rank that the outcome is sent to.
    multicast_to : tuple of int
        Ranks that the outcome is sent to by multicast, instead of `send_to`.
    send_index : int or None
        Number of the packet sent among all that its receiver consumes in this operation, from 0; of a multicast the
        same at all receivers. The SeqID is this modulo 32. :func:`numbered` fills it in.
    deliver : bool
        The outcome is this rank's result.
    skip : int
        Numbers that are passed over before those of the packets that this step consumes. So a multicast has one
        number everywhere, whatever its receivers have consumed before.
    blocks : tuple of int
        First block and number of blocks that the step works on; the others stay as they are. (0, 0) is all of them,
        (`block_count`, 1) is none: such packets carry no data.
    """

    source: Source
    receive_from: tuple[int, ...] = ()
    combine: Combine = Combine.TRIGGER
    send_to: int | None = None
    multicast_to: tuple[int, ...] = ()
    send_index: int | None = None
    deliver: bool = False
    skip: int = 0
    blocks: tuple[int, int] = ALL

    @property
    def targets(self) -> tuple[int, ...]:
        """Ranks that the outcome is sent to."""
        return self.multicast_to if self.send_to is None else (self.send_to,)


Sequence = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet of a schedule, or one copy of a multicast: who sends it in which step, and its number at the receiver.

    `group` has all receivers of a multicast, and is empty otherwise.
    """

    sender: int
    step: int
    receiver: int
    index: int | None
    group: tuple[int, ...] = ()

    @property
    def channel(self) -> tuple[int, tuple[int, ...]]:
        """Key by which its credits are counted at the receiver: the sender, and the group if there is one."""
        return self.sender, self.group


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One collective operation: a sequence of steps for every rank.

    Members
    -------
    collective, algorithm : str
        Names in the registry.
    n_nodes, root : int
        Ranks are 0 to n_nodes - 1; `root` is 0 where the collective has none.
    sequences : tuple of tuple of Step
        One sequence per rank.
    moves_data : bool
        False for collectives without data (barrier).
    block_count : int
        Blocks of a message; every rank cuts it alike (``docs/schedules.md``).
    equal_blocks : bool
        Data change their block on the way, so all blocks must be of one size.
    """

    collective: str
    algorithm: str
    n_nodes: int
    root: int
    sequences: tuple[Sequence, ...]
    moves_data: bool = True
    block_count: int = 1
    equal_blocks: bool = False

    def packets(self) -> Iterator[Packet]:
        """Yields every packet, and every copy of a multicast, by sender and step."""
        for sender, sequence in enumerate(self.sequences):
            for place, step in enumerate(sequence):
                for receiver in step.targets:
                    yield Packet(sender, place, receiver, step.send_index, step.multicast_to)

    def receives(self, rank: int) -> tuple[int, ...]:
        """Ranks whose packets `rank` consumes, in order."""
        return tuple(sender for step in self.sequences[rank] for sender in step.receive_from)

    def numbers(self, rank: int) -> tuple[int, ...]:
        """The numbers of these packets: 0, 1, 2, … but for those that are passed over."""
        return tuple(number for _, number in _arrivals(self.sequences[rank]))

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The multicast groups: ranks that one packet joins, sender and receivers, ascending; each group once."""
        found = {
            tuple(sorted({sender, *step.multicast_to})) for sender, sequence in enumerate(self.sequences)
            for step in sequence if step.multicast_to
        }
        return tuple(sorted(found))


def _arrivals(sequence: Iterable[Step]) -> Iterator[tuple[int, int]]:
    """Sender and number of each packet that a sequence consumes."""
    number = 0
    for step in sequence:
        number += step.skip
        for sender in step.receive_from:
            yield sender, number
            number += 1


def numbered(sequences: Iterable[Iterable[Step]]) -> tuple[Sequence, ...]:
    """Fills in `send_index`: the k-th packet that s sends to d is the k-th that d consumes from s.

    A packet that nobody consumes keeps None, and a multicast whose receivers have different numbers for it gets that of
    the first; the checker reports both.
    """
    plain = tuple(tuple(sequence) for sequence in sequences)
    places: dict[tuple[int, int], list[int]] = {}
    for receiver, sequence in enumerate(plain):
        for sender, number in _arrivals(sequence):
            places.setdefault((sender, receiver), []).append(number)
    waiting = {pair: iter(indexes) for pair, indexes in places.items()}

    def with_index(rank: int, step: Step) -> Step:
        found = [next(waiting.get((rank, receiver), iter(())), None) for receiver in step.targets]
        return replace(step, send_index=found[0]) if found else step

    return tuple(tuple(with_index(rank, step) for step in sequence) for rank, sequence in enumerate(plain))
