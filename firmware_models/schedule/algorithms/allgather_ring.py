"""Allgather around a ring."""

from ..pace import paced
from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("allgather", "ring", blocks=lambda n_nodes: n_nodes)
def allgather_ring(n_nodes: int, root: int) -> list[list[Step]]:
    """Every block goes round once, taken in one step and sent on in another.

    Source: MPICH, ``MPIR_Allgather_intra_ring``.
    """
    return [
        paced(_sequence(rank, n_nodes), rank=rank, n_nodes=n_nodes, block_count=n_nodes) for rank in range(n_nodes)
    ]


def _sequence(rank: int, n: int) -> list[Step]:
    left, right = (rank - 1) % n, (rank + 1) % n
    steps = [Step(source=Source.OWN, blocks=(rank, 1), send_to=right, deliver=True)]
    for back in range(1, n):
        blocks = ((rank - back) % n, 1)
        steps.append(Step(
            source=Source.NOTHING, blocks=blocks, receive_from=(left,), combine=Combine.REPLACE, deliver=True,
        ))
        if back < n - 1:
            steps.append(Step(source=Source.RESULT, blocks=blocks, send_to=right))
    return steps
