"""Reduction up a binomial tree."""

from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("reduce", "binomial")
def reduce_binomial(n_nodes: int, root: int) -> list[list[Step]]:
    """Each rank folds its own data, then child 1, child 2, child 4, …, and sends the sum to its parent.

    Ranks are taken relative to the root, as MPICH does for commutative operators. Source: MPICH,
    ``MPIR_Reduce_intra_binomial``; R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005), section 8.

    One step a rank: all children of a rank trigger one descriptor, in this order.
    """
    return [_sequence(rank, n_nodes, root) for rank in range(n_nodes)]


def _sequence(rank: int, n_nodes: int, root: int) -> list[Step]:
    relative = (rank - root) % n_nodes
    children: list[int] = []
    mask = 1
    while mask < n_nodes and not relative & mask:
        if relative | mask < n_nodes:
            children.append(((relative | mask) + root) % n_nodes)
        mask <<= 1
    parent = None if relative == 0 else (relative - mask + root) % n_nodes
    return [
        Step(
            source=Source.OWN, receive_from=tuple(children), send_to=parent, deliver=parent is None,
            combine=Combine.REDUCE if children else Combine.TRIGGER,
        )
    ]
