"""A network of hosts and switches, links between them, and the ways through it."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sim.congestion.error import CongestionError

Ints = npt.NDArray[np.int64]
NS_A_SECOND = 10**9
MAX_PORTS = 1 << 16
_UNREACHED = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Link:
    """A link of both directions: nodes, bits a second, delay in ns."""

    a: int
    b: int
    rate: int
    delay_ns: int


@dataclass(frozen=True)
class Pair:
    """Two hosts as seen from the first: propagation and transmission of one payload, ns, and the least rate between."""

    delay_ns: int
    transmission_ns: int
    rate: int

    @property
    def round_trip_ns(self) -> int:
        """Base round trip as the ns-3 release has it: propagation both ways, transmission of a payload one way."""
        return 2 * self.delay_ns + self.transmission_ns


class Network:
    """Nodes 0 to `n_nodes` - 1; link i has the ports 2 i (at `a`) and 2 i + 1 (at `b`), so a port's peer is port ^ 1.

    Parameters
    ----------
    n_nodes : int
    switches : iterable of int
        Nodes that are switches; all others are hosts, with one link each.
    links : sequence of Link
    name : str

    Raises
    ------
    CongestionError
        If a host has not exactly one link, or hosts do not reach each other.
    """

    def __init__(self, n_nodes: int, switches: Iterable[int], links: Sequence[Link], name: str):
        self.n_nodes = n_nodes
        self.switches = frozenset(switches)
        self.links = tuple(links)
        self.name = name
        self.hosts = [node for node in range(n_nodes) if node not in self.switches]
        self.ports_of: list[list[int]] = [[] for _ in range(n_nodes)]
        for i, link in enumerate(self.links):
            self.ports_of[link.a].append(2 * i)
            self.ports_of[link.b].append(2 * i + 1)
        self._check()
        self._distances: dict[int, npt.NDArray[np.int32]] = {}

    @property
    def n_ports(self) -> int:
        """Ports of all nodes."""
        return 2 * len(self.links)

    def node_of(self, port: int) -> int:
        """The node of a port."""
        link = self.links[port // 2]
        return link.b if port % 2 else link.a

    def number_of(self, port: int) -> int:
        """The number of a port at its node, from 1 in the order of links, as ns-3 counts devices."""
        return self.ports_of[self.node_of(port)].index(port) + 1

    @cached_property
    def host_rate(self) -> int:
        """Rate of the first host's link, which parameters go by (third.cc: ``get_nic_rate``)."""
        return self.links[self.ports_of[self.hosts[0]][0] // 2].rate

    def distances(self, host: int) -> npt.NDArray[np.int32]:
        """Links from each node to `host`; only switches pass packets on."""
        found = self._distances.get(host)
        if found is None:
            found = np.full(self.n_nodes, _UNREACHED, np.int32)
            found[host] = 0
            waiting = deque([host])
            while waiting:
                node = waiting.popleft()
                for port in self.ports_of[node]:
                    peer = self.node_of(port ^ 1)
                    if found[peer] == _UNREACHED:
                        found[peer] = found[node] + 1
                        if peer in self.switches:
                            waiting.append(peer)
            self._distances[host] = found
        return found

    def path(self, source: int, destination: int, key: int) -> list[int]:
        """Ports that a packet leaves by from `source` to `destination`; `key` chooses among equal ways (ECMP).

        Every node has a hash of its own, so that flows which meet once do not meet everywhere.
        """
        distance = self.distances(destination)
        node, ports = source, []
        while node != destination:
            near = [port for port in self.ports_of[node] if distance[self.node_of(port ^ 1)] == distance[node] - 1]
            port = near[_mix(key ^ _mix(node + 1)) % len(near)] if len(near) > 1 else near[0]
            ports.append(port)
            node = self.node_of(port ^ 1)
        return ports

    def pairs_from(self, host: int, payload: int) -> dict[int, Pair]:
        """All other hosts, by the first of the shortest ways."""
        distance = self.distances(host)
        found = {host: Pair(0, 0, 1 << 62)}
        waiting = deque([host])
        while waiting:
            node = waiting.popleft()
            here = found[node]
            for port in self.ports_of[node]:
                peer, link = self.node_of(port ^ 1), self.links[port // 2]
                if distance[peer] == distance[node] + 1 and peer not in found:
                    found[peer] = Pair(here.delay_ns + link.delay_ns,
                                       here.transmission_ns + payload * 8 * NS_A_SECOND // link.rate,
                                       min(here.rate, link.rate))
                    if peer in self.switches:
                        waiting.append(peer)
        return {node: pair for node, pair in found.items() if node != host and node not in self.switches}

    def largest_round_trip(self, payload: int) -> tuple[int, int]:
        """The largest base round trip of two hosts, ns, and the largest product of it and the rate, bytes."""
        round_trip, product = 0, 0
        for host in self.hosts:
            for pair in self.pairs_from(host, payload).values():
                round_trip = max(round_trip, pair.round_trip_ns)
                product = max(product, pair.round_trip_ns * pair.rate // NS_A_SECOND // 8)
        return round_trip, product

    def _check(self) -> None:
        if len(self.hosts) < 2:
            raise CongestionError(f"{self.name}: hosts: must be at least 2, not {len(self.hosts)}")
        if self.n_ports > MAX_PORTS:
            raise CongestionError(f"{self.name}: links: must be at most {MAX_PORTS // 2}, not {len(self.links)}")
        for host in self.hosts:
            if len(self.ports_of[host]) != 1:
                raise CongestionError(
                    f"{self.name}: node {host}: a host must have one link, not {len(self.ports_of[host])}")
        self._distances = {}
        distance = self.distances(self.hosts[0])
        for host in self.hosts:
            if distance[host] == _UNREACHED:
                raise CongestionError(
                    f"{self.name}: node {host}: must be reached from node {self.hosts[0]}; no links lead there")


def _mix(key: int) -> int:
    """Spreads a number over 64 bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    mask = (1 << 64) - 1
    key = (key + 0x9E3779B97F4A7C15) & mask
    key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & mask
    key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & mask
    return key ^ (key >> 31)


def flow_key(source: int, destination: int, source_port: int, destination_port: int, seed: int) -> int:
    """What ECMP tells flows apart by."""
    return _mix(_mix(_mix(source << 32 | destination) ^ (source_port << 16 | destination_port)) ^ _mix(seed))
