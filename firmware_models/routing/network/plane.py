"""Planes: the parts of a fabric that no cable joins. Hosts of large systems often have a port in each of several."""

from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx
import numpy as np

from firmware_models.routing.network.error import RoutingError
from firmware_models.routing.network.groups import Groups
from firmware_models.routing.network.network import Ints, Network


@dataclass(frozen=True, eq=False)
class Plane:
    """A part of a network as a network of its own.

    Members
    -------
    network : Network
        The part; names and GUIDs are those of the whole.
    switches, terminals : arrays of int32
        For each of its switches and terminals, which one it is of the whole network; ascending.
    """

    network: Network
    switches: Ints
    terminals: Ints


def planes_of(network: Network) -> list[Plane]:
    """The planes in the order of their first switch; a connected network is its own only plane.

    Examples
    --------
    >>> two = Network.wire(name="two", radixes=[2, 2], cables=[], leaf=[0, 1], leaf_port=[1, 1])
    >>> [plane.switches.tolist() for plane in planes_of(two)]
    [[0], [1]]
    """
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(network.n_switches))
    cables = network.cables()
    graph.add_edges_from(cables[:, [0, 2]].tolist())
    parts = sorted(sorted(part) for part in nx.connected_components(graph))
    if len(parts) == 1:
        return [Plane(network, np.arange(network.n_switches, dtype=np.int32),
                      np.arange(network.n_terminals, dtype=np.int32))]
    number, part_of = np.zeros(network.n_switches, np.int64), np.zeros(network.n_switches, np.int64)
    for which, part in enumerate(parts):
        number[part], part_of[part] = np.arange(len(part)), which
    planes = []
    for which, part in enumerate(parts):
        switches = np.array(part, dtype=np.int32)
        terminals = np.flatnonzero(part_of[network.leaf] == which).astype(np.int32)
        own = cables[part_of[cables[:, 0]] == which]
        own[:, 0], own[:, 2] = number[own[:, 0]], number[own[:, 2]]
        planes.append(Plane(Network.wire(
            name=network.name, radixes=network.radixes[switches], cables=own, leaf=number[network.leaf[terminals]],
            leaf_port=network.leaf_port[terminals], terminal_port=network.terminal_port[terminals],
            switch_guids=network.switch_guids[switches], node_guids=network.node_guids[terminals],
            port_guids=network.port_guids[terminals], switch_names=[network.switch_names[s] for s in part],
            terminal_names=[network.terminal_names[t] for t in terminals.tolist()],
        ), switches, terminals))
    return planes


def groups_by_plane(network: Network, planes: list[Plane], groups: Groups) -> Iterator[Groups]:
    """The groups of each plane, whose members are numbered as in it; groups without members are the first plane's.

    Raises
    ------
    RoutingError
        If a group has members in two planes: names both.
    """
    n = network.n_terminals
    plane_of = np.zeros(n + network.n_switches, np.int64)
    number = np.zeros(n + network.n_switches, np.int32)
    for which, plane in enumerate(planes):
        ends = np.concatenate([plane.terminals, n + plane.switches])
        plane_of[ends], number[ends] = which, np.arange(len(ends))
    home = []
    for name, members in zip(groups.names, groups.members, strict=True):
        apart = members[plane_of[members] != plane_of[members[0]]] if len(members) else members
        if len(apart):
            here, there = network.label(int(members[0])), network.label(int(apart[0]))
            raise RoutingError(
                f"{network.name}: group {name!r} must have its members in one plane: no cables join {here!r} and "
                f"{there!r}"
            )
        home.append(int(plane_of[members[0]]) if len(members) else 0)
    for which in range(len(planes)):
        own = [group for group, at in enumerate(home) if at == which]
        yield Groups.of(
            [number[groups.members[group]] for group in own], names=[groups.names[group] for group in own],
            mlids=None if groups.mlids is None else [groups.mlids[group] for group in own],
        )
