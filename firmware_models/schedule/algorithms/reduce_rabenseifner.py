"""Reduction by halving, gathered up a binomial tree."""

from ..fold import Fold, kept_blocks, power_below
from ..registry import algorithm
from ..sequence import Combine, Source, Step
from .allreduce_rabenseifner import scatter_steps


@algorithm("reduce", "rabenseifner", blocks=power_below)
def reduce_rabenseifner(n_nodes: int, root: int) -> list[list[Step]]:
    """Partners at distance 1, 2, 4, … exchange halves of what they have; blocks then go to the root, large ones last.

    Of the first 2r ranks the even ones survive, and the root in any case. Source: MPICH,
    ``MPIR_Reduce_intra_reduce_scatter_gather``; R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005).
    """
    fold = Fold(n_nodes, survivor=0, kept=root)
    return [_sequence(rank, fold, root) for rank in range(n_nodes)]


def _sequence(rank: int, fold: Fold, root: int) -> list[Step]:
    place, partner, rounds, goal = fold.place(rank), fold.partner(rank), fold.rounds, fold.place(root)
    if partner is not None and fold.rank(place) != rank:
        return [Step(source=Source.OWN, send_to=partner)]
    steps = scatter_steps(place, partner, fold, deliver=rank == root)
    for k in reversed(range(rounds)):
        other = place ^ 1 << k
        if (place ^ goal) >> k & 1:
            return [*steps, Step(
                source=Source.RESULT, blocks=kept_blocks(place, k + 1, rounds), send_to=fold.rank(other),
            )]
        steps.append(Step(
            source=Source.NOTHING, blocks=kept_blocks(other, k + 1, rounds), receive_from=(fold.rank(other),),
            combine=Combine.REPLACE, deliver=rank == root,
        ))
    return steps
