"""The graph of switches as compiled loops want it, and distances in it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from firmware_models.routing.network import Network, RoutingError

Ints = npt.NDArray[np.int32]
Hops = npt.NDArray[np.uint8]

FAR = 255
"""Distance of what cannot be reached."""


class Graph(NamedTuple):
    """Cabled slots of every switch: those of `s` are ``start[s]`` up to ``start[s + 1]``, by ascending port.

    `slot` and `to` say which slot each is and which switch it leads to; `owner` and `peer_slot` are the network's.
    """

    start: Ints
    slot: Ints
    to: Ints
    owner: Ints
    peer_slot: Ints


def graph_of(network: Network) -> Graph:
    """The graph of switches of a network."""
    slot = np.flatnonzero(network.peer_slot >= 0).astype(np.int32)
    start = np.searchsorted(slot, network.base).astype(np.int32)
    return Graph(start, slot, network.peer[slot], network.owner, network.peer_slot)


def hop_table(graph: Graph, network: Network) -> Hops:
    """Hops between every two switches of `network`, whose `graph` it is: the minimum-hop table, one byte a pair.

    Raises
    ------
    RoutingError
        If a switch cannot be reached from another, or is further than 254 hops.
    """
    n_switches = len(graph.start) - 1
    if n_switches > 1 << 16:
        raise RoutingError(f"topology must have at most 65,536 switches, not {n_switches:,}: no memory for more")
    hops = np.full((n_switches, n_switches), FAR, dtype=np.uint8)
    start, to = _neighbours(graph)
    _fill(start, to, hops)
    if n_switches and int(hops.max()) == FAR:
        here, there = np.unravel_index(int(hops.argmax()), hops.shape)
        raise RoutingError(
            f"{network.name}: must be connected, with no two switches more than 254 hops apart: switches "
            f"{network.switch_names[int(here)]!r} and {network.switch_names[int(there)]!r} are"
        )
    return hops


def _neighbours(graph: Graph) -> tuple[Ints, Ints]:
    """The graph without parallel cables."""
    n_switches = len(graph.start) - 1
    pairs = np.unique(graph.owner[graph.slot].astype(np.int64) * n_switches + graph.to)
    start = np.searchsorted(pairs, np.arange(n_switches + 1, dtype=np.int64) * n_switches).astype(np.int32)
    return start, (pairs % n_switches).astype(np.int32)


@njit(cache=True)
def _fill(start: Ints, to: Ints, hops: Hops) -> None:
    n = len(start) - 1
    queue = np.empty(n, np.int32)
    for source in range(n):
        row = hops[source]
        row[source] = 0
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            here = queue[head]
            head += 1
            if row[here] == FAR - 1:
                break
            for k in range(start[here], start[here + 1]):
                there = to[k]
                if row[there] == FAR:
                    row[there] = row[here] + 1
                    queue[tail] = there
                    tail += 1


@njit(cache=True)
def farthest(hops: Hops, leaves: Ints, extra: Hops) -> Hops:
    """For every switch the hops to the farthest member; `extra` is the hop from a leaf to its terminals, 0 or 1."""
    result = np.zeros(hops.shape[1], np.uint8)
    for i in range(len(leaves)):
        row, more = hops[leaves[i]], extra[i]
        for s in range(len(result)):
            result[s] = max(result[s], row[s] + more)
    return result


@njit(cache=True)
def nearest(hops: Hops, switches: Ints) -> Hops:
    """For every switch the hops to the nearest of `switches`."""
    result = np.full(hops.shape[1], FAR, np.uint8)
    for i in range(len(switches)):
        row = hops[switches[i]]
        for s in range(len(result)):
            result[s] = min(result[s], row[s])
    return result
