"""Flows: what a workload asks of a network."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sim.model.congestion.error import CongestionError
from sim.model.congestion.network import Network

NS_A_SECOND = 10**9
MAX_BYTES = 1 << 40
MAX_FLOWS = 1 << 17
FIRST_PORT = 10_000
"""Source port of the first flow of two hosts; the next ones count on (third.cc: ``portNumder``)."""


@dataclass(frozen=True)
class Flow:
    """Bytes from one host to another.

    Members
    -------
    source, destination : int
        Hosts.
    size : int
        Payload bytes, at least 1.
    start_ns : int
        When it begins, at the earliest.
    port : int
        Destination port, which scripts of the HPCC release tell kinds of flows by.
    kind : str
        What it is for: "long", "short", "all-reduce", "incast" and so on.
    group : int
        Flows of one operation have one number.
    waits_for : tuple of int
        Flows (indexes in the workload) that must have come in, at this flow's source, before it begins.
    follows : int or None
        Flow of the same source that must have begun before.
    """

    source: int
    destination: int
    size: int
    start_ns: int
    port: int = 100
    kind: str = ""
    group: int = 0
    waits_for: tuple[int, ...] = field(default=())
    follows: int | None = None

    @property
    def is_timed(self) -> bool:
        """True if it begins at its time, whatever else happens."""
        return not self.waits_for and self.follows is None


def check_flows(flows: Sequence[Flow], network: Network) -> None:
    """Refuses flows that this network cannot have.

    Raises
    ------
    CongestionError
        Naming the flow, the field, its value and what is allowed.
    """
    if not 1 <= len(flows) <= MAX_FLOWS:
        raise CongestionError(f"flows: must be 1 to {MAX_FLOWS}, not {len(flows)}")
    for number, flow in enumerate(flows):
        where = f"flow {number}"
        for name, node in (("source", flow.source), ("destination", flow.destination)):
            if not 0 <= node < network.n_nodes or node in network.switches:
                raise CongestionError(f"{where}: {name}: must be a host of {network.name} "
                                      f"({host_range(network)}), not {node}")
        if flow.source == flow.destination:
            raise CongestionError(f"{where}: destination: must not be its source, {flow.source}")
        if not 1 <= flow.size <= MAX_BYTES:
            raise CongestionError(f"{where}: size: must be 1 to {MAX_BYTES} bytes, not {flow.size}")
        for other in flow.waits_for:
            if not 0 <= other < len(flows) or flows[other].destination != flow.source:
                raise CongestionError(f"{where}: waits_for: must be flows to its source, {flow.source}, not {other}")
        before = flow.follows
        if before is not None and not (0 <= before < len(flows) and flows[before].source == flow.source):
            raise CongestionError(f"{where}: follows: must be a flow from its source, {flow.source}, not {before}")


def host_range(network: Network) -> str:
    """The hosts of a network in few words: ``0 to 319``, or ``0 to 19 but 2, 3``."""
    hosts = network.hosts
    missing = [node for node in range(hosts[0], hosts[-1]) if node in network.switches]
    return f"{hosts[0]} to {hosts[-1]}" + (f" but {', '.join(map(str, missing))}" if missing else "")
