"""Trees over the free part of a colour: shortest in hops, then least loaded."""

import heapq

import numpy as np
import numpy.typing as npt
from numba import njit

from firmware_models.routing.kernel.graph import Graph, Ints
from firmware_models.routing.kernel.tree import NONE, ONE, Stamps, Words

Flags = npt.NDArray[np.uint8]


@njit(cache=True)
def free_switches(busy: Words, colour: int) -> Flags:
    """1 for every switch that does not use `colour`."""
    word, shift = colour // 64, np.uint64(colour % 64)
    free = np.empty(len(busy), np.uint8)
    for s in range(len(busy)):
        free[s] = 0 if busy[s, word] >> shift & ONE else 1
    return free


@njit(cache=True)
def spread(graph: Graph, root: int, leaves: Ints, free: Flags, load: Ints, height: int, mark: Stamps, switches: Ints,
           up: Ints) -> int:
    """Algorithm 5 without old trees: Dijkstra's shortest paths from `root` to the leaves over free switches.

    The weight of a link is a hop first and its load second, so that a search level by level does, and heights are
    minimal. Fills `switches` and `up`; returns how many there are, 0 if a leaf cannot be reached within `height` hops.
    """
    n_switches = len(graph.start) - 1
    mark[-1] += 1
    stamp = mark[-1]
    wanted = np.zeros(n_switches, np.uint8)
    n_wanted = 0
    for leaf in leaves:
        if not wanted[leaf]:
            wanted[leaf] = 1
            n_wanted += 1
    level = np.zeros(n_switches, np.int32)
    cost = np.zeros(n_switches, np.int64)
    parent = np.full(n_switches, -1, np.int32)
    queue = np.empty(n_switches, np.int32)
    queue[0], mark[root] = root, stamp
    n_wanted -= wanted[root]
    head, tail = 0, 1
    while head < tail and n_wanted > 0:
        end = tail
        depth = level[queue[head]] + 1
        if depth > height:
            return 0
        while head < end:
            here = queue[head]
            head += 1
            for k in range(graph.start[here], graph.start[here + 1]):
                there = graph.to[k]
                if not free[there]:
                    continue
                price = cost[here] + load[graph.slot[k]]
                if mark[there] != stamp:
                    mark[there], level[there], queue[tail] = stamp, depth, there
                    tail += 1
                    n_wanted -= wanted[there]
                elif level[there] != depth or price >= cost[there]:
                    continue
                cost[there] = price
                parent[there] = graph.peer_slot[graph.slot[k]]
    return _gather(graph, root, leaves, parent, mark, switches, up) if n_wanted == 0 else 0


@njit(cache=True)
def _gather(graph: Graph, root: int, leaves: Ints, parent: Ints, mark: Stamps, switches: Ints, up: Ints) -> int:
    """The part of a tree of shortest paths that leads to the leaves."""
    mark[-1] += 1
    stamp = mark[-1]
    switches[0], up[0], mark[root], n = root, -1, stamp, 1
    for leaf in leaves:
        here = leaf
        while mark[here] != stamp:
            mark[here] = stamp
            switches[n], up[n] = here, parent[here]
            n += 1
            here = graph.owner[graph.peer_slot[parent[here]]]
    return n


@njit(cache=True)
def spread_with_old(graph: Graph, root: int, leaves: Ints, free: Flags, load: Ints, is_old: Flags, mark: Stamps,
                    switches: Ints, up: Ints) -> int:
    """Algorithm 5, `build_mct_by_dijkstra`: like `spread`, but the old trees, whose slots are those in `is_old`, stay.

    As soon as a switch of an old tree is settled (lines ⑤ to ⑫), the whole of that tree is: its switches become
    children along its own links, and what is beside it is relaxed from there.
    """
    n_switches = len(graph.start) - 1
    cost = np.full(n_switches, np.int64(1) << 60, np.int64)
    parent = np.full(n_switches, -1, np.int32)
    settled = np.zeros(n_switches, np.uint8)
    hop = np.int64(1) << 40
    cost[root] = 0
    heap = [(np.int64(0), np.int64(root))]
    queue = np.empty(n_switches, np.int32)
    while len(heap) > 0:
        price, first = heapq.heappop(heap)
        if settled[first] or price > cost[first]:
            continue
        settled[first] = 1
        queue[0] = first
        head, tail = 0, 1
        while head < tail:
            here = queue[head]
            head += 1
            for k in range(graph.start[here], graph.start[here + 1]):
                slot, there = graph.slot[k], graph.to[k]
                if settled[there] or not free[there]:
                    continue
                price = cost[here] + hop + load[slot]
                if is_old[slot]:
                    settled[there] = 1
                    queue[tail] = there
                    tail += 1
                elif price < cost[there]:
                    heapq.heappush(heap, (price, np.int64(there)))
                else:
                    continue
                cost[there] = price
                parent[there] = graph.peer_slot[slot]
    for leaf in leaves:
        if not settled[leaf]:
            return 0
    return _gather(graph, root, leaves, parent, mark, switches, up)


@njit(cache=True)
def centres(graph: Graph, leaves: Ints, free: Flags) -> Ints:
    """Algorithm 4, lines ⑬ to ⑮: the free switches whose hops to the farthest leaf, over free switches, are fewest.

    One search from all leaves at once, 64 of them a word: the first level on which some switch has heard of all leaves
    is the answer. Empty if the leaves are not connected.
    """
    n_switches = len(graph.start) - 1
    n_words = (len(leaves) + 63) // 64
    heard = np.zeros((n_switches, n_words), np.uint64)
    fresh, coming = np.zeros_like(heard), np.zeros_like(heard)
    queue, after = np.empty(n_switches, np.int32), np.empty(n_switches, np.int32)
    is_coming = np.zeros(n_switches, np.uint8)
    everyone = np.full(n_words, ~NONE)
    if len(leaves) % 64:
        everyone[-1] = (ONE << np.uint64(len(leaves) % 64)) - ONE
    n_queue = 0
    for i in range(len(leaves)):
        leaf = leaves[i]
        if not free[leaf]:
            return np.empty(0, np.int32)
        if not is_coming[leaf]:
            is_coming[leaf] = 1
            queue[n_queue] = leaf
            n_queue += 1
        heard[leaf, i // 64] |= ONE << np.uint64(i % 64)
    found = np.empty(n_switches, np.int32)
    n_found = 0
    for q in range(n_queue):
        fresh[queue[q]] = heard[queue[q]]
        is_coming[queue[q]] = 0
        if (heard[queue[q]] == everyone).all():
            found[n_found] = queue[q]
            n_found += 1
    while n_queue > 0 and n_found == 0:
        n_after = 0
        for q in range(n_queue):
            here = queue[q]
            for k in range(graph.start[here], graph.start[here + 1]):
                there = graph.to[k]
                if not free[there]:
                    continue
                added = NONE
                for w in range(n_words):
                    bits = fresh[here, w] & ~heard[there, w]
                    added |= bits
                    coming[there, w] |= bits
                if added != NONE and not is_coming[there]:
                    is_coming[there] = 1
                    after[n_after] = there
                    n_after += 1
        for q in range(n_queue):
            fresh[queue[q]] = NONE
        for q in range(n_after):
            there = after[q]
            is_coming[there] = 0
            fresh[there] = coming[there]
            coming[there] = NONE
            heard[there] |= fresh[there]
            if (heard[there] == everyone).all():
                found[n_found] = there
                n_found += 1
        queue, after, n_queue = after, queue, n_after
    return np.sort(found[:n_found])
