"""Records of the core: one per port, node, flow and packet, in NumPy arrays that it and Python share.

This file is the only place where a record is described: `records.h`, which the core includes, is written from it.
Times are picoseconds since the first flow begins, sizes bytes, rates bits a second, indexes of arrays -1 for none.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Records = Any
"""An array of records, or one record of it: the type checker knows no fields."""

NONE = -1
NEVER = 1 << 62
"""A time that never comes."""
EVENT_BITS = 20
"""Bits of an event's number behind its time, so that one number is both."""
MAX_PS = 1 << (62 - EVENT_BITS)
"""The end of time: 4.4 s."""
MAX_HOPS = 5
"""Switches that telemetry has room for, and so the longest path with it (int-header.h: ``maxHop``)."""
ALGORITHMS = {"none": 0, "dctcp": 8, "dcqcn": 1, "timely": 7, "hpcc": 3, "pint": 10}
"""Numbers of the algorithms, by name in the order of tables and plots; those of `CC_MODE` (config_doc.txt)."""
DATA, ACK, PAUSE, RESUME = range(4)
"""Kinds of packets."""
RUNNING, AT_REST, NEEDS_PACKETS, NEEDS_LOG, OUT_OF_TIME = range(5)
"""Why the core stopped: its share of events is done, nothing will happen any more, pool or log of PFC is used up, the
end of time is reached."""

PORT = np.dtype([
    ("node", "i8"), ("peer", "i8"), ("rate", "i8"), ("delay", "i8"), ("is_switch", "?"),
    # The transmitter: when it is free, whether an event will find it so, and whether the peer has paused its data.
    ("busy_until", "i8"), ("is_expected", "?"), ("is_paused", "?"), ("paused_since", "i8"), ("paused", "i8"),
    # Packets that wait, first and last: control (PFC, acknowledgements of high priority) and data; and on the wire.
    ("control", "i8"), ("control_last", "i8"), ("data", "i8"), ("data_last", "i8"), ("wire", "i8"), ("wire_last", "i8"),
    ("queue_bytes", "i8"), ("data_bytes", "i8"), ("peak_bytes", "i8"),
    # The receiver: bytes that came in here and are still in the switch, and a flag that the peer has been paused.
    ("ingress_bytes", "i8"), ("headroom_bytes", "i8"), ("headroom", "i8"), ("shift", "i8"), ("is_pausing", "?"),
    # Marking of what leaves.
    ("k_min", "i8"), ("k_max", "i8"), ("p_max", "f8"),
    # Telemetry of what leaves: bytes so far, last packet, PINT's utilisation.
    ("tx_bytes", "i8"), ("rx_bytes", "i8"), ("last_size", "i8"), ("last_time", "i8"), ("utilisation", "f8"),
    ("pauses", "i8"),
], align=True)

NODE = np.dtype([
    ("is_switch", "?"), ("buffer", "i8"), ("pool", "i8"), ("shared", "i8"), ("occupied", "i8"), ("peak", "i8"),
    # Hosts: the port, flows that still have something to send (`first_flow` + 0 to `n_active` - 1 of `State.active`),
    # the one that sent last, and when to look again.
    ("port", "i8"), ("first_flow", "i8"), ("n_active", "i8"), ("last_flow", "i8"), ("wake_at", "i8"),
], align=True)

FLOW = np.dtype([
    ("source", "i8"), ("destination", "i8"), ("size", "i8"), ("start", "i8"), ("path", "i8"), ("path_back", "i8"),
    ("n_waits", "i8"), ("first_child", "i8"), ("n_children", "i8"), ("first_follower", "i8"), ("n_followers", "i8"),
    ("series", "i8"),
    # How far it is: payload sent, come in, acknowledged; when all had come in and when all was acknowledged.
    ("sent", "i8"), ("received", "i8"), ("acked", "i8"), ("delivered_at", "i8"), ("finished_at", "i8"),
    ("rate", "f8"), ("line_rate", "f8"), ("window", "i8"), ("next_at", "i8"), ("last_size", "i8"), ("base_rtt", "i8"),
    # Congestion control. `reference` is the rate that updates start from (DCQCN: the target), `update_at` the
    # sequence number whose acknowledgement ends a round trip.
    ("reference", "f8"), ("update_at", "i8"), ("stage", "i8"), ("alpha", "f8"), ("utilisation", "f8"),
    ("marks", "i8"), ("batch", "i8"), ("is_reduced", "?"), ("reduced_until", "i8"),
    ("last_rtt", "i8"), ("rtt_difference", "f8"),
    ("is_first_mark", "?"), ("is_marked_alpha", "?"), ("is_marked_decrease", "?"),
    ("alpha_at", "i8"), ("decrease_at", "i8"), ("increase_at", "i8"),
], align=True)

PACKET = np.dtype([
    # Less than a cache line: a run is as fast as packets come out of memory. `path` is the place in `State.paths` of
    # the port to leave by, `ingress` the port that it came in by; `next_arrives`, on a wire, is of the packet behind
    # it.
    ("next", "i4"), ("flow", "i4"), ("path", "i4"), ("ingress", "i4"), ("next_arrives", "i8"), ("sequence", "i8"),
    ("sent_at", "i8"), ("size", "i2"), ("payload", "i2"), ("power", "i2"), ("n_hops", "i1"), ("kind", "i1"),
    ("is_marked", "?"),
], align=True)

HOP = np.dtype([("time", "i4"), ("bytes", "i4"), ("queue", "i4"), ("mbps", "i4")], align=True)
"""Record that one switch writes into a packet (HPCC, section 4.1): time in ns, bytes and queue in units, as wide as the
header has them, so that they wrap; the link's rate in Mb/s."""

CONTROL = np.dtype([
    ("algorithm", "i8"), ("payload", "i8"), ("overhead", "i8"), ("ack_size", "i8"), ("pfc_size", "i8"),
    ("is_ack_control", "?"), ("is_window_scaled", "?"), ("min_rate", "f8"), ("reserve", "i8"), ("resume_offset", "i8"),
    ("is_marking", "?"), ("gain", "f8"), ("increase", "f8"), ("hyper_increase", "f8"),
    ("alpha_ps", "i8"), ("decrease_ps", "i8"), ("increase_ps", "i8"), ("recovery_stages", "i8"), ("is_clamped", "?"),
    ("t_low", "i8"), ("t_high", "i8"), ("min_rtt", "i8"), ("smoothing", "f8"), ("decrease", "f8"),
    ("hyper_stages", "i8"), ("target", "f8"), ("max_stage", "i8"), ("is_per_ack", "?"), ("unit_factor", "i8"),
    ("log_base", "f8"), ("sampled", "f8"), ("round_trip", "i8"), ("series_ps", "i8"),
    ("n_bins", "i8"),
], align=True)
"""Parameters of a run; `round_trip` is the largest base round trip of the network, PINT's T."""

TALLY = np.dtype([
    ("now", "i8"), ("n_heap", "i8"), ("next_flow", "i8"), ("free", "i8"), ("n_free", "i8"), ("n_pfc", "i8"),
    ("n_finished", "i8"), ("delivered", "i8"), ("events", "i8"), ("data_packets", "i8"), ("hops", "i8"),
    ("marks", "i8"),
    # Counts of broken invariants: they must stay zero.
    ("lost", "i8"), ("reordered", "i8"), ("overfull", "i8"), ("overlapping", "i8"), ("out_of_bounds", "i8"),
], align=True)
"""Figures of the whole run."""


PFC = np.dtype([("time", "i8"), ("port", "i8"), ("is_pause", "i8")], align=True)
"""A frame of PFC that came in at a port."""

RECORDS = {"Port": PORT, "Node": NODE, "Flow": FLOW, "Packet": PACKET, "Hop": HOP, "Control": CONTROL, "Tally": TALLY,
           "Pfc": PFC}
"""Records by their name in the core."""
ARRAYS = {"ports": "Port", "nodes": "Node", "flows": "Flow", "packets": "Packet", "packet_hops": "Hop",
          "flow_hops": "Hop", "paths": "int64_t", "active": "int64_t", "children": "int64_t", "starts": "int64_t",
          "heap": "int64_t", "pfc": "Pfc", "series": "int64_t", "random": "uint64_t", "control": "Control",
          "tally": "Tally"}
"""Arrays of `State`, and what they hold."""


@dataclass
class State:
    """All of a simulation.

    Members
    -------
    ports, nodes, flows, packets : arrays of `PORT`, `NODE`, `FLOW`, `PACKET`
    packet_hops, flow_hops : arrays of `HOP`, `MAX_HOPS` of them a packet or flow
        Telemetry in a packet, and that of the acknowledgement that a flow last worked on; empty if there is none.
    paths : array of ports
        Ports that packets leave by, path after path.
    active, children, starts : arrays of flows
        Flows of each host that have something to send; those that wait for a flow to come in, or to begin (followers);
        those with a time, by time.
    heap : array of int64
        Events: time shifted by `EVENT_BITS`, and what it is.
    pfc : array of `PFC`
        Frames that came in since Python last looked.
    series : array, `n_bins` of each flow that is followed
        Payload bytes that came in.
    random : array of uint64, shape ``(1,)``
    control, tally : arrays of `CONTROL`, `TALLY`, shape ``(1,)``
    """

    ports: Records
    nodes: Records
    flows: Records
    packets: Records
    packet_hops: Records
    flow_hops: Records
    paths: Ints
    active: Ints
    children: Ints
    starts: Ints
    heap: Ints
    pfc: Records
    series: Ints
    random: npt.NDArray[np.uint64]
    control: Records
    tally: Records
