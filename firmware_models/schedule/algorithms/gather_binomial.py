"""Gather up a binomial tree."""

from ..fold import runs
from ..registry import algorithm
from ..sequence import Combine, Source, Step
from .scatter_binomial import subtree


@algorithm("gather", "binomial", blocks=lambda n_nodes: n_nodes)
def gather_binomial(n_nodes: int, root: int) -> list[list[Step]]:
    """Every rank takes the blocks of its children, the smallest subtree first, and passes all on to its parent.

    Ranks are taken relative to the root; blocks that wrap around the last rank take two packets. Source: MPICH,
    ``MPIR_Gather_intra_binomial``.
    """
    return [_sequence(rank, n_nodes, root) for rank in range(n_nodes)]


def _sequence(rank: int, n: int, root: int) -> list[Step]:
    relative = (rank - root) % n
    span = subtree(relative, n)
    steps = [Step(source=Source.OWN, blocks=(rank, 1), deliver=relative == 0)]
    size = 1
    while size < span and relative + size < n:
        child = (rank + size) % n
        steps += [
            Step(
                source=Source.NOTHING, blocks=blocks, receive_from=(child,), combine=Combine.REPLACE,
                deliver=relative == 0,
            )
            for blocks in runs(child, min(size, n - relative - size), n)
        ]
        size *= 2
    if relative:
        parent = ((relative & relative - 1) + root) % n
        steps += [
            Step(source=Source.RESULT, blocks=blocks, send_to=parent)
            for blocks in runs(rank, min(span, n - relative), n)
        ]
    return steps
