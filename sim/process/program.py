"""A schedule as programs of processes: which bytes each sends to whom, receives from whom, and what becomes of them.

The steps are those of the schedule, so results have its bits; but each step works on whole messages, as a library does
that knows nothing of pulses. Trees may be cut into segments, which follow each other down the tree.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from firmware_models.golden import block_bounds
from firmware_models.schedule import Combine, Schedule, Source

TREES = {("broadcast", "binomial"), ("broadcast", "double-binary-tree"), ("reduce", "binomial")}
"""Collectives and algorithms that libraries cut into segments, so that inner nodes do not wait for all of a message."""


@dataclass(frozen=True)
class Message:
    """A message that a process receives.

    Members
    -------
    sender, receiver : int
        Ranks.
    number : int
        Its place among all that the receiver gets.
    first, n_bytes : int
        Where its data go in the receiver's vector.
    combine : Combine
        What becomes of them.
    replaces : bool
        They take the place of what is there: as `combine` says, or because nothing is there.
    """

    sender: int
    receiver: int
    number: int
    first: int
    n_bytes: int
    combine: Combine
    replaces: bool


@dataclass(frozen=True)
class Load:
    """Bytes [first, last) of the operand become the vector's."""

    first: int
    last: int


@dataclass(frozen=True)
class Send:
    """Bytes of the vector from `first` on go to a receiver, as `message`."""

    first: int
    message: Message


@dataclass(frozen=True)
class Deliver:
    """Bytes [first, last) of the vector are the result's."""

    first: int
    last: int


Action = Load | Message | Send | Deliver
Program = list[Action]
Span = Callable[[tuple[int, int], int], tuple[int, int]]
"""Bytes of blocks, in a segment."""


def programs(schedule: Schedule, *, n_bytes: int, item: int, segment_bytes: int) -> list[Program]:
    """The program of each rank for a message of `n_bytes`, of elements of `item` bytes.

    Trees are cut into segments of at most `segment_bytes` of each block; 0 leaves them whole.
    """
    count = schedule.block_count
    bounds = [(low * item, high * item) for low, high in block_bounds(n_bytes // item, count)]
    longest = max(high - low for low, high in bounds)
    step = longest
    if segment_bytes and (schedule.collective, schedule.algorithm) in TREES:
        step = max(item, segment_bytes // item * item)
    n_segments = max(1, -(-longest // step)) if step else 1

    def span(blocks: tuple[int, int], segment: int) -> tuple[int, int]:
        first, width = blocks
        if first >= count:
            return 0, 0
        low, high = bounds[first][0], bounds[first + (width or count) - 1][1]
        if n_segments == 1:
            return low, high
        return min(low + segment * step, high), min(low + (segment + 1) * step, high)

    received = [_receptions(schedule, rank, span, n_segments) for rank in range(schedule.n_nodes)]
    pairs: dict[tuple[int, int], list[Message]] = defaultdict(list)
    for messages in received:
        for message in messages:
            pairs[message.sender, message.receiver].append(message)
    unsent = {pair: iter(messages) for pair, messages in pairs.items()}
    found = []
    for rank, sequence in enumerate(schedule.sequences):
        program: Program = []
        coming = iter(received[rank])
        for segment in range(n_segments):
            for each in sequence:
                low, high = span(each.blocks, segment)
                if each.source is Source.OWN:
                    program.append(Load(low, high))
                program += [next(coming) for _ in each.receive_from]
                program += [Send(low, next(unsent[rank, target])) for target in each.targets]
                if each.deliver:
                    program.append(Deliver(low, high))
        found.append(program)
    return found


def chains(program: Program) -> list[Program]:
    """Parts of a program that touch no byte of each other, each in its order: they need not wait for each other.

    The two trees of a double tree are such parts, and so are their segments. What touches no byte at all is one part.
    """
    spans = [_span(action) for action in program]
    bounds: list[tuple[int, int]] = []
    for first, last in sorted(span for span in spans if span[0] < span[1]):
        if bounds and first < bounds[-1][1]:
            bounds[-1] = bounds[-1][0], max(last, bounds[-1][1])
        else:
            bounds.append((first, last))
    starts = [first for first, _ in bounds]
    found: dict[int, Program] = defaultdict(list)
    for (first, last), action in zip(spans, program, strict=True):
        found[bisect_right(starts, first) if first < last else 0].append(action)
    return list(found.values())


def _span(action: Action) -> tuple[int, int]:
    """The bytes that an action touches: the first one, and the one behind the last."""
    match action:
        case Load(first, last) | Deliver(first, last):
            return first, last
        case Send(first, message):
            return first, first + message.n_bytes
        case Message():
            return action.first, action.first + action.n_bytes


def _receptions(schedule: Schedule, rank: int, span: Span, n_segments: int) -> list[Message]:
    """Messages that a rank receives, in the order in which it consumes them."""
    found: list[Message] = []
    for segment in range(n_segments):
        for step in schedule.sequences[rank]:
            low, high = span(step.blocks, segment)
            for place, sender in enumerate(step.receive_from):
                replaces = step.combine is Combine.REPLACE or (
                    step.combine is Combine.REDUCE and step.source is Source.NOTHING and place == 0
                )
                n_bytes = high - low if schedule.moves_data else 0
                found.append(Message(sender, rank, len(found), low, n_bytes, step.combine, replaces))
    return found
