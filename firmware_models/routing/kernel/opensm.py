"""Paths as OpenSM takes them."""

from numba import njit

from firmware_models.routing.kernel.graph import Graph, Hops, Ints
from firmware_models.routing.kernel.tree import Stamps


@njit(cache=True)
def descend(graph: Graph, hops: Hops, root: int, leaves: Ints, mark: Stamps, switches: Ints, up: Ints) -> int:
    """From the root down: towards each leaf every switch takes the lowest port that is on a shortest path.

    Two such paths never meet again after they have parted: where both go through a switch, the lowest port on a
    shortest path to it is the lowest for both. Fills `switches` and `up`; returns how many there are.
    """
    mark[-1] += 1
    stamp = mark[-1]
    switches[0], up[0], mark[root], n = root, -1, stamp, 1
    for leaf in leaves:
        here = root
        row = hops[leaf]
        while here != leaf:
            for k in range(graph.start[here], graph.start[here + 1]):
                there = graph.to[k]
                if row[there] + 1 == row[here]:
                    if mark[there] != stamp:
                        mark[there] = stamp
                        switches[n], up[n] = there, graph.peer_slot[graph.slot[k]]
                        n += 1
                    here = there
                    break
    return n
