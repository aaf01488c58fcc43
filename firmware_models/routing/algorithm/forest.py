"""State of the routing so far: trees, colours in use, loads of links."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from firmware_models.routing.kernel.graph import Graph, Hops, Ints, graph_of, hop_table
from firmware_models.routing.kernel.tree import Words, occupy, port_masks
from firmware_models.routing.network import ForwardingTables, Network

UNLIMITED = 1 << 20
"""Colours, when their number is not limited: more than there are groups."""


@dataclass(eq=False)
class Tree:
    """A multicast tree.

    Members
    -------
    number : int
        Its index in `Forest.trees`; never used again.
    colour : int
        The table entry that it has at all its switches.
    switches, up : arrays of int32
        Its switches, the root first, and for each the slot that leads to its parent (-1 for the root).
    members : array of int32
        Endpoints of its groups, ascending, each once.
    groups : list of str
        The groups that use it. Several, if groups were merged or one fitted into the tree of another.
    ports : array of uint64
        The table entry of every switch.
    is_lowest : bool
        True if its height is minimal: not where Algorithm 4 has merged groups, or OpenSM's root is not the best.
    """

    number: int
    colour: int
    switches: Ints
    up: Ints
    members: Ints
    groups: list[str]
    ports: Words
    is_lowest: bool = True


@dataclass(eq=False)
class Workspace:
    """Arrays that the compiled loops write on, so that no call allocates them."""

    mark: npt.NDArray[np.int64]
    switches: Ints
    up: Ints
    place: Ints

    @staticmethod
    def of(n_switches: int) -> "Workspace":
        empty = [np.zeros(n_switches, dtype=np.int32) for _ in range(3)]
        return Workspace(np.zeros(n_switches + 1, dtype=np.int64), *empty)


class Forest:
    """Trees in a network whose switches have `limit` table entries each.

    Parameters
    ----------
    network : Network
    limit : int
        Table entries of a switch; `UNLIMITED` for as many as it takes.
    hops : array, optional
        The network's `hop_table`, if it is at hand.

    Members
    -------
    busy : array of uint64, shape (n_switches, n_words)
        `colorBusy` of the paper: bit ``c % 64`` of word ``c // 64`` says that a tree uses colour `c` there.
    owner : array of int32, shape (n_switches, n_colours)
        `mcts` of the paper: number of that tree, -1 where there is none. Kept only when colours are limited.
    entries : array of int32
        Table entries in use at every switch.
    load : array of int32
        Groups on the link of every slot: its EFI.
    trees : dict
        All trees by their numbers, oldest first.
    """

    def __init__(self, network: Network, *, limit: int = UNLIMITED, hops: Hops | None = None):
        self.network = network
        self.limit = limit
        self.graph: Graph = graph_of(network)
        self.hops: Hops = hop_table(self.graph, network) if hops is None else hops
        self.busy: Words = np.zeros((network.n_switches, 1), dtype=np.uint64)
        n_owned = 0 if limit == UNLIMITED else min(64, limit)
        self.owner: Ints = np.full((network.n_switches, n_owned), -1, dtype=np.int32)
        self.entries: Ints = np.zeros(network.n_switches, dtype=np.int32)
        self.load: Ints = np.zeros(len(network.peer_slot), dtype=np.int32)
        self.trees: dict[int, Tree] = {}
        self.by_colour: dict[int, set[int]] = {}
        self.work = Workspace.of(network.n_switches)
        self.n_words = int(max(network.radixes, default=0)) // 64 + 1
        self._next = 0

    def plant(
        self, *, colour: int, switches: Ints, up: Ints, members: Ints, groups: list[str], is_lowest: bool = True,
    ) -> Tree:
        """Enters a tree. The arrays are kept: pass copies of a workspace's."""
        self.make_room(colour)
        masks = np.zeros((len(switches), self.n_words), dtype=np.uint64)
        network = self.network
        port_masks(self.graph, network.base, switches, up, members, network.attach, network.attach_port,
                   self.work.place, masks)
        tree = Tree(self._next, colour, switches, up, members, groups, masks, is_lowest)
        self._next += 1
        self._enter(tree, True)
        if self.limit != UNLIMITED:
            self.owner[switches, colour] = tree.number
        self.trees[tree.number] = tree
        self.by_colour.setdefault(colour, set()).add(tree.number)
        return tree

    def fell(self, tree: Tree) -> None:
        """Takes a tree out again."""
        self._enter(tree, False)
        if self.limit != UNLIMITED:
            self.owner[tree.switches, tree.colour] = -1
        del self.trees[tree.number]
        self.by_colour[tree.colour].remove(tree.number)
        if not self.by_colour[tree.colour]:
            del self.by_colour[tree.colour]

    def admit(self, tree: Tree, group: str) -> None:
        """Lets a group whose members a tree reaches already use it as well."""
        self._enter(tree, False)
        tree.groups.append(group)
        self._enter(tree, True)

    def leaves_of(self, members: Ints) -> tuple[Ints, Hops]:
        """The switches of `members`, ascending, and for each whether it has a terminal among them: a hop more."""
        leaves = self.network.attach[members]
        if not len(members) or members[-1] < self.network.n_terminals:
            unique = np.unique(leaves)
            return unique, np.ones(len(unique), dtype=np.uint8)
        unique, inverse = np.unique(leaves, return_inverse=True)
        extra = np.zeros(len(unique), dtype=np.uint8)
        np.maximum.at(extra, inverse, (members < self.network.n_terminals).astype(np.uint8))
        return unique, extra

    def tables(self) -> ForwardingTables:
        """The multicast forwarding tables of all switches."""
        trees = list(self.trees.values())
        if not trees:
            empty = np.zeros(0, dtype=np.int32)
            return ForwardingTables.of(empty, empty, np.zeros((0, self.n_words), dtype=np.uint64))
        return ForwardingTables.of(
            np.concatenate([tree.switches for tree in trees]),
            np.repeat([tree.colour for tree in trees], [len(tree.switches) for tree in trees]),
            np.concatenate([tree.ports for tree in trees]))

    @property
    def n_colours(self) -> int:
        """Colours in use."""
        return len(self.by_colour)

    @property
    def max_efi(self) -> int:
        """Groups on the link that has most of them."""
        return int(self.load.max(initial=0))

    @property
    def bytes(self) -> int:
        """Memory of the arrays."""
        arrays: list[npt.NDArray[Any]] = [self.hops, self.busy, self.owner, self.entries, self.load, *self.graph]
        trees = self.trees.values()
        arrays += [array for tree in trees for array in (tree.switches, tree.up, tree.members, tree.ports)]
        return sum(array.nbytes for array in arrays)

    def _enter(self, tree: Tree, is_new: bool) -> None:
        """Enters a tree into bitmaps, entries and loads, or takes it out."""
        occupy(self.graph, tree.switches, tree.up, tree.colour, len(tree.groups), is_new, self.busy, self.entries,
               self.load)

    def make_room(self, colour: int) -> None:
        """Widens `busy` and `owner` so that they hold `colour`, and one word that is free everywhere."""
        n_words = min(colour // 64 + 2, (self.limit + 63) // 64)
        if n_words > self.busy.shape[1]:
            self.busy = np.pad(self.busy, ((0, 0), (0, n_words - self.busy.shape[1])))
        if self.limit != UNLIMITED and colour >= self.owner.shape[1]:
            wider = min(self.limit, max(colour + 1, 2 * self.owner.shape[1]))
            self.owner = np.pad(self.owner, ((0, 0), (0, wider - self.owner.shape[1])), constant_values=-1)


@dataclass(eq=False)
class Group:
    """A group that has been routed.

    Members
    -------
    members : array of int32
        Endpoints, ascending.
    leaves, extra : arrays
        See `Forest.leaves_of`.
    tree : Tree, optional
        None for a group with fewer than two members: nothing is to be routed.
    """

    name: str
    members: Ints
    leaves: Ints
    extra: Hops
    tree: Tree | None = field(default=None)
