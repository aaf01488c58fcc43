"""Alltoall by exchange of every pair."""

from ..pace import fenced
from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("alltoall", "pairwise", blocks=lambda n_nodes: n_nodes, equal_blocks=True)
def alltoall_pairwise(n_nodes: int, root: int) -> list[list[Step]]:
    """In round k rank r sends its block r + k to rank r + k, whose block r it becomes.

    Source: MPICH, ``MPIR_Alltoall_intra_pairwise``, for counts that are no powers of two.
    """
    return [
        fenced(_rounds(rank, n_nodes), rank=rank, n_nodes=n_nodes, block_count=n_nodes) for rank in range(n_nodes)
    ]


def _rounds(rank: int, n: int) -> list[list[Step]]:
    rounds = [
        [
            Step(source=Source.OWN, blocks=((rank + k) % n, 1), send_to=(rank + k) % n),
            Step(
                source=Source.NOTHING, blocks=((rank - k) % n, 1), receive_from=((rank - k) % n,),
                combine=Combine.REPLACE, deliver=True,
            ),
        ]
        for k in range(1, n)
    ]
    rounds[0].insert(0, Step(source=Source.OWN, blocks=(rank, 1), deliver=True))
    return rounds
