"""Result files of the ns-3 release of HPCC: flow completion times and PFC, in its columns (third.cc)."""

from pathlib import Path

from firmware_models.files import write_text
from sim.model.congestion.network import NS_A_SECOND
from sim.model.congestion.parameters import HEADER
from sim.model.congestion.prepare import PS_A_NS, source_ports
from sim.model.congestion.simulate import Outcome


def write_fct(outcome: Outcome, path: Path) -> None:
    """A line a flow that ended, in that order.

    Source and destination address, ports, bytes, beginning and completion time in ns, and the completion time of the
    flow alone: base round trip, and its bytes with headers but without telemetry at the least rate of its path.
    """
    network, parameters = outcome.network, outcome.parameters
    origin = min(flow.start_ns for flow in outcome.flows)
    ports = source_ports(outcome.flows)
    lines = []
    for number in outcome.state.flows["finished_at"].argsort(kind="stable"):
        flow = outcome.flows[number]
        if outcome.state.flows["finished_at"][number] < 0:
            continue
        pair = network.pair(flow.source, flow.destination, parameters.payload)
        total = flow.size + ((flow.size - 1) // parameters.payload + 1) * HEADER
        alone = pair.round_trip_ns + total * 8 * NS_A_SECOND // pair.rate
        lines.append(f"{address(flow.source):08x} {address(flow.destination):08x} {ports[number]} {flow.port} "
                     f"{flow.size} {origin + int(outcome.start_ns[number])} {int(outcome.fct_ns[number])} {alone}")
    write_text(path, "".join(f"{line}\n" for line in lines))


def write_pfc(outcome: Outcome, path: Path) -> None:
    """A line a frame of PFC that came in: ns, node, 1 if it is a switch, port (from 1), 1 for pause or 0."""
    network, origin = outcome.network, min(flow.start_ns for flow in outcome.flows)
    names = [(network.node_of(p), int(network.node_of(p) in network.switches), network.number_of(p))
             for p in range(network.n_ports)]
    lines = []
    for time, port, is_pause in outcome.pfc.tolist():
        node, kind, number = names[port]
        lines.append(f"{origin + time // PS_A_NS} {node} {kind} {number} {is_pause}\n")
    write_text(path, "".join(lines))


def address(node: int) -> int:
    """The IP address of a host (third.cc: ``node_id_to_ip``): 11.x.y.1."""
    return 0x0B000001 + (node // 256 << 16) + (node % 256 << 8)
