"""How a cluster is wired: switches, nodes, cables, routes. Knows nothing of hardware or simulation.

Topologies are those of ``firmware_models.routing.topology``, by the same names.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from firmware_models.routing.network import Network, RoutingError
from firmware_models.routing.topology import parse_topology as parse_network
from sim.fabric.unicast import unicast_routes


class TopologyError(ValueError):
    """No such topology; the message names what is allowed."""


class End(NamedTuple):
    """One end of a cable: a port of a switch, or a node (port 0)."""

    is_switch: bool
    number: int
    port: int = 0


@dataclass(frozen=True)
class Topology:
    """A wired network.

    Members
    -------
    name : str
        As given on the command line.
    n_nodes : int
        Nodes, numbered from 0; the NodeID of a node is its number, and so is that of its terminal in `network`.
    radixes : tuple of int
        Ports of each switch.
    cables : tuple of (End, End)
        All cables.
    routes : tuple of tuple of int
        For each switch the port towards each NodeID.
    network : Network
        The same as the routing model sees it, all terminals included. Its ports count from 1, those of switches here
        from 0.
    """

    name: str
    n_nodes: int
    radixes: tuple[int, ...]
    cables: tuple[tuple[End, End], ...]
    routes: tuple[tuple[int, ...], ...]
    network: Network

    def with_nodes(self, n_nodes: int) -> "Topology":
        """The same with nodes at the first `n_nodes` terminals only.

        Raises
        ------
        TopologyError
            If there are not so many.
        """
        if not 2 <= n_nodes <= self.n_nodes:
            raise TopologyError(f"nodes must be 2 to {self.n_nodes}, the terminals of {self.name!r}, not {n_nodes}")
        cables = tuple(cable for cable in self.cables if all(end.is_switch or end.number < n_nodes for end in cable))
        return replace(self, n_nodes=n_nodes, cables=cables, routes=tuple(row[:n_nodes] for row in self.routes))


MAX_RADIX = 64
"""Ports of the largest switch that can be built."""

MAX_NODES = MAX_SWITCHES = 1 << 14
"""Nodes and switches of the largest cluster: more than memory holds today (docs/cluster.md says what each takes)."""


def parse_topology(name: str, *, n_nodes: int | None = None) -> Topology:
    """The topology that `name` describes, with nodes at its first `n_nodes` terminals, or at all.

    Routes are minimal in fat trees, and free of deadlock everywhere: see :func:`sim.fabric.unicast.unicast_routes`.

    Raises
    ------
    TopologyError
        If there is none of that name, or it is larger than what can be simulated.

    Examples
    --------
    >>> parse_topology("star:3").radixes
    (4,)
    >>> fat_tree = parse_topology("fat-tree:4", n_nodes=5)
    >>> len(fat_tree.radixes), fat_tree.n_nodes
    (20, 5)
    """
    try:
        network = parse_network(name)
        n_terminals = network.n_terminals if n_nodes is None else n_nodes
        for what, value, low, high in (
            ("radix", int(max(network.radixes)), 1, MAX_RADIX), ("switches", network.n_switches, 1, MAX_SWITCHES),
            ("nodes", n_terminals, 2, MAX_NODES),
        ):
            if not low <= value <= high:
                raise TopologyError(f"topology {name!r}: {what} must be {low} to {high}, not {value}")
        wired = _wired(network)
    except RoutingError as error:
        raise TopologyError(str(error)) from None
    return wired if n_nodes is None else wired.with_nodes(n_nodes)


def star(n_nodes: int) -> Topology:
    """All nodes on one switch whose radix is the next power of two."""
    return parse_topology(f"star:{n_nodes}")


def _wired(network: Network) -> Topology:
    radixes = tuple(map(int, network.radixes))
    if network.n_switches == 1:
        # As many ports as a power of two, so that clusters of about one size share their switch.
        radixes = (1 << (radixes[0] - 1).bit_length(),)
    terminals = [
        (End(is_switch=False, number=node), End(is_switch=True, number=leaf, port=port - 1))
        for node, (leaf, port) in enumerate(zip(network.leaf.tolist(), network.leaf_port.tolist(), strict=True))
    ]
    trunks = [
        (End(is_switch=True, number=a, port=a_port - 1), End(is_switch=True, number=b, port=b_port - 1))
        for a, a_port, b, b_port in network.cables().tolist()
    ]
    return Topology(
        network.name, network.n_terminals, radixes, (*terminals, *trunks), unicast_routes(network), network,
    )


__all__ = ["MAX_NODES", "MAX_RADIX", "MAX_SWITCHES", "End", "Topology", "TopologyError", "parse_topology", "star"]
