"""Allreduce around a ring."""

from ..pace import paced
from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("allreduce", "ring", blocks=lambda n_nodes: n_nodes)
def allreduce_ring(n_nodes: int, root: int) -> list[list[Step]]:
    """Block b is summed from rank b + 1 round to rank b, and goes round once more.

    Source: MPICH, ``MPIR_Allreduce_intra_ring``; P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for
    clusters of workstations, Journal of Parallel and Distributed Computing 69 (2009).

    Taking a block and sending it on are two steps: in one, everybody would hold a packet while waiting for the credit
    that the next rank returns only when it lets go of its own.
    """
    return [
        paced(_sequence(rank, n_nodes), rank=rank, n_nodes=n_nodes, block_count=n_nodes) for rank in range(n_nodes)
    ]


def _sequence(rank: int, n: int) -> list[Step]:
    left, right = (rank - 1) % n, (rank + 1) % n
    steps = [Step(source=Source.OWN, blocks=(left, 1), send_to=right)]
    for back in range(2, 2 * n):
        summing = back <= n
        blocks = ((rank - back) % n, 1)
        steps.append(Step(
            source=Source.OWN if summing else Source.NOTHING, blocks=blocks, receive_from=(left,),
            combine=Combine.REDUCE if summing else Combine.REPLACE, deliver=back >= n,
        ))
        if back < 2 * n - 1:
            steps.append(Step(source=Source.RESULT, blocks=blocks, send_to=right))
    return steps
