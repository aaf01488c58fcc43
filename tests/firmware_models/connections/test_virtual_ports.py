"""Needs of messages from the NIC without connections: rings by hand, limits of the configuration."""

from dataclasses import replace

import numpy as np
import pytest

from firmware_models.config import load_preset
from firmware_models.connections import Machine
from firmware_models.connections.trace import Trace, parse_trace, trace_of
from firmware_models.connections.virtual_ports import largest_process_bytes, ring_need, virtual_ports

PAPER = load_preset("paper")
WITHOUT_GET = replace(PAPER, nic=replace(PAPER.nic, get=False))


def three(n_bytes: int) -> Trace:
    """Process 0 sends to 1 and 2 in one phase and to 1 in the next; 3 to itself."""
    columns = ([0, 0, 0, 3], [1, 2, 1, 3], [n_bytes] * 4, [0, 0, 1, 1])
    return trace_of("three", 4, *map(np.array, columns))


@pytest.mark.parametrize(("n_bytes", "config", "descriptors", "receives", "n_large"), [
    (64, PAPER, 2, 1, 0),  # two SENDs of process 0, one entry each at 1 and 2
    (65, PAPER, 2, 1, 3),  # announced by SENDs, fetched by GETs of 1 and 2
    (65, WITHOUT_GET, 4, 2, 3),  # announced, answered, PUT: twice two at process 0, two answers there
])
def test_need(n_bytes: int, config, descriptors: int, receives: int, n_large: int) -> None:
    need = ring_need(three(n_bytes), config)
    assert (need.descriptors, need.receives, need.n_large) == (descriptors, receives, n_large)


@pytest.mark.parametrize(("messages", "entries", "is_capped"), [
    (1, 1, False), (2, 2, False), (3, 4, False), (32_768, 32_768, False), (32_769, 32_768, True),
])
def test_rings(messages: int, entries: int, is_capped: bool) -> None:
    """Rings are powers of two; descriptors and receive entries of 128 bytes, completions of 64."""
    zeros = np.zeros(messages, np.int64)
    need = ring_need(trace_of("many", 2, zeros, zeros + 1, zeros + 8, zeros), PAPER)
    ports = virtual_ports(Machine(n_processes=2), need, PAPER)
    assert (ports.dq_bytes, ports.cq_bytes, ports.rq_bytes) == (128 * entries, 64 * entries, 128 * entries)
    assert ports.is_capped == is_capped


@pytest.mark.parametrize(("cores", "is_enough"), [(2048, True), (2049, False)])
def test_limits(cores: int, is_enough: bool) -> None:
    """A VP a process; preset paper has 2,048, with four windows."""
    machine = Machine(n_processes=5000, n_cores=cores)
    ports = virtual_ports(machine, ring_need(three(65), PAPER), PAPER)
    assert (ports.n_vps, ports.max_vps, ports.n_windows, ports.max_windows) == (cores, 2048, 2, 4)
    assert ports.window_entries == 2 * cores
    assert ports.is_enough == is_enough
    one_window = replace(PAPER, nic=replace(PAPER.nic, n_windows=1))
    assert not virtual_ports(Machine(n_processes=4), ring_need(three(65), PAPER), one_window).is_enough
    assert virtual_ports(Machine(n_processes=4), ring_need(three(64), PAPER), one_window).is_enough


def test_node_ids() -> None:
    need = ring_need(three(8), PAPER)
    assert virtual_ports(Machine(n_processes=1 << 24), need, PAPER).is_enough
    assert not virtual_ports(Machine(n_processes=(1 << 24) + 1), need, PAPER).is_enough


def test_does_not_grow() -> None:
    """The same stencil among eight times as many processes needs the same rings."""
    found = [ring_need(parse_trace(name, 4096), PAPER) for name in ("stencil:8x8x8", "stencil:16x16x16")]
    assert (found[0].descriptors, found[0].receives) == (found[1].descriptors, found[1].receives) == (12, 6)
    assert largest_process_bytes() == 32_768 * (128 + 64 + 128)
