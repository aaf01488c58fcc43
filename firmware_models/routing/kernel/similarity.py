"""Distances of a group to all trees at once (Equation 1)."""

import numpy as np
import numpy.typing as npt
from numba import njit

from firmware_models.routing.kernel.graph import Hops, Ints


@njit(cache=True)
def distances(near_tree: Hops, alive: npt.NDArray[np.uint8], start: Ints, count: Ints, tree_leaves: Ints,
              near_group: Hops, group_leaves: Ints) -> npt.NDArray[np.float64]:
    """Equation 1 for every tree: the mean, over the members of both, of the hops to the nearest member of the other.

    ``near_tree[t]`` holds the hops from every switch to the nearest member of tree `t`, `near_group` those to the
    group; the leaves of a tree's members are ``tree_leaves[start[t]:start[t] + count[t]]``. Infinite for what is not
    `alive`.
    """
    result = np.full(len(alive), np.inf)
    for t in range(len(alive)):
        if not alive[t]:
            continue
        total = 0
        row = near_tree[t]
        for leaf in group_leaves:
            total += row[leaf]
        for i in range(start[t], start[t] + count[t]):
            total += near_group[tree_leaves[i]]
        result[t] = total / (len(group_leaves) + count[t])
    return result
