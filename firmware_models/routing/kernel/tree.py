"""Trees as two arrays: the switches, and for each the slot that leads to its parent (-1 at the root)."""

import numpy as np
import numpy.typing as npt
from numba import njit

from firmware_models.routing.kernel.graph import Graph, Hops, Ints

Words = npt.NDArray[np.uint64]
Stamps = npt.NDArray[np.int64]

NONE = np.uint64(0)
ONE = np.uint64(1)


@njit(cache=True)
def climb(graph: Graph, hops_to_root: Hops, root: int, leaves: Ints, load: Ints, mark: Stamps, switches: Ints,
          up: Ints) -> int:
    """Algorithm 2, `build_mct_from_down_to_up`: each leaf climbs towards the root over the least loaded of the ports
    that are on a shortest path, until it meets what has been climbed before. Of equal loads the lowest port is taken.

    Fills `switches` and `up`; returns how many there are. ``mark[-1]`` is the clock of the stamps in `mark`.
    """
    mark[-1] += 1
    stamp = mark[-1]
    switches[0], up[0], mark[root], n = root, -1, stamp, 1
    for leaf in leaves:
        here = leaf
        while mark[here] != stamp:
            mark[here] = stamp
            nearer = hops_to_root[here] - 1
            best = np.int32(-1)
            for k in range(graph.start[here], graph.start[here + 1]):
                if hops_to_root[graph.to[k]] == nearer and (best < 0 or load[graph.slot[k]] < load[best]):
                    best = graph.slot[k]
            switches[n], up[n] = here, best
            n += 1
            here = graph.owner[graph.peer_slot[best]]
    return n


@njit(cache=True)
def first_free(busy: Words, switches: Ints, n: int, limit: int) -> int:
    """The lowest colour below `limit` that no switch of the tree uses; -1 if there is none. 64 colours a step."""
    for word in range(busy.shape[1]):
        used = NONE
        for i in range(n):
            used |= busy[switches[i], word]
        if used != ~NONE:
            bit = 0
            while used >> np.uint64(bit) & ONE:
                bit += 1
            colour = 64 * word + bit
            return colour if colour < limit else -1
    return -1


@njit(cache=True)
def first_success(graph: Graph, hops: Hops, roots: Ints, leaves: Ints, load: Ints, busy: Words, limit: int,
                  mark: Stamps, switches: Ints, up: Ints) -> tuple[int, int]:
    """Algorithm 1, lines ② to ⑦: the first of `roots` whose tree can be coloured. Returns its size and colour (or
    -1)."""
    for root in roots:
        n = climb(graph, hops[root], root, leaves, load, mark, switches, up)
        colour = first_free(busy, switches, n, limit)
        if colour >= 0:
            return n, colour
    return 0, -1


@njit(cache=True)
def occupy(graph: Graph, switches: Ints, up: Ints, colour: int, weight: int, is_new: bool, busy: Words, entries: Ints,
           load: Ints) -> None:
    """Enters a tree with `weight` groups into the tables' bitmaps and the loads of its links, or takes it out."""
    word, bit = colour // 64, ONE << np.uint64(colour % 64)
    sign = 1 if is_new else -1
    for i in range(len(switches)):
        s = switches[i]
        busy[s, word] = busy[s, word] | bit if is_new else busy[s, word] & ~bit
        entries[s] += sign
        if up[i] >= 0:
            load[up[i]] += sign * weight
            load[graph.peer_slot[up[i]]] += sign * weight


@njit(cache=True)
def port_masks(graph: Graph, base: Ints, switches: Ints, up: Ints, members: Ints, attach: Ints, attach_port: Ints,
               place: Ints, masks: Words) -> None:
    """The table entry of every switch of a tree: its links, and the ports of its members."""
    for i in range(len(switches)):
        place[switches[i]] = i
    for i in range(len(switches)):
        if up[i] >= 0:
            port = up[i] - base[switches[i]] + 1
            masks[i, port // 64] |= ONE << np.uint64(port % 64)
            down = graph.peer_slot[up[i]]
            parent = graph.owner[down]
            port = down - base[parent] + 1
            masks[place[parent], port // 64] |= ONE << np.uint64(port % 64)
    for member in members:
        port = attach_port[member]
        masks[place[attach[member]], port // 64] |= ONE << np.uint64(port % 64)
