"""Static connections: those that exist before anything is sent."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numba import njit

from firmware_models.connections.error import require
from firmware_models.connections.memory import Machine, require_group_size
from firmware_models.connections.scheme import Scheme

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Processes on nodes and in groups, and their static connections.

    Processes are numbered node by node; groups are runs of `group_size` processes, the last one perhaps shorter. A
    queue pair leads to a *unit*: a process, or with XRC a node. Static is what section 4.1 says: all units of the own
    group, and the unit of the process that has the same index in each other group. A scheme without groups is one
    group of all.

    With XRC a queue pair is counted for the process that sends through it. Where a node has fewer processes than
    another one the far end may belong to no sender; it only receives, from the node's shared receive queues, and takes
    no send queue.

    Raises
    ------
    ConnectionsError
        If `group_size` is missing for a grouped scheme, or out of range.
    """

    scheme: Scheme
    machine: Machine
    group_size: int | None = None

    def __post_init__(self) -> None:
        if self.scheme.traits.is_grouped:
            require(self.group_size is not None, "group_size", f"given for {self.scheme.value}", self.group_size)
            assert self.group_size is not None
            require_group_size(self.machine, self.scheme, self.group_size)

    @property
    def n_processes(self) -> int:
        """Processes."""
        return self.machine.n_processes

    @property
    def members(self) -> int:
        """Processes of a full group."""
        if self.group_size is None or not self.scheme.traits.is_grouped:
            return self.n_processes
        return min(self.group_size, self.n_processes)

    @property
    def n_groups(self) -> int:
        """Groups."""
        return -(-self.n_processes // self.members)

    @property
    def unit_processes(self) -> int:
        """Processes that one queue pair reaches: those of a node with XRC, else one."""
        return self.machine.n_cores if self.scheme.traits.has_xrc else 1

    @property
    def n_units(self) -> int:
        """Units that there are to be connected with."""
        return -(-self.n_processes // self.unit_processes)

    @cached_property
    def static_queue_pairs(self) -> Ints:
        """Queue pairs that each process has from the beginning, shape (n_processes,)."""
        rank = np.arange(self.n_processes, dtype=np.int64)
        first = rank // self.members * self.members
        size = np.minimum(first + self.members, self.n_processes) - first
        inside = -(-size // self.unit_processes) - (0 if self.scheme.traits.has_xrc else 1)
        # Of the other groups those that have this index: all but perhaps the last.
        counterparts = (self.n_processes - 1 - rank % self.members) // self.members
        found: Ints = inside + counterparts
        return found

    def is_static(self, source: Ints, destination: Ints) -> Flags:
        """True where processes can send to others from the beginning; elementwise. Nobody is connected with itself."""
        source, destination = np.broadcast_arrays(source, destination)
        found: Flags = _all_static(
            np.ascontiguousarray(source, np.int64).ravel(), np.ascontiguousarray(destination, np.int64).ravel(),
            self.n_processes, self.members, self.unit_processes)
        return found.reshape(source.shape)


@njit(cache=True)
def reaches(source: int, destination: int, n_processes: int, members: int, unit_processes: int) -> bool:
    """True if there is a static queue pair from one process to the unit of another one."""
    group = destination // members
    if source // members == group:
        return True
    counterpart = group * members + source % members
    return counterpart < n_processes and counterpart // unit_processes == destination // unit_processes


@njit(cache=True)
def relay(source: int, destination: int, n_processes: int, members: int) -> int:
    """The process between two that are not connected, connected with both.

    It is the source's counterpart in the destination's group; if that group is the short last one and has no such
    index, the destination's counterpart in the source's group, which is a full one.
    """
    counterpart = destination // members * members + source % members
    if counterpart < n_processes:
        return counterpart
    return source // members * members + destination % members


@njit(cache=True)
def _all_static(source: Ints, destination: Ints, n_processes: int, members: int, unit_processes: int) -> Flags:
    found = np.empty(len(source), np.bool_)
    for k in range(len(source)):
        found[k] = source[k] != destination[k] and reaches(source[k], destination[k], n_processes, members,
                                                           unit_processes)
    return found
