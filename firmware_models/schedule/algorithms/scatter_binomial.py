"""Scatter down a binomial tree."""

from ..fold import runs
from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("scatter", "binomial", blocks=lambda n_nodes: n_nodes)
def scatter_binomial(n_nodes: int, root: int) -> list[list[Step]]:
    """Every rank gets the blocks of its subtree and passes on those of its children, the largest subtree first.

    Ranks are taken relative to the root; blocks that wrap around the last rank take two packets. Source: MPICH,
    ``MPIR_Scatter_intra_binomial``.
    """
    return [_sequence(rank, n_nodes, root) for rank in range(n_nodes)]


def _sequence(rank: int, n: int, root: int) -> list[Step]:
    relative = (rank - root) % n
    span = subtree(relative, n)
    steps: list[Step] = []
    source = Source.RESULT if relative else Source.OWN
    if relative:
        parent = ((relative & relative - 1) + root) % n
        steps += [
            Step(source=Source.NOTHING, blocks=blocks, receive_from=(parent,), combine=Combine.REPLACE)
            for blocks in runs(rank, min(span, n - relative), n)
        ]
    while span := span >> 1:
        if relative + span < n:
            child = (rank + span) % n
            count = min(span, n - relative - span)
            steps += [Step(source=source, blocks=blocks, send_to=child) for blocks in runs(child, count, n)]
    return [*steps, Step(source=source, blocks=(rank, 1), deliver=True)]


def subtree(relative: int, n_nodes: int) -> int:
    """Ranks of a full binomial subtree under the rank `relative` to the root; of the root all, up to a power of two."""
    return relative & -relative if relative else 1 << (n_nodes - 1).bit_length()
