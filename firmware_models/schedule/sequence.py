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
    """What the step before left."""


class Combine(Enum):
    """What a step makes of the packets that it consumes."""

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
    and delivers what it has.

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
    send_index : int or None
        Place of the packet sent among all that its receiver consumes in this operation, from 0. The SeqID is
        this modulo 32. :func:`numbered` fills it in.
    deliver : bool
        The outcome is this rank's result.
    blocks : tuple of int
        First block and number of blocks that the step works on; the others stay as they are. (0, 0) is all of them,
        (`block_count`, 1) is none: such packets carry no data.
    """

    source: Source
    receive_from: tuple[int, ...] = ()
    combine: Combine = Combine.TRIGGER
    send_to: int | None = None
    send_index: int | None = None
    deliver: bool = False
    blocks: tuple[int, int] = ALL


Sequence = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet of a schedule: who sends it in which step, and its place at the receiver."""

    sender: int
    step: int
    receiver: int
    index: int | None


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
        """Yields every packet, by sender and step."""
        for sender, sequence in enumerate(self.sequences):
            for place, step in enumerate(sequence):
                if step.send_to is not None:
                    yield Packet(sender, place, step.send_to, step.send_index)

    def receives(self, rank: int) -> tuple[int, ...]:
        """Ranks whose packets `rank` consumes, in order: entry i is the sender of the packet with index i."""
        return tuple(sender for step in self.sequences[rank] for sender in step.receive_from)


def numbered(sequences: Iterable[Iterable[Step]]) -> tuple[Sequence, ...]:
    """Fills in `send_index`: the k-th packet that s sends to d is the k-th that d consumes from s.

    A packet that nobody consumes keeps None; the checker reports it.
    """
    plain = tuple(tuple(sequence) for sequence in sequences)
    places: dict[tuple[int, int], list[int]] = {}
    for receiver, sequence in enumerate(plain):
        senders = (sender for step in sequence for sender in step.receive_from)
        for index, sender in enumerate(senders):
            places.setdefault((sender, receiver), []).append(index)
    waiting = {pair: iter(indexes) for pair, indexes in places.items()}
    return tuple(
        tuple(
            step if step.send_to is None
            else replace(step, send_index=next(waiting.get((rank, step.send_to), iter(())), None))
            for step in sequence
        )
        for rank, sequence in enumerate(plain)
    )
