"""Faults that can be injected into a cluster, and counts of them: see ``faulty_wire.h`` and ``memory_faults.h``."""

from collections.abc import Callable, Sequence
from ctypes import CDLL
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from sim.fabric.topology import Topology

_NODE = 0
_FAULT = (1 << 64) - 1


class WireFault(IntEnum):
    """A way in which words or frames of reliable links are damaged; values as in ``conic::WireFault``."""

    MIXED = 0
    """Words lost, doubled, or with a bit or their kind changed."""
    FLIPPED = 1
    """Words with one bit changed."""
    LOST = 2
    """Frames lost: a run of words with its control word."""
    DOUBLED = 3
    """Frames that came twice."""
    DELAYED = 4
    """Frames that came late, and everything behind them."""
    CUT = 5
    """Words on a cable that was cut."""


class AxiResponse(IntEnum):
    """Error response of AXI4 to an access that fails."""

    SLVERR = 2
    DECERR = 3


@dataclass(frozen=True, kw_only=True)
class WireRates:
    """Shares of the words (`flipped`) or of the frames on reliable links that are damaged.

    Members
    -------
    flipped, lost, doubled, delayed : float
        Shares.
    delay : int
        Cycles by which a delayed frame comes late.
    """

    flipped: float = 0.0
    lost: float = 0.0
    doubled: float = 0.0
    delayed: float = 0.0
    delay: int = 0


class MemoryFaults(NamedTuple):
    """Counts of faults between a NIC and its host's memory.

    Members
    -------
    reads, writes : int
        Bursts that were answered with an error on purpose.
    late : int
        Answers that came late.
    foreign : int
        Bursts outside of what was allowed.
    first_foreign : int
        Address of the first of them.
    """

    reads: int
    writes: int
    late: int
    foreign: int
    first_foreign: int


class ClusterFaults:
    """The part of a cluster by which it is disturbed; see :class:`sim.cluster.Cluster`."""

    topology: Topology
    _api: CDLL
    _handle: Any
    _passed: Callable[[int], int]

    def damage(self, kind: WireFault) -> int:
        """Words or frames of reliable links that were damaged so far in one way."""
        return int(self._api.conic_damaged(self._handle, kind))

    def set_wires(self, rates: WireRates) -> None:
        """Damages what passes on all reliable links from now on."""
        self._passed(self._api.conic_set_wires(
            self._handle, rates.flipped, rates.lost, rates.doubled, rates.delayed, rates.delay,
        ))

    def cut(self, cable: int, begin: int, end: int) -> None:
        """Nothing comes through a cable, which has a reliable link, from cycle `begin` up to `end`."""
        for end_of in self.topology.cables[cable]:
            self._passed(self._api.conic_cut(
                self._handle, end_of.is_switch, end_of.number, end_of.port, begin, end,
            ))

    def mend(self, cable: int) -> None:
        """A cable is whole again from now on, and is not cut any more."""
        for end_of in self.topology.cables[cable]:
            self._passed(self._api.conic_mend(self._handle, end_of.is_switch, end_of.number, end_of.port))

    def stop(self, node: int, cycle: int) -> None:
        """From `cycle` on a NIC does nothing any more, nor does its link."""
        self._passed(self._api.conic_stop(self._handle, node, cycle))

    def fail_memory(self, node: int, *, is_write: bool, cycle: int, count: int, response: AxiResponse) -> None:
        """The first `count` bursts of a NIC from `cycle` on are answered with an error."""
        self._passed(self._api.conic_fail_memory(self._handle, node, is_write, cycle, count, response))

    def fail_share(self, node: int, *, is_write: bool, share: float, response: AxiResponse) -> None:
        """So is a share of all bursts."""
        self._passed(self._api.conic_fail_share(self._handle, node, is_write, share, response))

    def slow_memory(self, node: int, begin: int, end: int, extra: int) -> None:
        """Answers of a host that are asked for in these cycles come `extra` cycles later."""
        self._passed(self._api.conic_slow_memory(self._handle, node, begin, end, extra))

    def memory_faults(self, node: int) -> MemoryFaults:
        """Counts of faults so far between a NIC and its host's memory."""
        return MemoryFaults(*(int(self._api.conic_memory_count(self._handle, node, which)) for which in range(5)))

    def allow(self, node: int, base: int, limit: int, *, is_write: bool) -> None:
        """From the first call on, a NIC may read, or write, what is in some [base, limit); all else is foreign."""
        self._passed(self._api.conic_allow(self._handle, node, is_write, base, limit))

    def play(self, player: int, packets: Sequence[tuple[int, bytes]], *, flit_bytes: int) -> None:
        """Queues packets of a player, each with its channel and in whole flits."""
        lengths = np.array([len(raw) // flit_bytes for _, raw in packets], np.uint32)
        channels = np.array([channel for channel, _ in packets], np.uint8)
        self._passed(self._api.conic_play(
            self._handle, player, b"".join(raw for _, raw in packets), lengths.ctypes.data, channels.ctypes.data,
            len(packets), flit_bytes,
        ))

    def output(self, node: int, name: str) -> int:
        """Value of an output of a NIC, by its name in the Verilog."""
        value = int(self._api.conic_output(self._handle, _NODE, node, name.encode()))
        if value == _FAULT:
            self._passed(-1)
        return value
