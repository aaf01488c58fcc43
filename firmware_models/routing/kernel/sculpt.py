"""Trees with few switches: level by level from the leaves, each switch a parent of as many as it can."""

import numpy as np
from numba import njit

from firmware_models.routing.kernel.graph import Graph, Ints
from firmware_models.routing.kernel.spread import Flags
from firmware_models.routing.kernel.tree import Stamps


@njit(cache=True)
def sculpt(graph: Graph, root: int, leaves: Ints, free: Flags, load: Ints, entries: Ints, height: int,
           mark: Stamps, switches: Ints, up: Ints) -> int:
    """A tree from `root` to the leaves over free switches in which no leaf is more than `height` hops away.

    Levels are hops from the root over free switches. From the deepest level up, every switch of the tree takes a
    parent one level higher: one that is in the tree already if there is one, else the one that the most switches of
    this level can share. Of equals the least loaded link is taken, and of these the switch with the fewest table
    entries.

    Fills `switches` and `up`; returns how many there are, 0 if a leaf is out of reach.
    """
    n_switches = len(graph.start) - 1
    level = np.full(n_switches, -1, np.int32)
    wanted = np.zeros(n_switches, np.uint8)
    n_wanted = 0
    for leaf in leaves:
        if not wanted[leaf]:
            wanted[leaf] = 1
            n_wanted += 1
    queue = np.empty(n_switches, np.int32)
    queue[0], level[root] = root, 0
    n_wanted -= wanted[root]
    head, tail = 0, 1
    deepest = 0
    while head < tail and n_wanted > 0:
        here = queue[head]
        head += 1
        if level[here] == height:
            break
        for k in range(graph.start[here], graph.start[here + 1]):
            there = graph.to[k]
            if free[there] and level[there] < 0:
                level[there] = level[here] + 1
                deepest = max(deepest, level[there])
                queue[tail] = there
                tail += 1
                n_wanted -= wanted[there]
    if n_wanted > 0:
        return 0
    mark[-1] += 1
    stamp = mark[-1]
    switches[0], up[0], mark[root], n = root, -1, stamp, 1
    place = np.zeros(n_switches, np.int32)
    for leaf in leaves:
        if mark[leaf] != stamp:
            mark[leaf] = stamp
            switches[n], up[n], place[leaf] = leaf, -1, n
            n += 1
    shares = np.zeros(n_switches, np.int32)
    cost = np.zeros(n_switches, np.int64)
    orphans, possible = np.empty(n_switches, np.int32), np.empty(n_switches, np.int32)
    for depth in range(deepest, 0, -1):
        n_orphans = 0
        for i in range(n):
            here = switches[i]
            if level[here] != depth or up[i] >= 0:
                continue
            best = np.int32(-1)
            for k in range(graph.start[here], graph.start[here + 1]):
                there, slot = graph.to[k], graph.slot[k]
                if level[there] == depth - 1 and mark[there] == stamp and \
                        (best < 0 or load[slot] < load[best]):
                    best = slot
            if best >= 0:
                up[i] = best
            else:
                orphans[n_orphans] = here
                n_orphans += 1
        while n_orphans > 0:
            # For each possible parent: the number of orphans that it could adopt, and the load of its most loaded link
            # to one.
            n_possible = 0
            for q in range(n_orphans):
                here = orphans[q]
                for k in range(graph.start[here], graph.start[here + 1]):
                    there, slot = graph.to[k], graph.slot[k]
                    if level[there] != depth - 1 or not (free[there] or there == root):
                        continue
                    if shares[there] == 0:
                        possible[n_possible] = there
                        n_possible += 1
                        cost[there] = 0
                    shares[there] += 1
                    cost[there] = max(cost[there], np.int64(load[slot]))
            best_switch, best_key = np.int32(-1), np.int64(-1) << 60
            for q in range(n_possible):
                there = possible[q]
                key = (np.int64(shares[there]) << 40) - (cost[there] << 20) - entries[there]
                if key > best_key:
                    best_key, best_switch = key, there
            for q in range(n_possible):
                shares[possible[q]] = 0
            if mark[best_switch] != stamp:
                mark[best_switch] = stamp
                switches[n], up[n], place[best_switch] = best_switch, -1, n
                n += 1
            left = 0
            for q in range(n_orphans):
                here = orphans[q]
                best = np.int32(-1)
                for k in range(graph.start[here], graph.start[here + 1]):
                    slot = graph.slot[k]
                    if graph.to[k] == best_switch and (best < 0 or load[slot] < load[best]):
                        best = slot
                if best >= 0:
                    up[place[here]] = best
                else:
                    orphans[left] = here
                    left += 1
            n_orphans = left
    return n
