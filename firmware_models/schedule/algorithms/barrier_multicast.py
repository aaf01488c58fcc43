"""Barrier up a binomial tree and back by one multicast."""

from dataclasses import replace

from ..registry import algorithm
from ..sequence import Combine, Source, Step
from .allreduce_reduce_multicast import back_by_multicast
from .reduce_binomial import reduce_binomial


@algorithm("barrier", "multicast")
def barrier_multicast(n_nodes: int, root: int) -> list[list[Step]]:
    """Every rank tells its parent that its subtree is there; rank 0 lets all others go in one packet."""
    up = [
        [replace(step, source=Source.NOTHING, combine=Combine.TRIGGER, deliver=False) for step in sequence]
        for sequence in reduce_binomial(n_nodes, 0)
    ]
    return back_by_multicast(up, Combine.TRIGGER, deliver=False)
