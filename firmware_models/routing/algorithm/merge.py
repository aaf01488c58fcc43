"""Merging: when no colour is left, groups share a tree."""

from enum import Enum

import numpy as np
import numpy.typing as npt

from firmware_models.routing.algorithm.forest import Forest, Group, Tree
from firmware_models.routing.algorithm.root import candidate_roots
from firmware_models.routing.algorithm.similarity import Similarity
from firmware_models.routing.kernel.graph import FAR, Ints
from firmware_models.routing.kernel.spread import centres, free_switches, spread, spread_with_old
from firmware_models.routing.kernel.tree import climb


class Partner(Enum):
    """Which group a new one is merged with."""

    SIMILAR = "similar"
    """The one whose tree is nearest by Equation 1; more only if that does not do: optimistic, then pessimistic."""

    SPARSE = "sparse"
    """Those in the way in the colour that has the fewest groups: pessimistic at once, and cheap."""


class OldTrees(Enum):
    """Treatment of the trees that are merged."""

    KEEP = "keep"
    """They become parts of the new one, so that their groups go on undisturbed."""

    REBUILD = "rebuild"
    """They are felled, and the new tree is built from nothing."""


def merge(forest: Forest, group: Group, *, partner: Partner, old: OldTrees, similarity: Similarity) -> Tree:
    """Algorithm 4: makes one virtual group of `group` and others, and one tree for it.

    ① the most similar tree; ② ③ its members and colour; ④ are they connected in G_colour; if not, ⑤ to ⑫ all trees of
    the colour go with them that a tree over the whole network would meet. ⑬ to ⑮ the root that is nearest to the
    farthest member in G_colour; ⑯ the tree (Algorithm 5); ⑰ ⑱ it is entered. In G_colour the switches of the trees
    that are merged count as free, which the paper does not say, but without which no merger could ever be connected.
    """
    if partner is Partner.SIMILAR:
        first = similarity.most_similar(group.members)
        colour, trees = first.colour, [first]
    else:
        colour = min(range(forest.limit), key=lambda c: (_groups_of(forest, c), c))
        trees = []
    members, leaves = _united(forest, group, trees)
    free = free_switches(forest.busy, colour)
    for tree in trees:
        free[tree.switches] = 1
    roots = centres(forest.graph, leaves, free) if trees else np.empty(0, dtype=np.int32)
    if not len(roots):
        trees += _trees_in_the_way(forest, members, colour, trees)
        members, leaves = _united(forest, group, trees)
        for tree in trees:
            free[tree.switches] = 1
        roots = centres(forest.graph, leaves, free)
    root = int(roots[np.argmin(forest.entries[roots])])
    for tree in trees:
        forest.fell(tree)
    work = forest.work
    if old is OldTrees.KEEP:
        n = spread_with_old(forest.graph, root, leaves, free, forest.load, _old_links(forest, trees), work.mark,
                            work.switches, work.up)
    else:
        n = spread(forest.graph, root, leaves, free, forest.load, FAR, work.mark, work.switches, work.up)
    groups = [name for tree in trees for name in tree.groups] + [group.name]
    return forest.plant(colour=colour, switches=work.switches[:n].copy(), up=work.up[:n].copy(), members=members,
                        groups=groups, is_lowest=False)


def _groups_of(forest: Forest, colour: int) -> int:
    return sum(len(forest.trees[number].groups) for number in forest.by_colour.get(colour, ()))


def _united(forest: Forest, group: Group, trees: list[Tree]) -> tuple[Ints, Ints]:
    """Members and leaves of a group and of trees together."""
    members = np.unique(np.concatenate([group.members, *(tree.members for tree in trees)]))
    return members, forest.leaves_of(members)[0]


def _trees_in_the_way(forest: Forest, members: Ints, colour: int, known: list[Tree]) -> list[Tree]:
    """Lines ⑤ to ⑫: the trees of `colour` on the way of a tree for `members` that knows nothing of colours."""
    leaves, extra = forest.leaves_of(members)
    roots, _ = candidate_roots(forest, leaves, extra, is_full_allowed=True)
    work = forest.work
    root = int(roots[0])
    n = climb(forest.graph, forest.hops[root], root, leaves, forest.load, work.mark, work.switches, work.up)
    numbers = np.unique(forest.owner[work.switches[:n], colour])
    have = {tree.number for tree in known}
    return [forest.trees[number] for number in numbers.tolist() if number >= 0 and number not in have]


def _old_links(forest: Forest, trees: list[Tree]) -> npt.NDArray[np.uint8]:
    """1 for both slots of every link of `trees`."""
    is_old = np.zeros(len(forest.load), dtype=np.uint8)
    for tree in trees:
        slots = tree.up[tree.up >= 0]
        is_old[slots] = 1
        is_old[forest.graph.peer_slot[slots]] = 1
    return is_old
