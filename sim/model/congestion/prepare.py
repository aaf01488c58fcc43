"""From network, flows and parameters to the arrays that the core works on."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from sim.model.congestion.core.records import (
    ALGORITHMS,
    CONTROL,
    EVENT_BITS,
    FLOW,
    HOP,
    MAX_HOPS,
    NEVER,
    NODE,
    NONE,
    PACKET,
    PFC,
    PORT,
    TALLY,
    Records,
    State,
)
from sim.model.congestion.error import CongestionError
from sim.model.congestion.flows import FIRST_PORT, Flow, check_flows
from sim.model.congestion.network import Network, flow_key
from sim.model.congestion.parameters import GIGA, SMALLEST, Parameters

PS_A_NS = 1000
N_BINS = 8192
N_PACKETS = 1 << 14
N_PFC = 1 << 12
_SEED_STEP = 0x9E3779B97F4A7C15


def source_ports(flows: Sequence[Flow]) -> list[int]:
    """Source ports: 10000 for the first flow of two hosts, 10001 for the next."""
    used: defaultdict[tuple[int, int], int] = defaultdict(int)
    found = []
    for flow in flows:
        found.append(FIRST_PORT + used[flow.source, flow.destination])
        used[flow.source, flow.destination] += 1
    return found


def check_run(network: Network, flows: Sequence[Flow], parameters: Parameters) -> None:
    """Refuses at once what :func:`prepare` could not make a simulation of.

    Raises
    ------
    CongestionError
        If flows, buffer, sizes or paths are none that can be simulated.
    """
    check_flows(flows, network)
    if (network.n_ports + len(flows)) * 4 >= 1 << EVENT_BITS:
        raise CongestionError(f"{network.name}: ports and flows: must be below {1 << EVENT_BITS - 2} together, "
                              f"not {network.n_ports + len(flows)}")
    for switch in sorted(network.switches):
        kept = kept_bytes(network, switch, parameters)
        if parameters.buffer <= kept:
            raise CongestionError(f"buffer: must be above {kept} bytes, which the {len(network.ports_of[switch])} "
                                  f"ports of switch {switch} keep for themselves, not {parameters.buffer}")
    if parameters.algorithm == "hpcc":
        for number, flow in enumerate(flows):
            if (met := network.hops(flow.source, flow.destination) - 1) > MAX_HOPS:
                raise CongestionError(f"flow {number}: path: must have at most {MAX_HOPS} switches, which is what "
                                      f"telemetry has room for, not {met}")


def kept_bytes(network: Network, switch: int, parameters: Parameters) -> int:
    """Bytes of its buffer that the ports of a switch keep for themselves."""
    links = [network.links[port // 2] for port in network.ports_of[switch]]
    return sum(headroom(link.rate, link.delay_ns, parameters) + parameters.reserve for link in links)


def prepare(
    network: Network, flows: Sequence[Flow], parameters: Parameters, *, seed: int, followed: Sequence[int] = (),
    series_ns: int = 100_000,
) -> State:
    """All of a simulation before its first event; time 0 is when the first flow begins.

    `followed` are flows (indexes) whose bytes are counted in bins of `series_ns`.

    Raises
    ------
    CongestionError
        If flows, buffer or paths are none that can be simulated.
    """
    check_run(network, flows, parameters)
    round_trip, product = network.largest_round_trip(parameters.payload)
    ports, nodes = _ports(network, parameters), _nodes(network, parameters)
    origin = min(flow.start_ns for flow in flows)
    records = np.zeros(len(flows), FLOW)
    names: list[int] = []
    for number, (flow, source_port) in enumerate(zip(flows, source_ports(flows), strict=True)):
        record = records[number]
        there = network.path(flow.source, flow.destination,
                             flow_key(flow.source, flow.destination, source_port, flow.port, seed))
        back = network.path(flow.destination, flow.source,
                            flow_key(flow.destination, flow.source, flow.port, source_port, seed))
        record["path"], record["path_back"] = len(names), len(names) + len(there)
        names += there + back
        record["source"], record["destination"], record["size"] = flow.source, flow.destination, flow.size
        record["start"] = (flow.start_ns - origin) * PS_A_NS
        record["n_waits"] = len(set(flow.waits_for)) + (flow.follows is not None)
    _begin(records, ports, nodes, network, parameters, round_trip, product)
    for place, number in enumerate(followed):
        records[number]["series"] = place
    children = _children(records, flows)
    timed = np.array([n for n, flow in enumerate(flows) if flow.is_timed], np.int64)
    has_hops = parameters.algorithm == "hpcc"
    tally = np.zeros(1, TALLY)
    state = State(
        ports=ports, nodes=nodes, flows=records, packets=np.zeros(0, PACKET), packet_hops=np.zeros(0, HOP),
        flow_hops=np.zeros(len(flows) * MAX_HOPS if has_hops else 0, HOP), paths=np.array(names, np.int64),
        active=_active(records, nodes), children=children,
        starts=timed[np.argsort(records["start"][timed], kind="stable")],
        heap=np.zeros(4 * (network.n_ports + len(flows)), np.int64), pfc=np.zeros(N_PFC, PFC),
        series=np.zeros(len(followed) * N_BINS, np.int64),
        random=np.array([(seed + 1) * _SEED_STEP & ((1 << 64) - 1) or 1], np.uint64),
        control=control_record(parameters, network.host_rate, round_trip, series_ns), tally=tally)
    tally["free"] = NONE
    grow(state, N_PACKETS)
    return state


def grow(state: State, n_more: int) -> None:
    """More packets in the pool."""
    n, tally = len(state.packets), state.tally[0]
    state.packets = np.concatenate([state.packets, np.zeros(n_more, PACKET)])
    state.packets["next"][n:] = np.arange(n + 1, n + n_more + 1)
    state.packets["next"][-1] = tally["free"]
    tally["free"] = n
    tally["n_free"] += n_more
    if len(state.flow_hops):
        state.packet_hops = np.concatenate([state.packet_hops, np.zeros(n_more * MAX_HOPS, HOP)])


def headroom(rate: int, delay_ns: int, parameters: Parameters) -> int:
    """Bytes for what is on its way when an ingress pauses its peer.

    Three times what the link holds (third.cc), but no less than what can come at all: the link's both ways, a packet
    that the pause waits for, one that the peer has begun, and the one that caused it.
    """
    held = rate * delay_ns // (8 * GIGA)
    return max(3 * held, 2 * held + 3 * (parameters.payload + parameters.overhead) + SMALLEST)


def _ports(network: Network, parameters: Parameters) -> Records:
    ports = np.zeros(network.n_ports, PORT)
    for name in ("control", "control_last", "data", "data_last", "wire", "wire_last"):
        ports[name] = NONE
    for p in range(network.n_ports):
        link, port = network.links[p // 2], ports[p]
        port["node"], port["peer"], port["rate"] = network.node_of(p), p ^ 1, link.rate
        port["delay"], port["is_switch"] = link.delay_ns * PS_A_NS, network.node_of(p) in network.switches
        port["headroom"] = headroom(link.rate, link.delay_ns, parameters)
        shift, rate = parameters.pfc_shift, link.rate
        while rate > network.host_rate and shift > 0:
            shift, rate = shift - 1, rate // 2
        port["shift"] = shift
        faster = link.rate / network.host_rate
        port["k_min"], port["k_max"] = parameters.k_min * faster, parameters.k_max * faster
        port["p_max"] = parameters.p_max
    return ports


def _nodes(network: Network, parameters: Parameters) -> Records:
    nodes = np.zeros(network.n_nodes, NODE)
    nodes["wake_at"], nodes["last_flow"] = NEVER, NONE
    for n in range(network.n_nodes):
        nodes[n]["port"] = network.ports_of[n][0] if network.ports_of[n] else NONE
        if n not in network.switches:
            continue
        nodes[n]["is_switch"], nodes[n]["buffer"] = True, parameters.buffer
        nodes[n]["pool"] = parameters.buffer - kept_bytes(network, n, parameters)
    return nodes


def _begin(records: Records, ports: Records, nodes: Records, network: Network, parameters: Parameters,
           round_trip: int, product: int) -> None:
    """Every flow as it is before its first packet: at line rate (HPCC, section 3.2; release: all algorithms)."""
    rates = ports["rate"][nodes["port"][records["source"]]]
    records["rate"] = records["line_rate"] = records["reference"] = rates
    records["window"] = product if parameters.has_window else 0
    records["base_rtt"] = round_trip
    records["alpha"] = records["utilisation"] = 1.0
    records["is_first_mark"] = True
    for name in ("alpha_at", "decrease_at", "increase_at"):
        records[name] = NEVER
    records["delivered_at"] = records["finished_at"] = records["series"] = NONE


def _active(records: Records, nodes: Records) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Room for the flows of each host."""
    counts = np.bincount(records["source"], minlength=len(nodes))
    nodes["first_flow"] = np.cumsum(counts) - counts
    return np.zeros(len(records), np.int64)


def _children(records: Records, flows: Sequence[Flow]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Which flows wait for which, by the one they wait for."""
    waiting: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for number, flow in enumerate(flows):
        for other in sorted(set(flow.waits_for)):
            waiting["child", other].append(number)
        if flow.follows is not None:
            waiting["follower", flow.follows].append(number)
    found: list[int] = []
    for number in range(len(flows)):
        for name, plural in (("child", "children"), ("follower", "followers")):
            mine = waiting.get((name, number), [])
            records[number][f"first_{name}"], records[number][f"n_{plural}"] = len(found), len(mine)
            found += mine
    return np.array(found, np.int64)


def control_record(parameters: Parameters, host_rate: int, round_trip: int, series_ns: int) -> Records:
    """The parameters as the core has them, for hosts of this rate and a largest base round trip in ns."""
    control = np.zeros(1, CONTROL)
    same = set(CONTROL.names or ()) & set(parameters.__dataclass_fields__) - {"algorithm"}
    for name in same:
        control[name] = getattr(parameters, name)
    control["algorithm"] = ALGORITHMS[parameters.algorithm]
    control["overhead"], control["ack_size"], control["pfc_size"] = parameters.overhead, parameters.ack_size, SMALLEST
    control["is_marking"] = parameters.is_marking
    for name in ("alpha", "decrease", "increase"):
        control[f"{name}_ps"] = getattr(parameters, f"{name}_ns") * PS_A_NS
    for name in ("t_low", "t_high", "min_rtt"):
        control[name] = getattr(parameters, f"{name}_ns")
    control["unit_factor"] = max(1, host_rate // (25 * GIGA))  # INT_MULTI: bw / 25
    control["round_trip"], control["series_ps"] = round_trip, series_ns * PS_A_NS
    control["n_bins"] = N_BINS
    return control
