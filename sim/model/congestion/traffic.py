"""The paper's traffic model (section 3): flows under test among a fifth of the nodes, background among the others.

The paper says what kinds of flows there are and that nodes and times are drawn at random; how many it says only for its
large experiment (19,181 flows; long ones, those of all-to-all included, 1.4% of them and 58.76% of the bytes). The
shares here give the same there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sim.model.congestion.error import CongestionError
from sim.model.congestion.flow_file import PORTS
from sim.model.congestion.flows import Flow

TESTED = ("long", "short", "all-reduce")
BACKGROUND = ("incast", "broadcast", "all-to-all")


@dataclass(frozen=True)
class Traffic:
    """Parameters of the traffic that is drawn.

    Members
    -------
    load : float
        Background bytes, over what the links of the background nodes carry in `duration_ns`; above 0, at most 1.
    seed : int
        Of all that is drawn.
    duration_ns : int
        Flows begin within this time.
    rate : int
        Of a host's link, bits a second.
    tested_share : float
        Nodes whose flows are under test, the paper's 20%; all others make background.
    long_bytes, short_bytes : int
        Of long and all-to-all flows, and of all others. The paper's shares of flows and bytes make a long flow a
        hundred times as long as a short one.
    shorts_a_node, rounds : int
        Short flows of a tested node; all-reduces of each group.
    members : int
        Nodes of a group of all-reduce: one, and those that it hears from and then sends to, all at once.
    fan : int
        Peers of the one node of an incast or broadcast.
    mesh : int
        Nodes of an all-to-all.
    mesh_share : float
        Of the background bytes, those of all-to-alls; incasts and broadcasts have half of the rest each.
    """

    load: float
    seed: int = 1
    duration_ns: int = 1_250_000
    rate: int = 100_000_000_000
    tested_share: float = 0.2
    long_bytes: int = 6_400_000
    short_bytes: int = 64_000
    shorts_a_node: int = 16
    rounds: int = 5
    members: int = 8
    fan: int = 16
    mesh: int = 4
    mesh_share: float = 0.534

    def check(self, n_hosts: int) -> None:
        """Refuses what cannot be drawn for so many hosts.

        Raises
        ------
        CongestionError
            Naming the field, its value and what is allowed.
        """
        for name, low, high in (("load", 0, 1), ("tested_share", 0, 1), ("mesh_share", 0, 1)):
            value = getattr(self, name)
            if not low < value <= high:
                raise CongestionError(f"{name}: must be above {low} and at most {high}, not {value}")
        for name, least in (("seed", 0), ("duration_ns", 1), ("long_bytes", 1), ("short_bytes", 1), ("rounds", 0),
                            ("shorts_a_node", 0), ("members", 2), ("fan", 1), ("mesh", 2)):
            if getattr(self, name) < least:
                raise CongestionError(f"{name}: must be at least {least}, not {getattr(self, name)}")
        n_tested = round(n_hosts * self.tested_share)
        if n_tested < 2 or n_hosts - n_tested < 2:
            raise CongestionError(f"hosts: must be enough for 2 under test and 2 of background, not {n_hosts}")


def draw(hosts: Sequence[int], traffic: Traffic) -> list[Flow]:
    """Flows by their times; `group` numbers operations.

    Raises
    ------
    CongestionError
        If `traffic` cannot be drawn.
    """
    traffic.check(len(hosts))
    # Background has a generator of its own, so that flows under test are the same at every load.
    nodes = np.random.default_rng([traffic.seed, 0]).permutation(np.array(hosts))
    n_tested = round(len(hosts) * traffic.tested_share)
    tested = _tested(np.sort(nodes[:n_tested]), traffic, np.random.default_rng([traffic.seed, 1]))
    background = _background(np.sort(nodes[n_tested:]), traffic, np.random.default_rng([traffic.seed, 2]))
    flows = [*tested, *(replace(flow, group=flow.group + len(tested)) for flow in background)]
    return sorted(flows, key=lambda flow: (flow.start_ns, flow.source, flow.destination))


def alone(flows: Iterable[Flow]) -> list[Flow]:
    """The flows under test, without background."""
    return [flow for flow in flows if flow.kind in (*TESTED, "collective")]


def _flow(source: int, destination: int, kind: str, at: int, traffic: Traffic, group: int) -> Flow:
    size = traffic.long_bytes if kind in ("long", "all-to-all") else traffic.short_bytes
    return Flow(int(source), int(destination), size, int(at), PORTS[kind], kind, group)


def _tested(nodes: np.ndarray, traffic: Traffic, draws: np.random.Generator) -> list[Flow]:
    """Long flows round a random cycle of the nodes, short ones to random others, all-reduces in random groups."""
    found, group = [], 0
    cycle = draws.permutation(nodes)
    for source, destination in zip(cycle, np.roll(cycle, -1), strict=True):
        found.append(_flow(source, destination, "long", int(draws.integers(traffic.duration_ns)), traffic, group))
        group += 1
    for source in nodes:
        for destination in draws.choice(nodes[nodes != source], traffic.shorts_a_node):
            found.append(_flow(source, destination, "short", int(draws.integers(traffic.duration_ns)), traffic, group))
            group += 1
    order = draws.permutation(nodes)
    for first in range(0, len(order) - 1, traffic.members):
        root, *others = order[first:first + traffic.members]
        for _ in range(traffic.rounds):
            gathered, scattered = np.sort(draws.integers(traffic.duration_ns, size=2))
            for other in others:
                found.append(_flow(other, root, "all-reduce", gathered, traffic, group))
                found.append(_flow(root, other, "all-reduce", scattered, traffic, group))
            group += 1
    return found


def _background(nodes: np.ndarray, traffic: Traffic, draws: np.random.Generator) -> list[Flow]:
    """Operations of random nodes at random times, each kind until its share of the bytes is used up, at least one."""
    budget = traffic.load * len(nodes) * traffic.rate / 8 * traffic.duration_ns / 1e9
    rest = (1 - traffic.mesh_share) / 2
    found, group = [], 0
    for kind, share in (("incast", rest), ("broadcast", rest), ("all-to-all", traffic.mesh_share)):
        left = budget * share
        while True:
            size = min(traffic.mesh if kind == "all-to-all" else traffic.fan + 1, len(nodes))
            chosen, at = draws.choice(nodes, size, replace=False), draws.integers(traffic.duration_ns)
            one, others = chosen[0], chosen[1:]
            pairs = {"incast": [(other, one) for other in others], "broadcast": [(one, other) for other in others],
                     "all-to-all": [(a, b) for a in chosen for b in chosen if a != b]}[kind]
            found += [_flow(a, b, kind, int(at), traffic, group) for a, b in pairs]
            group += 1
            left -= sum(flow.size for flow in found[-len(pairs):])
            if left < found[-1].size * len(pairs) / 2:
                break
    return found
