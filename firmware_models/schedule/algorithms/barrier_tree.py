"""Barrier up and down a binomial tree."""

from ..registry import algorithm
from ..sequence import Source, Step


@algorithm("barrier", "tree")
def barrier_tree(n_nodes: int, root: int) -> list[list[Step]]:
    """Every rank tells its parent that its subtree is there; rank 0 lets all go, the largest subtree first."""
    sequences: list[list[Step]] = []
    for rank in range(n_nodes):
        children: list[int] = []
        mask = 1
        while mask < n_nodes and not rank & mask:
            if rank | mask < n_nodes:
                children.append(rank | mask)
            mask <<= 1
        parent = rank & rank - 1
        down = list(reversed(children))
        if rank == 0:
            first = [Step(source=Source.NOTHING, receive_from=tuple(children), send_to=down[0])]
            down = down[1:]
        else:
            first = [Step(source=Source.NOTHING, receive_from=tuple(children), send_to=parent)]
            first.append(Step(source=Source.NOTHING, receive_from=(parent,), send_to=down[0] if down else None))
            down = down[1:]
        sequences.append([*first, *(Step(source=Source.NOTHING, send_to=child) for child in down)])
    return sequences
