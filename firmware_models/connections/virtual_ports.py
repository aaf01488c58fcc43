"""Needs of the same messages from this NIC, which has no connections: a virtual port a process, with three rings.

A descriptor names NodeID and VP of its destination, so a queue serves all peers, and what a process needs depends on
how many messages it has under way, not on how many processes there are. Sizes come from ``firmware_models.abi``,
limits from the configuration.

A message of up to 64 bytes is one SEND: a descriptor and a completion here, a receive entry there. A longer one
(``docs/p2p.md``) is announced by a SEND and fetched by a GET of its receiver; with ``nic.get: false`` it is announced,
its receiver answers with the address, and a PUT brings it. So every message is counted where it is posted and where
it lands.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from firmware_models.abi.formats import COMPLETION, DESCRIPTOR, NODE_BITS, PAYLOAD_BYTES, RECEIVE
from firmware_models.abi.registers import CONTROL_PAGE, VP_PAGE
from firmware_models.config import Config
from firmware_models.connections.memory import Machine
from firmware_models.connections.trace.messages import Trace

Ints = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]

_LOG2 = next(register for register in CONTROL_PAGE if register.name == "vp_dq_log2")
MAX_RING_ENTRIES = 1 << (1 << _LOG2.width) - 1
"""Entries of the largest ring: its logarithm is a register of four bits."""
WINDOWS = 2
"""Memory windows of a process with messages above 64 bytes: what others read of it, and where results are written."""


@dataclass(frozen=True, kw_only=True)
class RingNeed:
    """Entries of one process in one phase: the most that any process needs in any phase.

    Members
    -------
    descriptors, receives : int
        Descriptors posted (and completions got), receive entries filled.
    n_large : int
        Messages above 64 bytes in the whole trace.
    """

    descriptors: int
    receives: int
    n_large: int


@dataclass(frozen=True, kw_only=True)
class VirtualPorts:
    """Resources of the NIC of one node: those that a workload needs, and those that there are.

    Members
    -------
    n_vps, max_vps : int
        VPs of a node, one for each process, and how many the NIC has.
    n_windows, max_windows : int
        Memory windows of a VP, and how many it has.
    dq_bytes, cq_bytes, rq_bytes : int
        Descriptor, completion and receive ring of a process, in host memory.
    is_capped : bool
        True if a phase has more messages than the largest ring entries: senders wait for room, and a SEND to a full
        receive ring is answered RECEIVER_NOT_READY and has to be sent again.
    record_bits : int
        On-chip state of one VP, windows included, as the registers that load it are wide.
    max_nodes : int
        NodeIDs.
    """

    n_vps: int
    max_vps: int
    n_windows: int
    max_windows: int
    dq_bytes: int
    cq_bytes: int
    rq_bytes: int
    is_capped: bool
    record_bits: int
    n_nodes: int
    max_nodes: int

    @property
    def process_bytes(self) -> int:
        """Host memory of a process."""
        return self.dq_bytes + self.cq_bytes + self.rq_bytes

    @property
    def node_bytes(self) -> int:
        """Host memory of a node."""
        return self.n_vps * self.process_bytes

    @property
    def window_entries(self) -> int:
        """Window entries of a node."""
        return self.n_vps * self.n_windows

    @property
    def is_enough(self) -> bool:
        """True if the NIC has as many VPs, windows and NodeIDs."""
        return self.n_vps <= self.max_vps and self.n_windows <= self.max_windows and self.n_nodes <= self.max_nodes


def ring_need(trace: Trace, config: Config, progress: Progress | None = None) -> RingNeed:
    """The most descriptors and receive entries that a process needs in one phase of a trace."""
    descriptors, receives = np.zeros(trace.n_processes, np.int64), np.zeros(trace.n_processes, np.int64)
    stamp, most = np.full(trace.n_processes, -1, np.int64), np.zeros(3, np.int64)
    done = 0
    for chunk in trace.chunks():
        _count(chunk.source, chunk.destination, chunk.n_bytes, chunk.phase, config.nic.get, descriptors, receives,
               stamp, most)
        done += len(chunk)
        if progress is not None:
            progress("rings of the NIC", done, trace.n_messages)
    return RingNeed(descriptors=int(most[0]), receives=int(most[1]), n_large=int(most[2]))


def virtual_ports(machine: Machine, need: RingNeed, config: Config) -> VirtualPorts:
    """The NIC's side of the comparison: rings of the next power of two that hold `need`."""
    dq, rq = _ring(need.descriptors), _ring(need.receives)
    records = [register for register in (*CONTROL_PAGE, *VP_PAGE)
               if register.name.startswith(("vp_dq_", "vp_cq_", "vp_rq_", "dq_", "cq_", "rq_"))]
    window_bits = sum(register.width for register in CONTROL_PAGE if register.name.startswith("vp_window_"))
    return VirtualPorts(
        n_vps=machine.node_processes, max_vps=config.nic.n_vps, n_windows=WINDOWS if need.n_large else 0,
        max_windows=config.nic.n_windows, dq_bytes=dq * DESCRIPTOR.bytes, cq_bytes=dq * COMPLETION.bytes,
        rq_bytes=rq * RECEIVE.bytes, is_capped=max(need.descriptors, need.receives) > MAX_RING_ENTRIES,
        record_bits=sum(register.width for register in records) + config.nic.n_windows * window_bits,
        n_nodes=machine.n_nodes, max_nodes=1 << NODE_BITS,
    )


def largest_process_bytes() -> int:
    """Host memory of a process with the largest rings that there are, however many processes it talks to."""
    return MAX_RING_ENTRIES * (DESCRIPTOR.bytes + COMPLETION.bytes + RECEIVE.bytes)


def _ring(n_entries: int) -> int:
    """Entries of a ring with room for so many: a power of two, at least 1, at most the largest."""
    return min(1 << max(0, n_entries - 1).bit_length(), MAX_RING_ENTRIES)


@njit(cache=True)
def _count(source: Ints, destination: Ints, n_bytes: Ints, phase: Ints, has_get: bool, descriptors: Ints,
           receives: Ints, stamp: Ints, most: Ints) -> None:
    for k in range(len(source)):
        here, there = source[k], destination[k]
        if here == there:
            continue
        for process in (here, there):
            if stamp[process] != phase[k]:
                stamp[process], descriptors[process], receives[process] = phase[k], 0, 0
        descriptors[here] += 1
        receives[there] += 1
        if n_bytes[k] > PAYLOAD_BYTES:
            most[2] += 1
            descriptors[there] += 1
            if not has_get:
                receives[here] += 1
                descriptors[here] += 1
        for process in (here, there):
            most[0] = max(most[0], descriptors[process])
            most[1] = max(most[1], receives[process])
