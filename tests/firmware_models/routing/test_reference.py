"""MR4LMS and OpenSM's minhop once more, naively and on networkx: no bitmaps, no compiled loop; both must agree."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

from firmware_models.routing.algorithm import Options, Router, violations
from firmware_models.routing.algorithm.fbtc import fbtc
from firmware_models.routing.algorithm.fctb import fctb
from firmware_models.routing.algorithm.root import candidate_roots
from firmware_models.routing.network import Groups, Network

Tree = dict[int, tuple[int, int] | None]
"""For every switch the (port, parent) it hangs on; None at the root."""


class Naive:
    """The state of a network as the paper describes it, and the algorithms on it."""

    def __init__(self, network: Network, limit: int | None = None):
        self.network = network
        self.limit = limit
        self.graph = nx.MultiGraph()
        self.graph.add_nodes_from(range(network.n_switches))
        self.links: dict[int, list[tuple[int, int]]] = {s: [] for s in range(network.n_switches)}
        for a, p, b, q in network.cables().tolist():
            self.graph.add_edge(a, b, ends={a: p, b: q})
            self.links[a].append((p, b))
            self.links[b].append((q, a))
        for ports in self.links.values():
            ports.sort()
        self.hops = dict(nx.all_pairs_shortest_path_length(self.graph))
        self.load: dict[tuple[int, int], int] = {}
        self.colours: dict[int, set[int]] = {s: set() for s in range(network.n_switches)}

    def far(self, root: int, members: list[int]) -> int:
        network = self.network
        return max(self.hops[root][int(network.attach[m])] + (m < network.n_terminals) for m in members)

    def roots(self, members: list[int]) -> list[int]:
        far = {s: self.far(s, members) for s in self.graph}
        best = min(far.values())
        room = [s for s in self.graph if self.limit is None or len(self.colours[s]) < self.limit]
        return sorted((s for s in room if far[s] == best), key=lambda s: (len(self.colours[s]), s))

    def build(self, root: int, members: list[int]) -> Tree:
        """Algorithm 2."""
        tree: Tree = {root: None}
        for leaf in sorted({int(self.network.attach[m]) for m in members}):
            here = leaf
            while here not in tree:
                options = [(self.load.get((here, port), 0), port, there) for port, there in self.links[here]
                           if self.hops[there][root] == self.hops[here][root] - 1]
                _, port, there = min(options)
                tree[here] = (port, there)
                here = there
        return tree

    def fbtc(self, members: list[int]) -> tuple[int, Tree] | None:
        """Algorithm 1."""
        for root in self.roots(members):
            tree = self.build(root, members)
            used = set().union(*(self.colours[s] for s in tree))
            colour = next(c for c in range(len(used) + 1) if c not in used)
            if self.limit is None or colour < self.limit:
                self.enter(tree, colour)
                return colour, tree
        return None

    def fctb_colour(self, members: list[int], in_tree: Any) -> int | None:
        """Algorithm 3, lines ② to ⑦, colour by colour: `in_tree` says whether a tree of a colour will do."""
        height = min(self.far(s, members) for s in self.graph)
        roots = [s for s in self.graph if self.far(s, members) == height]
        assert self.limit is not None
        for colour in range(self.limit):
            free = self.graph.subgraph(s for s in self.graph if colour not in self.colours[s])
            for root in roots:
                if root in free:
                    reach = nx.single_source_shortest_path_length(free, root)
                    if all(reach.get(int(self.network.attach[m]), 999) + (m < self.network.n_terminals) <= height
                           for m in members):
                        return colour
            if in_tree(colour, roots, height):
                return colour
        return None

    def enter(self, tree: Tree, colour: int) -> None:
        for s, edge in tree.items():
            self.colours[s].add(colour)
            if edge is not None:
                port, parent = edge
                ends = next(e["ends"] for e in self.graph.get_edge_data(s, parent).values() if e["ends"][s] == port)
                for end in ends.items():
                    self.load[end] = self.load.get(end, 0) + 1

    def minhop(self, members: list[int]) -> dict[int, set[int]]:
        """The ports of every switch, as OpenSM recurses from the root: lists of members, subdivided port by port."""
        network, tables = self.network, {}
        switches = [m - network.n_terminals for m in members if m >= network.n_terminals]
        leaves = {int(network.attach[m]) for m in members}
        order = sorted(self.graph, key=lambda s: int(network.switch_guids[s]).to_bytes(8, "little"))
        root = min(order, key=lambda s: max(self.hops[s][leaf] + (leaf not in switches) for leaf in leaves))

        def branch(here: int, targets: list[int], upstream: int | None) -> None:
            ports: dict[int, list[int]] = {}
            for m in targets:
                leaf = int(network.attach[m])
                port = int(network.attach_port[m]) if leaf == here else next(
                    p for p, there in self.links[here] if self.hops[there][leaf] == self.hops[here][leaf] - 1)
                ports.setdefault(port, []).append(m)
            tables.setdefault(here, set()).update(set(ports) | ({upstream} if upstream is not None else set()))
            for port, there in self.links[here]:
                if port in ports:
                    cables = self.graph.get_edge_data(here, there).values()
                    ends = next(e["ends"] for e in cables if e["ends"][here] == port)
                    branch(there, ports[port], ends[there])

        branch(root, members, None)
        return tables


def test_hops(network: Network) -> None:
    """The compiled hop table is networkx's."""
    naive, hops = Naive(network), Router(network).forest.hops
    assert all(hops[a, b] == naive.hops[a][b] for a in naive.graph for b in naive.graph)


@pytest.mark.parametrize("limit", [None, 5])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_fbtc(network: Network, seed: int, limit: int | None, some_groups: Callable[..., Groups]) -> None:
    """Algorithms 1 and 2: the same roots, trees, ports and colours, group by group, and the same failures."""
    naive, router = Naive(network, limit), Router(network, Options(mft_size=limit))
    failures = 0
    for name, members in zip(*vars_of(some_groups(network, seed)), strict=True):
        if len(members) < 2:
            continue
        expected = naive.fbtc(members.tolist())
        router.groups[name] = group = make_group(router, name, members)
        tree = group.tree = fbtc(router.forest, group)
        failures += tree is None
        assert (tree is None) == (expected is None)
        if tree is None:
            del router.groups[name]
            continue
        owner, base, peer = network.owner, network.base, network.peer
        assert (tree.colour, as_naive(tree, owner, base, peer)) == expected
    assert violations(router.forest, router.groups) == []
    assert limit is None or failures, "a limit that is never met tests nothing"


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_fctb(network: Network, seed: int, some_groups: Callable[..., Groups]) -> None:
    """Algorithm 3: the same colour or the same failure as a search colour by colour, root by root; minimal heights."""
    limit = 6
    router = Router(network, Options(mft_size=limit))
    outcomes = set()
    for name, members in zip(*vars_of(some_groups(network, seed, 40)), strict=True):
        if len(members) < 2:
            continue
        naive = Naive(network, limit)
        for s in range(network.n_switches):
            naive.colours[s] = {c for c in range(limit) if int(router.forest.busy[s, 0]) >> c & 1}
        group = make_group(router, name, members)

        def in_tree(colour: int, roots: list[int], height: int, group: Any = group) -> bool:
            return any(tree_serves(network, tree, group.members, roots, height)
                       for tree in router.forest.trees.values() if tree.colour == colour)

        expected = naive.fctb_colour(members.tolist(), in_tree)
        router.groups[name] = group
        before = len(router.forest.trees)
        tree = group.tree = fctb(router.forest, group)
        assert (None if tree is None else tree.colour) == expected
        outcomes.add("none" if tree is None else "new" if len(router.forest.trees) > before else "shared")
        if tree is None:
            del router.groups[name]
        assert violations(router.forest, router.groups) == []
    assert "none" in outcomes
    assert "new" in outcomes


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_minhop(network: Network, seed: int, some_groups: Callable[..., Groups]) -> None:
    """OpenSM's recursion over lists of members gives the ports that the paths from the root give."""
    naive, router = Naive(network), Router(network, Options(algorithm="minihop"))
    groups = some_groups(network, seed)
    for name, members in zip(groups.names, groups.members, strict=True):
        tree = router.join(name, members)
        if tree is None:
            assert len(members) < 2
            continue
        ports = {int(s): {p for p in range(64) if int(mask[0]) >> p & 1}
                 for s, mask in zip(tree.switches, tree.ports, strict=True)}
        assert ports == naive.minhop(members.tolist())
    assert violations(router.forest, router.groups) == []


def test_roots_by_load() -> None:
    """The least loaded candidate comes first; one whose table is full does not come at all."""
    network = Network.wire(name="two tops", radixes=[4, 4, 2, 2], leaf=[0, 1], leaf_port=[3, 3],
                           cables=[(0, 1, 2, 1), (0, 2, 3, 1), (1, 1, 2, 2), (1, 2, 3, 2)])
    forest = Router(network, Options(mft_size=2)).forest
    leaves, extra = forest.leaves_of(np.array([0, 1], dtype=np.int32))
    assert candidate_roots(forest, leaves, extra)[0].tolist() == [2, 3]
    forest.entries[2] = 1
    assert candidate_roots(forest, leaves, extra)[0].tolist() == [3, 2]
    forest.entries[3] = 2
    assert candidate_roots(forest, leaves, extra)[0].tolist() == [2]


def vars_of(groups: Groups) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    return groups.names, groups.members


def make_group(router: Router, name: str, members: Any) -> Any:
    from firmware_models.routing.algorithm.forest import Group
    return Group(name, members, *router.forest.leaves_of(members))


def as_naive(tree: Any, owner: Any, base: Any, peer: Any) -> Tree:
    return {int(s): None if slot < 0 else (int(slot - base[s] + 1), int(peer[slot]))
            for s, slot in zip(tree.switches, tree.up, strict=True)}


def tree_serves(network: Network, tree: Any, members: Any, roots: list[int], height: int) -> bool:
    """True if a tree has all members, and one of `roots` reaches them within `height` in it."""
    if not set(members.tolist()) <= set(tree.members.tolist()):
        return False
    graph = nx.Graph()
    graph.add_nodes_from(tree.switches.tolist())
    hung = tree.up >= 0
    graph.add_edges_from(zip(tree.switches[hung].tolist(), network.peer[tree.up[hung]].tolist(), strict=True))
    for root in set(roots) & set(graph):
        reach = nx.single_source_shortest_path_length(graph, root)
        if max(reach[int(network.attach[m])] + (m < network.n_terminals) for m in members.tolist()) <= height:
            return True
    return False
