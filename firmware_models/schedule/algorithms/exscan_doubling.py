"""Exclusive scan by doubling of distances."""

from dataclasses import replace

from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("exscan", "distance-doubling")
def exscan_doubling(n_nodes: int, root: int) -> list[list[Step]]:
    """Rank r takes over the data of rank r - 1; then ranks 1 to n - 1 scan what they have, as the inclusive scan does.

    Rank 0 receives nothing, and the data of rank n - 1 go nowhere. Source of the scan: W. D. Hillis, G. L. Steele, Data
    parallel algorithms, Communications of the ACM 29 (1986).
    """
    return [_sequence(rank, n_nodes) for rank in range(n_nodes)]


def _sequence(rank: int, n_nodes: int) -> list[Step]:
    steps = [Step(source=Source.OWN, send_to=rank + 1)] if rank + 1 < n_nodes else []
    if rank == 0:
        return steps
    # This rank scans with the operand of its predecessor, so it is number `place` of the ranks that scan.
    place, places = rank - 1, n_nodes - 1
    step = Step(source=Source.NOTHING, receive_from=(rank - 1,), combine=Combine.REPLACE)
    distance = 1
    while True:
        sends = place + distance < places
        if sends:
            step = replace(step, send_to=rank + distance)
        if sends or step.receive_from:
            steps.append(step)
        if place < distance and not sends:
            return [*steps[:-1], replace(steps[-1], deliver=True)]
        if place < distance:
            # Nothing comes any more; what is left goes to those that are further on.
            step = Step(source=Source.RESULT)
        else:
            step = Step(source=Source.RESULT, receive_from=(rank - distance,), combine=Combine.REDUCE)
        distance *= 2
