"""Allreduce by halving and doubling."""

from ..fold import Fold, kept_blocks, power_below
from ..registry import algorithm
from ..sequence import ALL, Combine, Source, Step


@algorithm("allreduce", "rabenseifner", blocks=power_below)
def allreduce_rabenseifner(n_nodes: int, root: int) -> list[list[Step]]:
    """Partners at distance 1, 2, 4, … exchange halves of what they have, and then come back the same way.

    Of the first 2r ranks the odd ones survive, as in recursive doubling. Source: MPICH,
    ``MPIR_Allreduce_intra_reduce_scatter_allgather``; R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005).
    """
    fold = Fold(n_nodes, survivor=1)
    return [_sequence(rank, fold) for rank in range(n_nodes)]


def _sequence(rank: int, fold: Fold) -> list[Step]:
    place, partner, rounds = fold.place(rank), fold.partner(rank), fold.rounds
    if partner is not None and fold.rank(place) != rank:
        return [
            Step(source=Source.OWN, send_to=partner),
            Step(source=Source.NOTHING, receive_from=(partner,), combine=Combine.REPLACE, deliver=True),
        ]
    steps = scatter_steps(place, partner, fold, deliver=True)
    for k in reversed(range(rounds)):
        other = fold.rank(place ^ 1 << k)
        steps.append(Step(source=Source.RESULT, blocks=kept_blocks(place, k + 1, rounds), send_to=other))
        steps.append(Step(
            source=Source.NOTHING, blocks=kept_blocks(place ^ 1 << k, k + 1, rounds), receive_from=(other,),
            combine=Combine.REPLACE, deliver=True,
        ))
    if partner is not None:
        steps.append(Step(source=Source.RESULT, blocks=ALL, send_to=partner))
    return steps


def scatter_steps(place: int, partner: int | None, fold: Fold, *, deliver: bool) -> list[Step]:
    """The first half, which leaves one reduced block at each place; the last step delivers it if it is to."""
    steps: list[Step] = []
    source = Source.OWN
    if partner is not None:
        steps.append(Step(source=Source.OWN, receive_from=(partner,), combine=Combine.REDUCE))
        source = Source.RESULT
    for k in range(fold.rounds):
        other = fold.rank(place ^ 1 << k)
        steps.append(Step(source=source, blocks=kept_blocks(place ^ 1 << k, k + 1, fold.rounds), send_to=other))
        steps.append(Step(
            source=source, blocks=kept_blocks(place, k + 1, fold.rounds), receive_from=(other,),
            combine=Combine.REDUCE, deliver=deliver and k == fold.rounds - 1,
        ))
        source = Source.RESULT
    return steps
