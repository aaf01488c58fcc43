"""One router for a network: groups come and go, trees and tables follow."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firmware_models.routing.algorithm.baseline import OpensmSssp, minihop, sssp
from firmware_models.routing.algorithm.best import Best
from firmware_models.routing.algorithm.delete import delete
from firmware_models.routing.algorithm.forest import UNLIMITED, Forest, Group, Tree
from firmware_models.routing.algorithm.merge import OldTrees, Partner
from firmware_models.routing.algorithm.mr4lms import Mr4lms
from firmware_models.routing.kernel.graph import Hops, Ints
from firmware_models.routing.network import FIRST_MLID, MAX_MLIDS, Groups, Network, RoutingError

ALGORITHMS = ("mr4lms", "minihop", "sssp", "opensm-sssp")
"""MR4LMS, and what OpenSM does: a colour for every group."""

POLICIES = ("paper", "best")
"""MR4LMS as published, and improved."""


@dataclass(frozen=True)
class Options:
    """How a router works.

    Members
    -------
    algorithm : str
        One of `ALGORITHMS`.
    policy : str
        One of `POLICIES`; for MR4LMS.
    mft_size : int, optional
        Table entries of a switch; None for as many as it takes. For MR4LMS.
    partner, old : Partner, OldTrees
        How MR4LMS merges.
    """

    algorithm: str = "mr4lms"
    policy: str = "paper"
    mft_size: int | None = None
    partner: Partner = Partner.SIMILAR
    old: OldTrees = OldTrees.KEEP

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise RoutingError(f"algorithm must be one of {', '.join(ALGORITHMS)}, not {self.algorithm!r}")
        if self.policy not in POLICIES:
            raise RoutingError(f"policy must be one of {', '.join(POLICIES)}, not {self.policy!r}")
        if self.mft_size is not None and not 1 <= self.mft_size < MAX_MLIDS:
            raise RoutingError(f"mft_size must be 1 to {MAX_MLIDS - 1} or unlimited, not {self.mft_size}")
        if self.algorithm != "mr4lms" and (self.policy != "paper" or self.mft_size is not None):
            what = "policy" if self.policy != "paper" else "mft_size"
            raise RoutingError(f"{what} must be left out with algorithm {self.algorithm!r}: it is MR4LMS's")


class Router:
    """Routes the groups of a network one by one.

    Parameters
    ----------
    network : Network
    options : Options
    hops : array, optional
        The network's hop table, if it is at hand.

    Members
    -------
    forest : Forest
        Trees, bitmaps of colours, loads of links.
    groups : dict
        The groups by their names.
    """

    def __init__(self, network: Network, options: Options | None = None, *, hops: Hops | None = None):
        self.network = network
        self.options = options or Options()
        size = self.options.mft_size
        self.forest = Forest(network, limit=UNLIMITED if size is None else size, hops=hops)
        self.groups: dict[str, Group] = {}
        self.next_colour = 0
        self.engine: Mr4lms | Best | None = None
        if self.options.algorithm == "mr4lms":
            kind = Mr4lms if self.options.policy == "paper" else Best
            self.engine = kind(self.forest, partner=self.options.partner, old=self.options.old)
        self._baseline: Mapping[str, Callable[[Forest, Group, int], Tree]] = {"minihop": minihop, "sssp": sssp}
        if self.options.algorithm == "opensm-sssp":
            self._baseline = {"opensm-sssp": OpensmSssp(self.forest)}

    def join(self, name: str, members: npt.ArrayLike, *, colour: int | None = None) -> Tree | None:
        """Routes a group whose members are complete. Existing routes are not disturbed, unless merging rebuilds them.

        Parameters
        ----------
        members : array of int
            Endpoints (see `Network`).
        colour : int, optional
            The MLID, less `FIRST_MLID`, that a subnet manager has given it; for the baselines. The next one by default.

        Returns
        -------
        tree : Tree, optional
            None if there are fewer than two members: nothing is to be routed.

        Raises
        ------
        RoutingError
            If there is such a group already, or an endpoint is not in the network.
        """
        if name in self.groups:
            raise RoutingError(f"group {name!r} must join once, not twice")
        array = Groups.of([members]).members[0]
        n_endpoints = len(self.network.attach)
        if len(array) and not (array[0] >= 0 and array[-1] < n_endpoints):
            wrong = array[0] if array[0] < 0 else array[-1]
            raise RoutingError(f"member of group {name!r} must be an endpoint from 0 to {n_endpoints - 1}, not {wrong}")
        group = Group(name, array, *self.forest.leaves_of(array))
        self.groups[name] = group
        number = self.next_colour if colour is None else colour
        self.next_colour = max(self.next_colour, number + 1)
        if len(array) < 2:
            return None
        tree = self.engine.route(group) if self.engine is not None else \
            self._baseline[self.options.algorithm](self.forest, group, number)
        self._assign(tree)
        return tree

    def leave(self, name: str) -> None:
        """Removes a group.

        Raises
        ------
        RoutingError
            If there is none of that name.
        """
        if name not in self.groups:
            raise RoutingError(f"group {name!r} must have joined before it can leave")
        group = self.groups.pop(name)
        if group.tree is None:
            return
        others = [self.groups[other] for other in group.tree.groups if other != name]
        left = delete(self.forest, group, others)
        if left is not None:
            self._assign(left)

    def join_all(self, groups: Groups) -> Iterator[Tree | None]:
        """Routes groups in their order, yielding the tree of each."""
        for number, (name, members) in enumerate(zip(groups.names, groups.members, strict=True)):
            yield self.join(name, members, colour=None if groups.mlids is None else groups.mlids[number] - FIRST_MLID)

    def restore(
        self, groups: Mapping[str, Ints], trees: Iterable[tuple[int, list[str], bool, Ints, Ints]], next_colour: int,
    ) -> None:
        """Enters groups and trees that were routed before: (colour, groups, whether lowest, switches, up) a tree."""
        self.groups = {name: Group(name, members, *self.forest.leaves_of(members)) for name, members in groups.items()}
        for colour, names, is_lowest, switches, up in trees:
            members = Groups.of([np.concatenate([groups[name] for name in names])]).members[0]
            self._assign(self.forest.plant(
                colour=colour, switches=switches, up=up, members=members, groups=list(names), is_lowest=is_lowest))
        self.next_colour = next_colour

    def _assign(self, tree: Tree) -> None:
        for name in tree.groups:
            self.groups[name].tree = tree
