"""Reduce-scatter by exchange of every pair."""

from ..pace import fenced
from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("reduce-scatter", "pairwise", blocks=lambda n_nodes: n_nodes)
def reduce_scatter_pairwise(n_nodes: int, root: int) -> list[list[Step]]:
    """In round k rank r sends its part of block r + k to rank r + k, and adds what rank r - k has for it.

    Source: MPICH, ``MPIR_Reduce_scatter_intra_pairwise``.
    """
    return [
        fenced(_rounds(rank, n_nodes), rank=rank, n_nodes=n_nodes, block_count=n_nodes) for rank in range(n_nodes)
    ]


def _rounds(rank: int, n: int) -> list[list[Step]]:
    return [
        [
            Step(source=Source.OWN, blocks=((rank + k) % n, 1), send_to=(rank + k) % n),
            Step(
                source=Source.OWN if k == 1 else Source.RESULT, blocks=(rank, 1), receive_from=((rank - k) % n,),
                combine=Combine.REDUCE, deliver=k == n - 1,
            ),
        ]
        for k in range(1, n)
    ]
