"""Invariants of a run that has come to rest, from what it leaves behind rather than from the core's word."""

from collections.abc import Sequence

import numpy as np

from sim.model.congestion.core.records import Records, State
from sim.model.congestion.flows import Flow
from sim.model.congestion.network import Network
from sim.model.congestion.parameters import SMALLEST, Parameters

_PS_A_BIT = 10**12
_MUST_BE_ZERO = {
    "lost": "packets were lost", "reordered": "packets came out of order within a flow",
    "overfull": "times a switch held more than its buffer", "overlapping": "packets were sent while a port was busy",
    "out_of_bounds": "rates were above the line's or below the least",
}


def audit(state: State, network: Network, flows: Sequence[Flow], parameters: Parameters, pfc: Records) -> list[str]:
    """Lists the invariants that do not hold, a line each.

    Bytes are conserved (flows, ports, links, buffers), nothing is lost or overtaken within a flow, no switch holds more
    than its buffer, no port sends faster than its line, no flow ends sooner than its path allows.
    """
    found = [f"{int(state.tally[0][name])} {what}" for name, what in _MUST_BE_ZERO.items() if state.tally[0][name]]
    records = state.flows
    ended = bool((records["finished_at"] >= 0).all())
    if not ended:
        found.append(f"{int((records['finished_at'] < 0).sum())} of {len(flows)} flows did not end")
    if (records["received"] > records["sent"]).any() or (records["acked"] > records["received"]).any():
        found.append("more bytes were acknowledged than came in, or came in than were sent")
    if (state.ports["tx_bytes"] != _heard(state)).any():
        found.append("bytes were sent that neither came in nor are on the wire")
    if (state.nodes["peak"] > state.nodes["buffer"])[state.nodes["is_switch"]].any():
        found.append("a switch held more than its buffer")
    if (state.ports["tx_bytes"] * 8.0 * _PS_A_BIT > state.ports["rate"] * float(state.tally[0]["now"])).any():
        found.append("a port sent more than its line carries")
    if ended:
        found += _at_rest(state, network, flows, parameters, pfc)
    return found


def _heard(state: State) -> Records:
    """Bytes that came in at the peer of each port; nothing is on a wire when all is at rest."""
    return state.ports["rx_bytes"][state.ports["peer"]]


def _at_rest(
    state: State, network: Network, flows: Sequence[Flow], parameters: Parameters, pfc: Records,
) -> list[str]:
    """Lists the invariants that do not hold of a run all of whose flows have ended."""
    found, records = [], state.flows
    sizes = np.array([flow.size for flow in flows])
    for name in ("sent", "received", "acked"):
        if (records[name] != sizes).any():
            found.append(f"flows have ended with other bytes {name} than they have")
    left = {"ports": ("queue_bytes", "data_bytes", "ingress_bytes", "headroom_bytes", "is_pausing", "is_paused"),
            "nodes": ("shared", "occupied", "n_active")}
    for array, names in left.items():
        found += [f"{array} are left with {name}" for name in names if getattr(state, array)[name].any()]
    if state.tally[0]["n_free"] != len(state.packets):
        found.append(f"{len(state.packets) - int(state.tally[0]['n_free'])} packets did not come back into the pool")
    expected = expected_bytes(state, network, flows, parameters, pfc)
    wrong = np.flatnonzero(expected != state.ports["tx_bytes"])
    if len(wrong):
        p = int(wrong[0])
        found.append(f"port {network.number_of(p)} of node {network.node_of(p)} sent {int(state.ports['tx_bytes'][p])} "
                     f"bytes, not {int(expected[p])}")
    took = records["finished_at"] - records["start"]
    for number in np.flatnonzero(took < least_ps(state, network, flows, parameters)):
        found.append(f"flow {number} ended sooner than its path allows")
    return found


def expected_bytes(
    state: State, network: Network, flows: Sequence[Flow], parameters: Parameters, pfc: Records,
) -> Records:
    """Bytes that each port has to have sent when all flows have ended: packets, acknowledgements, frames of PFC."""
    total = np.zeros(network.n_ports, np.int64)
    for number, flow in enumerate(flows):
        n_packets = -(-flow.size // parameters.payload)
        there, back = paths_of(state, number)
        total[there] += flow.size + n_packets * parameters.overhead
        total[back] += n_packets * parameters.ack_size
    np.add.at(total, pfc["port"] ^ 1, SMALLEST)
    return total


def least_ps(state: State, network: Network, flows: Sequence[Flow], parameters: Parameters) -> Records:
    """The least time of each flow: delays both ways, and all of its bytes over its slowest link."""
    least = np.zeros(len(flows), np.int64)
    for number, flow in enumerate(flows):
        there, back = paths_of(state, number)
        n_packets = -(-flow.size // parameters.payload)
        delays = int(state.ports["delay"][there].sum() + state.ports["delay"][back].sum())
        bits = (flow.size + n_packets * parameters.overhead) * 8
        least[number] = delays + bits * _PS_A_BIT // int(state.ports["rate"][there].min())
    return least


def paths_of(state: State, number: int) -> tuple[Records, Records]:
    """Ports that packets and acknowledgements of a flow leave by."""
    first, middle = int(state.flows[number]["path"]), int(state.flows[number]["path_back"])
    later = int(state.flows[number + 1]["path"]) if number + 1 < len(state.flows) else len(state.paths)
    return state.paths[first:middle], state.paths[middle:later]
