"""Allgather by recursive doubling."""

from ..fold import Fold
from ..registry import algorithm
from ..sequence import ALL, Combine, Source, Step


@algorithm("allgather", "recursive-doubling", blocks=lambda n_nodes: n_nodes)
def allgather_recursive_doubling(n_nodes: int, root: int) -> list[list[Step]]:
    """Partners at distance 1, 2, 4, … exchange all that they have.

    On counts that are no powers of two the odd rank of each of the first pairs speaks for both, and passes the whole
    on in the end. Source for powers of two: MPICH, ``MPIR_Allgather_intra_recursive_doubling``.
    """
    fold = Fold(n_nodes, survivor=1)
    return [_sequence(rank, fold) for rank in range(n_nodes)]


def _sequence(rank: int, fold: Fold) -> list[Step]:
    place, partner = fold.place(rank), fold.partner(rank)
    own = Step(source=Source.OWN, blocks=(rank, 1), deliver=True)
    if partner is not None and fold.rank(place) != rank:
        return [
            Step(source=Source.OWN, blocks=(rank, 1), send_to=partner),
            Step(source=Source.NOTHING, blocks=ALL, receive_from=(partner,), combine=Combine.REPLACE, deliver=True),
        ]
    steps = [own]
    if partner is not None:
        steps.append(_take(partner, (partner, 1)))
    for k in range(fold.rounds):
        other = fold.rank(place ^ 1 << k)
        steps.append(Step(source=Source.RESULT, blocks=fold.span(place >> k << k, 1 << k), send_to=other))
        steps.append(_take(other, fold.span((place ^ 1 << k) >> k << k, 1 << k)))
    if partner is not None:
        steps.append(Step(source=Source.RESULT, blocks=ALL, send_to=partner))
    return steps


def _take(sender: int, blocks: tuple[int, int]) -> Step:
    return Step(source=Source.NOTHING, blocks=blocks, receive_from=(sender,), combine=Combine.REPLACE, deliver=True)
