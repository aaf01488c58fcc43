"""Broadcast down a binomial tree."""

from dataclasses import replace

from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("broadcast", "binomial")
def broadcast_binomial(n_nodes: int, root: int) -> list[list[Step]]:
    """Each rank forwards to the children that its lowest set bit leaves it, the largest subtree first.

    Ranks are taken relative to the root. Source: MPICH, ``MPIR_Bcast_intra_binomial``; R. Thakur, R. Rabenseifner,
    W. Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 19 (2005), section 5.

    Forwarding goes before delivery, which only delays the rank itself.
    """
    return [_sequence(rank, n_nodes, root) for rank in range(n_nodes)]


def _sequence(rank: int, n_nodes: int, root: int) -> list[Step]:
    relative = (rank - root) % n_nodes
    mask = 1
    while mask < n_nodes and not relative & mask:
        mask <<= 1
    # The first step brings the data here; the others pass it on.
    if relative == 0:
        first = Step(source=Source.OWN)
    else:
        parent = (relative - mask + root) % n_nodes
        first = Step(source=Source.NOTHING, receive_from=(parent,), combine=Combine.REPLACE)
    children: list[int] = []
    while mask := mask >> 1:
        if relative + mask < n_nodes:
            children.append((relative + mask + root) % n_nodes)
    steps = [first, *(Step(source=Source.RESULT) for _ in children[1:])]
    steps = [replace(step, send_to=child) for step, child in zip(steps, children, strict=True)] if children else steps
    return [*steps[:-1], replace(steps[-1], deliver=True)]
