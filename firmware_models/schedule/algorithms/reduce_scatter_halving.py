"""Reduce-scatter by recursive halving."""

from ..fold import Fold
from ..registry import algorithm
from ..sequence import Combine, Source, Step


@algorithm("reduce-scatter", "halving", blocks=lambda n_nodes: n_nodes)
def reduce_scatter_halving(n_nodes: int, root: int) -> list[list[Step]]:
    """Partners at distance p/2, p/4, …, 1 exchange halves of what they have, and rank r is left with block r.

    Of the first 2r ranks the odd ones survive and give the even ones their blocks in the end. Source: MPICH,
    ``MPIR_Reduce_scatter_intra_recursive_halving``.
    """
    fold = Fold(n_nodes, survivor=1)
    return [_sequence(rank, fold) for rank in range(n_nodes)]


def _sequence(rank: int, fold: Fold) -> list[Step]:
    place, partner = fold.place(rank), fold.partner(rank)
    if partner is not None and fold.rank(place) != rank:
        return [
            Step(source=Source.OWN, send_to=partner),
            Step(
                source=Source.NOTHING, blocks=(rank, 1), receive_from=(partner,), combine=Combine.REPLACE, deliver=True,
            ),
        ]
    steps: list[Step] = []
    source = Source.OWN
    if partner is not None:
        steps.append(Step(source=Source.OWN, receive_from=(partner,), combine=Combine.REDUCE))
        source = Source.RESULT
    for k in reversed(range(fold.rounds)):
        other = place ^ 1 << k
        steps.append(Step(source=source, blocks=fold.span(other >> k << k, 1 << k), send_to=fold.rank(other)))
        steps.append(Step(
            source=source, blocks=fold.span(place >> k << k, 1 << k), receive_from=(fold.rank(other),),
            combine=Combine.REDUCE,
        ))
        source = Source.RESULT
    steps.append(Step(source=Source.RESULT, blocks=(rank, 1), deliver=True))
    if partner is not None:
        steps.append(Step(source=Source.RESULT, blocks=(partner, 1), send_to=partner))
    return steps
