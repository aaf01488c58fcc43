"""First colour, then build."""

import numpy as np

from firmware_models.routing.algorithm.forest import UNLIMITED, Forest, Group, Tree
from firmware_models.routing.algorithm.root import candidate_roots
from firmware_models.routing.kernel.flood import free_colour
from firmware_models.routing.kernel.graph import FAR, Ints, nearest
from firmware_models.routing.kernel.spread import free_switches, spread


def fctb(forest: Forest, group: Group) -> Tree | None:
    """Algorithm 3: the lowest colour in which a tree of minimal height can be built; None if there is none.

    G_colour consists of the trees that have the colour, each by itself, and of what is left of the network
    without their switches. So a group either lies within one of these trees, and uses it as well, or all its leaves
    are free, and the tree is built among the free switches. ① the candidate roots; ② to ⑦ for all colours at once
    (`free_colour`) what the paper does one by one: are the members connected, and is there a root whose farthest
    member is no farther in G_colour than in the whole network; ⑨ Dijkstra's tree in G_colour; ⑩ ⑪ the tree is entered.
    """
    # A root whose table is full is of no use for a new tree, and never found to be free; but it may be in a fitting
    # one.
    roots, height = candidate_roots(forest, group.leaves, group.extra, is_full_allowed=True)
    colour, root = lowest_colour(forest, group, roots, height)
    fitting = tree_around(forest, group, roots, height, below=colour if colour >= 0 else forest.limit)
    if fitting is not None:
        forest.admit(fitting, group.name)
        return fitting
    if colour < 0:
        return None
    forest.make_room(colour)
    work = forest.work
    n = spread(forest.graph, root, group.leaves, free_switches(forest.busy, colour), forest.load,
               FAR, work.mark, work.switches, work.up)
    return forest.plant(colour=colour, switches=work.switches[:n].copy(), up=work.up[:n].copy(), members=group.members,
                        groups=[group.name])


def lowest_colour(forest: Forest, group: Group, roots: Ints, height: int) -> tuple[int, int]:
    """The lowest colour in which one of `roots` reaches the group over free switches, and that root; (-1, -1) if
    none."""
    # With one kind of members either side can be searched from, and the smaller one is quicker.
    from_leaves = len(group.leaves) <= len(roots) or bool(group.extra.min() != group.extra.max())
    near = nearest(forest.hops, roots if from_leaves else group.leaves)
    colour, root = free_colour(
        forest.graph, near, from_leaves, roots, group.leaves, group.extra, height, forest.limit, forest.busy)
    if colour < 0 and 64 * forest.busy.shape[1] < forest.limit:
        # No colour within the words in use: the next one is free everywhere.
        return 64 * forest.busy.shape[1], int(roots[0])
    return colour, root


def tree_around(forest: Forest, group: Group, roots: Ints, height: int, *, below: int) -> Tree | None:
    """The tree of the lowest colour under `below` that has all members of the group, and one of `roots` within
    `height`."""
    if forest.limit == UNLIMITED:
        return None
    common = np.bitwise_and.reduce(forest.busy[group.leaves], axis=0)
    if not common.any():
        return None
    for word in np.flatnonzero(common).tolist():
        for bit in range(64):
            colour = 64 * word + bit
            if colour >= below:
                return None
            if not int(common[word]) >> bit & 1:
                continue
            owners = forest.owner[group.leaves, colour]
            if (owners != owners[0]).any():
                continue
            tree = forest.trees[int(owners[0])]
            if np.isin(group.members, tree.members, assume_unique=True).all() and \
                    _lowest_height(forest, tree, group, roots) <= height:
                return tree
    return None


def _lowest_height(forest: Forest, tree: Tree, group: Group, roots: Ints) -> int:
    """The least, over `roots` in the tree, of the hops within the tree to the farthest member of the group."""
    graph, best = forest.graph, 255
    links: dict[int, list[int]] = {int(s): [] for s in tree.switches}
    for s, slot in zip(tree.switches.tolist(), tree.up.tolist(), strict=True):
        if slot >= 0:
            parent = int(graph.owner[graph.peer_slot[slot]])
            links[s].append(parent)
            links[parent].append(s)
    for root in set(roots.tolist()) & links.keys():
        depth, frontier = {root: 0}, [root]
        for here in frontier:
            for there in links[here]:
                if there not in depth:
                    depth[there] = depth[here] + 1
                    frontier.append(there)
        best = min(best, max(depth[leaf] + more for leaf, more in
                             zip(group.leaves.tolist(), group.extra.tolist(), strict=True)))
    return best
