"""Rows of `conic connections` and of its study: what formulas, runs and the NIC say, as plain values."""

from typing import Any

import numpy as np

from firmware_models.connections import Machine, QueueSizes, Run, Scheme, node_bytes, process_bytes, queue_pairs
from firmware_models.connections.memory import n_groups
from firmware_models.connections.virtual_ports import VirtualPorts

Row = dict[str, Any]


def formula_row(scheme: Scheme, machine: Machine, sizes: QueueSizes, group_size: int | None) -> Row:
    """Results of the formulas: of the busiest process, and of a full node. MB are 10**6 bytes.

    With a fixed depth of shared receive queues, which the formulas do not know, buffers are counted instead.
    """
    pairs = queue_pairs(scheme, machine, group_size)
    one, node = process_bytes(scheme, machine, sizes, group_size), node_bytes(scheme, machine, sizes, group_size)
    if sizes.srq_depth is not None:
        one = int(sizes.held_bytes(scheme, np.array([pairs]))[0])
        node = one * machine.node_processes
    return {
        "scheme": scheme.value, "group_size": group_size,
        "groups": None if group_size is None else n_groups(machine, group_size),
        "queue_pairs": pairs, "process_mb": one / 1e6, "node_mb": node / 1e6,
    }


def run_row(run: Run) -> Row:
    """Results of a trace: of the process, and of the node, with the most."""
    layout = run.layout
    return {
        "scheme": layout.scheme.value, "group_size": layout.group_size if layout.scheme.traits.is_grouped else None,
        "groups": layout.n_groups if layout.scheme.traits.is_grouped else None,
        "processes": layout.n_processes, "cores": layout.machine.n_cores,
        "static_queue_pairs": int(layout.static_queue_pairs.max()),
        "static_queue_pairs_total": int(layout.static_queue_pairs.sum()),
        "formula_queue_pairs": queue_pairs(layout.scheme, layout.machine, layout.group_size),
        "queue_pairs": int(run.queue_pairs.max()), "buffers": int(run.buffers.max()),
        "buffers_total": int(run.buffers.sum()), "process_mb": int(run.held_bytes.max()) / 1e6,
        "node_mb": int(run.node_bytes.max()) / 1e6, "total_mb": int(run.held_bytes.sum()) / 1e6,
        "messages": sum(run.messages.values()), **run.messages,
        "handshakes": run.handshakes, "opened": run.opened, "closed": run.closed, "live_peak": run.live_peak,
        "evictions": run.evictions, "relayed_max": int(run.relayed.max()), "relayed_total": int(run.relayed.sum()),
        "setup_ms": run.setup_ns / 1e6, "waited_ms": run.waited_ns_total / 1e6,
        "waited_max_ms": float(run.waited_ns.max()) / 1e6, "critical_ms": run.critical_ns / 1e6,
        "seconds": round(run.seconds, 3),
    }


def nic_row(ports: VirtualPorts) -> Row:
    """Resources that the NIC needs and has."""
    return {
        "vps": ports.n_vps, "max_vps": ports.max_vps, "windows_a_vp": ports.n_windows,
        "max_windows_a_vp": ports.max_windows, "window_entries": ports.window_entries, "dq_bytes": ports.dq_bytes,
        "cq_bytes": ports.cq_bytes, "rq_bytes": ports.rq_bytes, "process_mb": ports.process_bytes / 1e6,
        "node_mb": ports.node_bytes / 1e6, "record_bits": ports.record_bits, "is_capped": ports.is_capped,
        "is_enough": ports.is_enough,
    }
