"""Routes as OpenSM does: a tree and a colour for every group, by itself."""

import numpy as np
import numpy.typing as npt

from firmware_models.routing.algorithm.forest import Forest, Group, Tree
from firmware_models.routing.algorithm.root import candidate_roots
from firmware_models.routing.kernel.graph import FAR, farthest
from firmware_models.routing.kernel.opensm import descend
from firmware_models.routing.kernel.spread import spread


def opensm_root(forest: Forest, group: Group) -> int:
    """The root that OpenSM 3.3.23 chooses: the switch with the fewest hops to the farthest member, the first in
    ascending order of the byte-swapped GUID.

    As there, a switch that is a member itself counts without the hop to its terminals, even if some of these are
    members too.
    """
    network = forest.network
    own = group.members[group.members >= network.n_terminals] - network.n_terminals
    extra = (~np.isin(group.leaves, own)).astype(np.uint8)
    order = network.opensm_order
    return int(order[farthest(forest.hops, group.leaves, extra)[order].argmin()])


def minihop(forest: Forest, group: Group, colour: int) -> Tree:
    """MINIHOP-MC as OpenSM 3.3.23 does it: from the root down, over the lowest-numbered port on a shortest path to each
    member; no load, and nothing kept from earlier groups."""
    work = forest.work
    n = descend(forest.graph, forest.hops, opensm_root(forest, group), group.leaves, work.mark, work.switches, work.up)
    return _planted(forest, group, colour, n)


def sssp(forest: Forest, group: Group, colour: int) -> Tree:
    """SSSP-MC as the paper describes it: Dijkstra's tree from the root, the weight of a link being the groups on it.

    A hop weighs more than any number of groups, as in OpenSM, so that trees are of minimal height; of the candidate
    roots the least loaded is taken, without which a tree below it would be all the same where paths are unique.
    """
    roots, _ = candidate_roots(forest, group.leaves, group.extra)
    return _spread_from(forest, group, colour, int(roots[0]), forest.load)


class OpensmSssp:
    """Stock OpenSM's SSSP-MC: Dijkstra's tree from OpenSM's root over weights that never change between groups."""

    def __init__(self, forest: Forest):
        self._weight = np.zeros(len(forest.network.peer_slot), dtype=np.int32)

    def __call__(self, forest: Forest, group: Group, colour: int) -> Tree:
        return _spread_from(forest, group, colour, opensm_root(forest, group), self._weight)


def _spread_from(forest: Forest, group: Group, colour: int, root: int, weight: npt.NDArray[np.int32]) -> Tree:
    work = forest.work
    everywhere = np.ones(forest.network.n_switches, dtype=np.uint8)
    n = spread(forest.graph, root, group.leaves, everywhere, weight, FAR, work.mark, work.switches, work.up)
    return _planted(forest, group, colour, n)


def _planted(forest: Forest, group: Group, colour: int, n: int) -> Tree:
    work, heights = forest.work, farthest(forest.hops, group.leaves, group.extra)
    return forest.plant(colour=colour, switches=work.switches[:n].copy(), up=work.up[:n].copy(), members=group.members,
                        groups=[group.name], is_lowest=bool(heights[work.switches[0]] == heights.min()))
