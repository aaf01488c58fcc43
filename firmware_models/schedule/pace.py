"""Keeps long sequences within 32 live SeqIDs: packets without data that hold back who runs ahead."""

from collections.abc import Iterable, Sequence

from .sequence import Combine, Source, Step

_ACK = 8


def signals(rank: int, n_nodes: int, block_count: int) -> list[Step]:
    """A dissemination barrier of packets without data, which leaves the intermediate result as it is."""
    nothing = (block_count, 1)
    steps: list[Step] = []
    distance = 1
    while distance < n_nodes:
        steps.append(Step(source=Source.NOTHING, send_to=(rank + distance) % n_nodes, blocks=nothing))
        steps.append(Step(
            source=Source.NOTHING, receive_from=((rank - distance) % n_nodes,), combine=Combine.TRIGGER, blocks=nothing,
        ))
        distance *= 2
    return steps


def fenced(rounds: Sequence[Sequence[Step]], *, rank: int, n_nodes: int, block_count: int) -> list[Step]:
    """Rounds in which a rank consumes one packet of any other, with a barrier wherever 32 SeqIDs do not reach.

    A rank may be in the barrier before a phase while another is in the barrier behind it, so a phase and two barriers
    have to fit in 32.
    """
    phase = max(1, 32 - 2 * (n_nodes - 1).bit_length())
    if len(rounds) <= 31:
        phase = len(rounds) + 1
    steps: list[Step] = []
    for number, round_ in enumerate(rounds):
        if number and number % phase == 0:
            steps += signals(rank, n_nodes, block_count)
        steps += round_
    return steps


def paced(steps: Iterable[Step], *, rank: int, n_nodes: int, block_count: int) -> list[Step]:
    """Steps of a ring, in which who has consumed 8 packets says so to its predecessor.

    A rank sends packet m, for m = 15, 23, 31, …, when m - 7 of its packets have been consumed: it hears so before it
    has to say so again itself, or all would wait for credits. Up to 32 ranks need none of this: nobody can be further
    ahead than the ring is long.
    """
    plain = list(steps)
    if n_nodes <= 32:
        return plain
    nothing = (block_count, 1)
    left, right = (rank - 1) % n_nodes, (rank + 1) % n_nodes
    total = sum(step.send_to is not None for step in plain)
    sent = consumed = 0
    paced_steps: list[Step] = []
    for step in plain:
        if step.send_to is not None:
            if sent >= 2 * _ACK - 1 and sent % _ACK == _ACK - 1:
                paced_steps.append(Step(
                    source=Source.NOTHING, receive_from=(right,), combine=Combine.TRIGGER, blocks=nothing,
                ))
            sent += 1
        paced_steps.append(step)
        if step.receive_from:
            consumed += 1
            if consumed % _ACK == 0 and consumed + _ACK - 1 < total:
                paced_steps.append(Step(source=Source.NOTHING, send_to=left, blocks=nothing))
    return paced_steps
