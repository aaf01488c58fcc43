"""Unicast routes of a network: up towards its roots, then down, so that packets cannot wait for each other in a circle.
"""

import numpy as np
import numpy.typing as npt

from firmware_models.routing.kernel.graph import graph_of, hop_table, nearest
from firmware_models.routing.network import Network

Ints = npt.NDArray[np.int64]
_FAR = 1 << 20


def switch_ranks(network: Network) -> tuple[Ints, Ints]:
    """Level of every switch, and its rank: a cable leads up to the end of higher rank.

    Where every cable joins levels that are neighbours, counted in hops from the nearest switch with a terminal, as in
    trees, that is the level, and all switches of one have the same rank. Other networks are ranked by hops to the first
    switch, then by number.
    """
    if network.n_switches == 1:
        # No hops to count: the compiled kernels that count them take half a second to load.
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    graph = graph_of(network)
    hops = hop_table(graph, network)
    level = nearest(hops, np.unique(network.leaf)).astype(np.int64)
    cables = network.cables()
    rank = level
    if not (abs(level[cables[:, 0]] - level[cables[:, 2]]) == 1).all():
        rank = -(hops[0].astype(np.int64) * network.n_switches + np.arange(network.n_switches))
    return level, rank


def unicast_routes(network: Network) -> tuple[tuple[int, ...], ...]:
    """For each switch the port (from 0) towards each terminal.

    A switch that can reach the destination downwards does so on the shortest such path; others send upwards, towards
    where that is shortest in total. No packet goes up again after it has gone down, and cables have no other turns, so
    dependencies between cables have no circle (up*/down* routing). Among equal ports the destination's number
    chooses, which spreads destinations evenly in fat trees (D-mod-k).
    """
    level, rank = switch_ranks(network)
    if not _reaches_all(network, rank):
        # A forest of trees that meet nowhere above: rank by hops to the first switch instead.
        hops = hop_table(graph_of(network), network)
        rank = -(hops[0].astype(np.int64) * network.n_switches + np.arange(network.n_switches))
    ports = _neighbours(network)
    rows: list[list[int]] = [[] for _ in range(network.n_switches)]
    for terminal, (leaf, leaf_port) in enumerate(zip(network.leaf.tolist(), network.leaf_port.tolist(), strict=True)):
        down, cost = _costs(ports, rank, leaf)
        for here, row in enumerate(rows):
            if here == leaf:
                row.append(leaf_port - 1)
                continue
            is_down = down[here] < _FAR
            ways = [(down[to] if is_down else cost[to], port) for port, to in ports[here]
                    if (rank[to] < rank[here]) == is_down]
            best = min(ways)[0]
            equal = [port for way, port in ways if way == best]
            row.append(equal[terminal // len(equal) ** int(level[here]) % len(equal)])
    return tuple(map(tuple, rows))


def _neighbours(network: Network) -> list[list[tuple[int, int]]]:
    """(port, switch behind it) of every switch, by port from 0."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(network.n_switches)]
    for a, a_port, b, b_port in network.cables().tolist():
        found[a].append((a_port - 1, b))
        found[b].append((b_port - 1, a))
    return [sorted(row) for row in found]


def _costs(ports: list[list[tuple[int, int]]], rank: Ints, leaf: int) -> tuple[list[int], list[int]]:
    """Hops from every switch to `leaf` downwards alone, and with a way up before."""
    order = np.argsort(rank, kind="stable").tolist()
    down = [_FAR] * len(ports)
    down[leaf] = 0
    for here in order:
        for _, to in ports[here]:
            if rank[to] < rank[here]:
                down[here] = min(down[here], down[to] + 1)
    cost = list(down)
    for here in reversed(order):
        if down[here] == _FAR:
            cost[here] = min((cost[to] + 1 for _, to in ports[here] if rank[to] > rank[here]), default=_FAR)
    return down, cost


def _reaches_all(network: Network, rank: Ints) -> bool:
    ports = _neighbours(network)
    return all(max(_costs(ports, rank, leaf)[1]) < _FAR for leaf in set(network.leaf.tolist()))
