"""Allreduce up a binomial tree and back by one multicast."""

from collections.abc import Sequence
from dataclasses import replace

from ..registry import algorithm
from ..sequence import Combine, Source, Step
from .reduce_binomial import reduce_binomial


@algorithm("allreduce", "reduce-multicast")
def allreduce_reduce_multicast(n_nodes: int, root: int) -> list[list[Step]]:
    """Binomial reduction to rank 0, which sends the result to all others in one packet.

    Additions are those of the binomial reduction, in its order: own data, then child 1, child 2, child 4, …, and so are
    the bits. No rank has more than log2(n) children.
    """
    return back_by_multicast(reduce_binomial(n_nodes, 0), Combine.REPLACE, deliver=True)


def back_by_multicast(up: Sequence[Sequence[Step]], combine: Combine, *, deliver: bool) -> list[list[Step]]:
    """Adds the way back to a tree that ends at rank 0, of one step a rank.

    The multicast bears one number at all ranks: those that have consumed fewer packets on the way up pass over some.
    """
    consumed = [len(sequence[0].receive_from) for sequence in up]
    number = max(consumed[1:])
    root = replace(up[0][0], multicast_to=tuple(range(1, len(up))), deliver=deliver)
    back = [
        Step(source=Source.NOTHING, receive_from=(0,), combine=combine, deliver=deliver, skip=number - before)
        for before in consumed[1:]
    ]
    return [[root], *([sequence[0], step] for sequence, step in zip(up[1:], back, strict=True))]
