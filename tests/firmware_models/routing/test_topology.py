"""Topologies: sizes by formula, wiring by property, names that are refused."""

import networkx as nx
import numpy as np
import pytest

from firmware_models.routing.formats import read_network
from firmware_models.routing.network import Network, RoutingError
from firmware_models.routing.topology import parse_topology


def graph_of(network: Network) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(network.n_switches))
    graph.add_edges_from((a, b) for a, _, b, _ in network.cables().tolist())
    return graph


@pytest.mark.parametrize(("name", "switches", "terminals", "cables", "diameter"), [
    ("star:5", 1, 5, 0, 0), ("fat-tree:4", 20, 16, 32, 4), ("fat-tree:8", 80, 128, 256, 4),
    ("torus:4x3x2:2", 24, 48, 24 + 24 + 12, 2 + 1 + 1), ("torus:5:1", 5, 5, 5, 2), ("torus:2x1:3", 2, 6, 1, 1),
    ("dragonfly:a=4,p=2,h=2", 36, 72, 9 * 6 + 36, 3),
    ("random:switches=20,ports=8,terminals=3,seed=2", 20, 60, 50, None),
    ("bluelight:planes=2", 2 * 32 + 18, 512, 2 * (256 + 144), 4),
    ("taihulight:planes=2", 2 * 88 + 84, 2048, 2 * (1536 + 168), 4),
])
def test_sizes(name: str, switches: int, terminals: int, cables: int, diameter: int | None) -> None:
    network = parse_topology(name)
    assert (network.n_switches, network.n_terminals, network.n_cables) == (switches, terminals, cables)
    graph = graph_of(network)
    assert nx.is_connected(graph)
    if diameter is not None:
        assert nx.diameter(graph) == diameter
    # Every end of a cable leads back, and no port has two uses.
    there = np.flatnonzero(network.peer_slot >= 0)
    assert np.array_equal(network.peer_slot[network.peer_slot[there]], there)
    slots = network.base[network.leaf] + network.leaf_port - 1
    assert len(set(slots.tolist()) | set(there.tolist())) == terminals + 2 * cables


@pytest.mark.parametrize(("name", "terminals"), [
    ("fat-tree:40", 16_000), ("bluelight", 8_704),
    ("taihulight", 40_960), ("torus:30x20x20:2", 24_000),
    ("dragonfly:a=18,p=9,h=9", 26_406), ("random:switches=2048,ports=40,terminals=20,seed=1", 40_960),
])
def test_machines_of_the_paper(name: str, terminals: int) -> None:
    assert parse_topology(name).n_terminals == terminals


@pytest.mark.parametrize(("name", "paths"), [("bluelight:planes=2", 8), ("taihulight:planes=2", 2)])
def test_paths_to_the_top(name: str, paths: int) -> None:
    """As published: so many paths from each leaf switch to each top switch."""
    network = parse_topology(name)
    graph = graph_of(network)
    leaves = sorted(set(network.leaf.tolist()))
    tops = [s for s, label in enumerate(network.switch_names) if label.startswith("T")]
    for leaf in leaves:
        for top in tops:
            assert sum(1 for middle in graph[leaf] for _ in range(graph.number_of_edges(middle, top))) == paths


def test_dragonfly_groups_are_all_connected() -> None:
    """Every two groups have exactly one cable."""
    a, h = 4, 2
    network = parse_topology(f"dragonfly:a={a},p=1,h={h}")
    pairs = [tuple(sorted((x // a, y // a))) for x, _, y, _ in network.cables().tolist() if x // a != y // a]
    assert sorted(pairs) == [(x, y) for x in range(a * h + 1) for y in range(x + 1, a * h + 1)]


def test_random_is_regular_and_simple() -> None:
    network = parse_topology("random:switches=30,ports=9,terminals=2,seed=5".replace("ports=9", "ports=8"))
    graph = graph_of(network)
    assert {degree for _, degree in graph.degree()} == {6}
    assert not nx.number_of_selfloops(graph)
    assert max(graph.number_of_edges(a, b) for a, b in graph.edges()) == 1
    other = parse_topology("random:switches=30,ports=8,terminals=2,seed=6")
    assert network.fingerprint != other.fingerprint


def test_fat_tree_is_wired_as_in_the_sample(data) -> None:
    """The generated tree and a real file of the same shape are one network, GUIDs and names included."""
    assert parse_topology("fat-tree:8").fingerprint == read_network(data / "ft8.net").fingerprint


@pytest.mark.parametrize(("name", "message"), [
    ("fat-tree:5", r"must be fat-tree:K with K even and at least 2, not 'fat-tree:5'"),
    ("fat-tree:0", r"K must be 2 to 128, not 0"),
    ("ring:4", r"topology must be one of star:N, fat-tree:K, .*, not 'ring:4'"),
    ("torus:4x4", r"must be torus:XxYxZ:TERMINALS with whole numbers, not 'torus:4x4'"),
    ("torus:4096x4096:1", r"terminals in total must be 2 to 1048576, not 16777216"),
    ("dragonfly:a=3,p=1", r"h must be given, as in dragonfly:a=N,p=N,h=N"),
    ("dragonfly:a=3,p=1,q=2", r"a=N, p=N, h=N are allowed, not 'q=2'"),
    ("random:switches=5,ports=4,terminals=1,seed=1",
     r"ports - terminals must be 1 to switches - 1, and even in total, not 3"),
    ("bluelight:paths=17", r"tops × paths must be a multiple of middles"),
    ("nowhere.net", r"topology must be one of"),
])
def test_refused(name: str, message: str) -> None:
    with pytest.raises(RoutingError, match=message):
        parse_topology(name)


@pytest.mark.parametrize(("wiring", "message"), [
    ({"cables": [(0, 5, 1, 1)]}, "port of switch 0 must be 1 to 4, not 5"),
    ({"cables": [(0, 1, 1, 1), (0, 1, 1, 2)]}, "port 1 of switch 0 must have one cable, not two"),
    ({"cables": [(0, 1, 1, 1)], "leaf": [1], "leaf_port": [1]}, "port 1 of switch 1 must have one cable, not two"),
])
def test_wiring_refused(wiring: dict, message: str) -> None:
    with pytest.raises(RoutingError, match=message):
        Network.wire(**{"name": "x", "radixes": [4, 4], "leaf": [], "leaf_port": []} | wiring)
