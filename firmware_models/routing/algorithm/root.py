"""Where trees can be rooted so that they are as low as they can be."""

import numpy as np

from firmware_models.routing.algorithm.forest import Forest
from firmware_models.routing.kernel.graph import Hops, Ints, farthest


def candidate_roots(
    forest: Forest, leaves: Ints, extra: Hops, *, is_full_allowed: bool = False,
) -> tuple[Ints, int]:
    """Algorithm 1, line ①: the switches whose hops to the farthest member are fewest, and that number of hops.

    The least loaded come first; the load of a switch is the number of its table entries in use, and the lowest number
    goes first among equals. Switches whose tables are full are left out unless they are allowed.
    """
    heights = farthest(forest.hops, leaves, extra)
    height = int(heights.min())
    roots = np.flatnonzero(heights == height).astype(np.int32)
    entries = forest.entries[roots]
    if not is_full_allowed and int(entries.max()) >= forest.limit:
        roots, entries = roots[entries < forest.limit], entries[entries < forest.limit]
    return roots[np.argsort(entries, kind="stable")], height
