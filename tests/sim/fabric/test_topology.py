"""Topologies: wiring and routes, and what is refused."""

from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from sim.fabric.topology import End, TopologyError, parse_topology

TWO_LEVEL = str(Path(__file__).parents[1] / "data" / "two_level.yaml")


@pytest.mark.parametrize(("n_nodes", "radix"), [(2, 2), (3, 4), (4, 4), (5, 8), (63, 64), (64, 64)])
def test_star(n_nodes, radix):
    """Every node has a port of its own, and every route ends at it."""
    star = parse_topology(f"star:{n_nodes}")
    assert star.radixes == (radix,)
    port_of = {node.number: port.port for node, port in star.cables}
    assert sorted(port_of) == list(range(n_nodes))
    assert len(set(port_of.values())) == n_nodes
    assert star.routes == (tuple(port_of[node] for node in range(n_nodes)),)


@pytest.mark.parametrize(("name", "n_nodes", "n_switches", "longest"), [
    ("fat-tree:4", 16, 20, 5), (TWO_LEVEL, 8, 6, 3), ("torus:4x4:1", 16, 16, None), ("torus:3x3x3:2", 54, 27, None),
    ("dragonfly:a=2,p=1,h=1", 6, 6, None), ("random:switches=16,ports=6,terminals=2,seed=1", 32, 16, None),
])
def test_routes(name, n_nodes, n_switches, longest):
    """Every route ends at its node, in trees on a shortest way; waits of packets for cables have no circle."""
    wired = parse_topology(name)
    assert (wired.n_nodes, len(wired.radixes)) == (n_nodes, n_switches)
    ends = {end: other for cable in wired.cables for end, other in (cable, cable[::-1])}
    assert len(ends) == 2 * len(wired.cables)
    waits: dict[End, set[End]] = {}
    hops = []
    for source in range(n_nodes):
        for dest in range(n_nodes):
            leaving, way = End(False, source), []
            while (at := ends[leaving]).is_switch:
                way.append(leaving)
                leaving = End(True, at.number, wired.routes[at.number][dest])
                assert len(way) <= n_switches
            assert at.number == dest
            hops.append(len(way))
            for before, after in pairwise(way):
                waits.setdefault(before, set()).add(after)
    TopologicalSorter(waits).prepare()
    if longest is not None:
        assert max(hops) == longest


def test_destinations_are_spread():
    """In a fat tree the cables upwards of a switch carry equally many destinations."""
    wired = parse_topology("fat-tree:4")
    for switch in range(16):
        counts = [wired.routes[switch].count(port) for port in (2, 3)]
        assert counts[0] == counts[1]


def test_fewer_nodes():
    """Nodes at the first terminals; the other ports stay empty."""
    wired = parse_topology("fat-tree:4", n_nodes=5)
    assert wired.n_nodes == 5
    assert {end.number for cable in wired.cables for end in cable if not end.is_switch} == set(range(5))
    assert all(len(row) == 5 for row in wired.routes)


@pytest.mark.parametrize(("name", "message"), [
    ("star:1", "topology 'star:1': N must be 2 to 4096, not 1"),
    ("star:65", "topology 'star:65': radix must be 1 to 64, not 65"),
    ("fat-tree:48", "topology 'fat-tree:48': nodes must be 2 to 16384, not 27648"),
    ("torus:30x30x30:1", "topology 'torus:30x30x30:1': switches must be 1 to 16384, not 27000"),
    ("star", "topology must be star:N with whole numbers, not 'star'"),
    ("no.yaml", "topology must be one of star:N, fat-tree:K, torus:XxYxZ:TERMINALS, dragonfly:a=A,p=P,h=H, "
                "random:switches=S,ports=P,terminals=T,seed=N, bluelight, taihulight, "
                "a file (ibnetdiscover, .net, .yaml), not 'no.yaml'"),
])
def test_refused(name, message):
    """The message names what is allowed and what was given."""
    with pytest.raises(TopologyError) as error:
        parse_topology(name)
    assert str(error.value) == message


def test_too_many_nodes():
    with pytest.raises(TopologyError, match=r"^nodes must be 2 to 16, the terminals of 'fat-tree:4', not 17$"):
        parse_topology("fat-tree:4", n_nodes=17)
