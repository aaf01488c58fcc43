"""Topologies: wiring and routes, and what is refused."""

import pytest

from sim.topology import TopologyError, parse_topology


@pytest.mark.parametrize(("n_nodes", "radix"), [(2, 2), (3, 4), (4, 4), (5, 8), (63, 64), (64, 64)])
def test_star(n_nodes, radix):
    """Every node has a port of its own, and every route ends at it."""
    star = parse_topology(f"star:{n_nodes}")
    assert star.radixes == (radix,)
    port_of = {node.number: port.port for node, port in star.cables}
    assert sorted(port_of) == list(range(n_nodes))
    assert len(set(port_of.values())) == n_nodes
    assert star.routes == (tuple(port_of[node] for node in range(n_nodes)),)


@pytest.mark.parametrize("name", ["star:1", "star:65", "star", "star:-2", "ring:4", "", "star:4x"])
def test_refused(name):
    """The message names what is allowed and what was given."""
    with pytest.raises(TopologyError, match=r"^topology must be star:N with N from 2 to 64, not '.*'$"):
        parse_topology(name)
