"""Barrier by dissemination."""

from ..registry import algorithm
from ..sequence import Source, Step


@algorithm("barrier", "dissemination")
def barrier_dissemination(n_nodes: int, root: int) -> list[list[Step]]:
    """In round k each rank signals the rank 2**k further on and waits for the one 2**k before it.

    Source: MPICH, ``MPIR_Barrier_intra_dissemination``; D. Hensgen, R. Finkel, U. Manber, Two Algorithms for Barrier
    Synchronization, International Journal of Parallel Programming 17 (1988).
    """
    distances = [1 << k for k in range((n_nodes - 1).bit_length())]
    sequences: list[list[Step]] = []
    for rank in range(n_nodes):
        senders = [((rank - distance) % n_nodes,) for distance in distances]
        receivers = [(rank + distance) % n_nodes for distance in distances]
        sequences.append([
            Step(source=Source.NOTHING, receive_from=arrival, send_to=target)
            for arrival, target in zip([(), *senders], [*receivers, None], strict=True)
        ])
    return sequences
