"""Deletion of a group."""

from collections import Counter

import numpy as np

from firmware_models.routing.algorithm.forest import Forest, Group, Tree
from firmware_models.routing.kernel.graph import Ints


def delete(forest: Forest, group: Group, others: list[Group]) -> Tree | None:
    """Algorithm 6: takes a group out of its tree; `others` are the groups that use the tree too.

    ② members that no other group needs leave the tree; ③ to ⑦ switches without links downwards are pruned, again and
    again. Returns the tree that the others have now, None if there are none: then all of it goes. No route of another
    group changes.
    """
    tree = group.tree
    assert tree is not None, "a group without a tree has none to be deleted from"
    forest.fell(tree)
    if not others:
        return None
    members = np.unique(np.concatenate([other.members for other in others]))
    kept = _pruned(forest, tree, members)
    left = [name for name in tree.groups if name != group.name]
    return forest.plant(colour=tree.colour, switches=tree.switches[kept], up=tree.up[kept], members=members,
                        groups=left, is_lowest=tree.is_lowest)


def _pruned(forest: Forest, tree: Tree, members: Ints) -> Ints:
    """Places of the switches that remain when those without members and without links downwards go, the root
    excepted."""
    graph, switches = forest.graph, tree.switches.tolist()
    place = {s: i for i, s in enumerate(switches)}
    parents = [place[int(graph.owner[graph.peer_slot[slot]])] if slot >= 0 else -1 for slot in tree.up.tolist()]
    children = Counter(parents)
    needed = set(forest.network.attach[members].tolist())
    queue = [i for i, s in enumerate(switches) if not children[i] and s not in needed]
    gone = set()
    for i in queue:
        if parents[i] < 0:
            continue
        gone.add(i)
        above = parents[i]
        children[above] -= 1
        if not children[above] and switches[above] not in needed:
            queue.append(above)
    return np.array([i for i in range(len(switches)) if i not in gone], dtype=np.int32)
