"""Flow files of the ns-3 release of HPCC (`mix/flow.txt`).

First line: flows. Then a line a flow: source, destination, priority group, destination port, bytes, seconds; times do
not go backwards. What follows the last flow is not read. Destination ports say what a flow is for, if they are those
of `PORTS`.
"""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from firmware_models.files import write_text
from sim.model.congestion.error import CongestionError
from sim.model.congestion.flows import MAX_BYTES, MAX_FLOWS, NS_A_SECOND, Flow, host_range
from sim.model.congestion.network import Network
from sim.model.congestion.tokens import Tokens, decimal

GROUP = 3
"""Priority group of data in the files of the release. There is one class of data here, so a file has one group."""
PORTS = {"long": 100, "short": 101, "all-reduce": 102, "incast": 200, "broadcast": 201, "all-to-all": 202,
         "collective": 300}
"""Destination ports by what a flow is for."""
_KINDS = {port: kind for kind, port in PORTS.items()}
_MAX_SECONDS = 10**6


def read_flows(path: Path, network: Network) -> list[Flow]:
    """The flows in a file.

    Raises
    ------
    CongestionError
        If the file is refused; with file, line, field, value and what is allowed.
    """
    tokens = Tokens(path)
    hosts, flows, first_group, before = set(network.hosts), [], 0, Decimal(0)
    allowed = f"a host of {network.name}, {host_range(network)}"

    def host(word: str) -> int | None:
        return int(word) if word.isascii() and word.isdecimal() and len(word) < 10 and int(word) in hosts else None

    def seconds(word: str) -> Decimal | None:
        value = decimal(word)
        return value if value is not None and before <= value <= _MAX_SECONDS else None

    for _ in range(tokens.whole("flows", 1, MAX_FLOWS)):
        source = tokens.take("source", allowed, host)
        destination = tokens.take("destination", allowed, host)
        if source == destination:
            raise tokens.refusal("destination", f"another host than the source, {source}", destination)
        group = tokens.whole("priority group", 1, 7)
        first_group = first_group or group
        if group != first_group:
            raise tokens.refusal("priority group", f"the same for all flows, {first_group}: there is one class of data",
                                 group)
        port = tokens.whole("destination port", 0, 65535)
        size = tokens.whole("bytes", 1, MAX_BYTES)
        before = tokens.take("time", f"seconds from {before}, the flow before, to {_MAX_SECONDS}", seconds)
        flows.append(Flow(source, destination, size, int(before * NS_A_SECOND), port, _KINDS.get(port, "")))
    return flows


def write_flows(flows: Sequence[Flow], path: Path) -> None:
    """The file of some flows, by their times.

    Raises
    ------
    CongestionError
        If a flow waits for others, which the format cannot say.
    """
    if not all(flow.is_timed for flow in flows):
        raise CongestionError(f"{path}: flows: must not wait for each other: the format has times only")
    ordered = sorted(flows, key=lambda flow: flow.start_ns)
    lines = [f"{flow.source} {flow.destination} {GROUP} {flow.port} {flow.size} "
             f"{flow.start_ns // NS_A_SECOND}.{flow.start_ns % NS_A_SECOND:09d}" for flow in ordered]
    write_text(path, "\n".join([str(len(flows)), *lines]) + "\n")
