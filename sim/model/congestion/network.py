"""A network of hosts and switches, links between them, and the ways through it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sim.model.congestion.error import CongestionError
from sim.model.congestion.ways import SwitchGraph, Way

NS_A_SECOND = 10**9
MAX_PORTS = 1 << 16
_MOST_WAYS = 256
_MOST_PRODUCT = (1 << 63) - 1


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
        self._ways: dict[tuple[int, int], Way] = {}
        self._hops: dict[int, npt.NDArray[np.int32]] = {}

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

    def _switch_of(self, host: int) -> tuple[int, Link]:
        """The switch of a host, and the link between them."""
        port = self.ports_of[host][0]
        return self.node_of(port ^ 1), self.links[port // 2]

    @cached_property
    def _graph(self) -> SwitchGraph:
        ends = np.array([(link.b, link.a) for link in self.links], np.int64).ravel()
        is_switch = np.zeros(self.n_nodes, np.int64)
        is_switch[list(self.switches)] = 1
        return SwitchGraph.of(self.ports_of, ends, np.array([link.delay_ns for link in self.links], np.int64),
                              np.array([link.rate for link in self.links], np.int64), is_switch)

    def _way_from(self, switch: int, payload: int) -> Way:
        found = self._ways.get((switch, payload))
        if found is None:
            if len(self._ways) == _MOST_WAYS:
                self._ways.clear()
            found = self._ways[switch, payload] = self._graph.way_from(switch, payload * 8 * NS_A_SECOND)
        return found

    def _hops_to(self, switch: int) -> npt.NDArray[np.int32]:
        """Links between each switch and this one."""
        found = self._hops.get(switch)
        if found is None:
            found = self._hops[switch] = self._graph.way_from(switch, 0).hops.astype(np.int32)
        return found

    def hops(self, source: int, destination: int) -> int:
        """Links of the shortest ways from one host to another."""
        if not self.switches:
            return 1
        (here, _), (there, _) = self._switch_of(source), self._switch_of(destination)
        return 2 + int(self._hops_to(there)[here])

    def path(self, source: int, destination: int, key: int) -> list[int]:
        """Ports that a packet leaves by from `source` to `destination`; `key` chooses among equal ways (ECMP).

        Every node has a hash of its own, so that flows which meet once do not meet everywhere.
        """
        first, last = self.ports_of[source][0], self.ports_of[destination][0] ^ 1
        if not self.switches:
            return [first]
        node, end, ports = self.node_of(first ^ 1), self.node_of(last), [first]
        distance = self._hops_to(end)
        while node != end:
            near = [port for port in self.ports_of[node] if distance[self.node_of(port ^ 1)] == distance[node] - 1]
            port = near[_mix(key ^ _mix(node + 1)) % len(near)] if len(near) > 1 else near[0]
            ports.append(port)
            node = self.node_of(port ^ 1)
        return [*ports, last]

    def pair(self, source: int, destination: int, payload: int) -> Pair:
        """Two hosts, by the first of the shortest ways between them."""
        (here, first), (there, last) = self._switch_of(source), self._switch_of(destination)
        if not self.switches:
            return Pair(first.delay_ns, payload * 8 * NS_A_SECOND // first.rate, first.rate)
        way = self._way_from(here, payload)
        return Pair(
            first.delay_ns + int(way.delay_ns[there]) + last.delay_ns,
            payload * 8 * NS_A_SECOND // first.rate + int(way.transmission_ns[there])
            + payload * 8 * NS_A_SECOND // last.rate,
            min(first.rate, int(way.rate[there]), last.rate),
        )

    def largest_round_trip(self, payload: int) -> tuple[int, int]:
        """The largest base round trip of two hosts, ns, and the largest product of it and the rate, bytes.

        Hosts of one switch whose links are alike see the same: one of them stands for all.
        """
        if not self.switches:
            pairs = [self.pair(self.hosts[0], self.hosts[1], payload)]
            return pairs[0].round_trip_ns, pairs[0].round_trip_ns * pairs[0].rate // NS_A_SECOND // 8
        kinds: dict[tuple[int, int, int], int] = {}
        for host in self.hosts:
            switch, link = self._switch_of(host)
            kinds[switch, link.delay_ns, link.rate] = kinds.get((switch, link.delay_ns, link.rate), 0) + 1
        switches, delay, rate = np.array(list(kinds), np.int64).T
        transmission = payload * 8 * NS_A_SECOND // rate
        round_trip, product = 0, 0
        for kind, (switch, _, _) in enumerate(kinds):
            way = self._graph.way_from(switch, payload * 8 * NS_A_SECOND)
            trip = 2 * (delay[kind] + way.delay_ns[switches] + delay) \
                + transmission[kind] + way.transmission_ns[switches] + transmission
            least = np.minimum(np.minimum(way.rate[switches], rate), rate[kind])
            if kinds[switch, int(delay[kind]), int(rate[kind])] == 1:
                trip[kind] = 0  # a host has no way to itself
            round_trip = max(round_trip, int(trip.max()))
            at_rate = trip.astype(object) * least.astype(object) if trip.max() > _MOST_PRODUCT // int(least.max()) \
                else trip * least
            product = max(product, int((at_rate // NS_A_SECOND // 8).max()))
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
        reached = self._reached(self.hosts[0])
        for host in self.hosts:
            if host not in reached:
                raise CongestionError(
                    f"{self.name}: node {host}: must be reached from node {self.hosts[0]}; no links lead there")

    def _reached(self, host: int) -> set[int]:
        """The nodes that links lead to from a host; only switches pass packets on."""
        found, waiting = {host}, [host]
        while waiting:
            for port in self.ports_of[waiting.pop()]:
                peer = self.node_of(port ^ 1)
                if peer not in found:
                    found.add(peer)
                    if peer in self.switches:
                        waiting.append(peer)
        return found


def _mix(key: int) -> int:
    """Spreads a number over 64 bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    mask = (1 << 64) - 1
    key = (key + 0x9E3779B97F4A7C15) & mask
    key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & mask
    key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & mask
    return key ^ (key >> 31)


def flow_key(source: int, destination: int, source_port: int, destination_port: int, seed: int) -> int:
    """Key by which ECMP distinguishes flows."""
    return _mix(_mix(_mix(source << 32 | destination) ^ (source_port << 16 | destination_port)) ^ _mix(seed))
