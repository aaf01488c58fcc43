"""First build, then colour."""

from firmware_models.routing.algorithm.forest import Forest, Group, Tree
from firmware_models.routing.algorithm.root import candidate_roots
from firmware_models.routing.kernel.tree import first_success


def fbtc(forest: Forest, group: Group) -> Tree | None:
    """Algorithm 1: builds a tree of minimal height and colours it; None if that fails for every root.

    ① the candidate roots by load; ② to ⑦ for each of them a tree from the leaves up (Algorithm 2), coloured with the
    lowest colour that is free on all its switches, until that succeeds; ⑧ to ⑪ the tree is entered.
    """
    roots, _ = candidate_roots(forest, group.leaves, group.extra)
    work = forest.work
    n, colour = first_success(forest.graph, forest.hops, roots, group.leaves, forest.load, forest.busy, forest.limit,
                              work.mark, work.switches, work.up)
    if colour < 0:
        return None
    return forest.plant(colour=colour, switches=work.switches[:n].copy(), up=work.up[:n].copy(), members=group.members,
                        groups=[group.name])
