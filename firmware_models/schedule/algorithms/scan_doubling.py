"""Inclusive scan by doubling of distances."""

from dataclasses import replace

from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("scan", "distance-doubling")
def scan_doubling(n_nodes: int, root: int) -> list[list[Step]]:
    """In round k rank r sends what it has to rank r + 2**k and adds what rank r - 2**k had.

    Source: W. D. Hillis, G. L. Steele, Data parallel algorithms, Communications of the ACM 29 (1986). MPICH's scan
    keeps two sums a rank and associates otherwise.
    """
    sequences: list[list[Step]] = []
    for rank in range(n_nodes):
        steps: list[Step] = []
        arrival: tuple[int, ...] = ()
        distance = 1
        while True:
            target = rank + distance if rank + distance < n_nodes and distance < n_nodes else None
            steps.append(Step(
                source=Source.RESULT if steps else Source.OWN, receive_from=arrival, send_to=target,
                combine=Combine.REDUCE if arrival else Combine.TRIGGER,
            ))
            if rank < distance:
                # Nothing comes any more; what is left goes to those that are further on.
                if target is None:
                    break
                arrival = ()
            else:
                arrival = (rank - distance,)
            distance *= 2
        sequences.append([*steps[:-1], replace(steps[-1], deliver=True)])
    return sequences
