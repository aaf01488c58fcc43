"""The connection manager: static connections, others by handshake or by proxy, as messages need them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from firmware_models.connections.deliver import (
    CRITICAL_NS,
    DYNAMIC,
    EVICTED,
    HANDSHAKES,
    PROXIED,
    SELF,
    STATIC,
    TOTAL_NS,
    Rules,
    close_all,
    deliver,
    empty_tally,
    end_phase,
)
from firmware_models.connections.error import require
from firmware_models.connections.layout import Layout
from firmware_models.connections.sizes import QueueSizes
from firmware_models.connections.store import CLOSED, LIVE, OPENED, PEAK, PROCESS_PEAK, empty_store, grown
from firmware_models.connections.trace.messages import Messages, Trace

Ints = npt.NDArray[np.int64]

_PIECE = 1 << 16
"""Messages between two looks at the room in the store."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """When a process gets a queue pair to one it is not connected with, and when it loses it (section 4.1).

    Members
    -------
    proxy_messages : int or None
        Messages to a unit that the process between stores and forwards before a handshake is worth it; 0: a handshake
        at once; None: all. What is longer than a receive buffer goes by RDMA, which needs a queue pair, and is never
        proxied.
    idle_phases : int or None
        A dynamic queue pair is torn down when it has not been used for more than so many phases, 0: at the end of
        the phase; None: when the job ends.
    max_dynamic : int or None
        Dynamic queue pairs of one process at once; the one used longest ago makes room.
    """

    proxy_messages: int | None = 0
    idle_phases: int | None = None
    max_dynamic: int | None = None

    def __post_init__(self) -> None:
        for name, low in (("proxy_messages", 0), ("idle_phases", 0), ("max_dynamic", 1)):
            value = getattr(self, name)
            require(value is None or low <= value <= 1 << 30, name, f"{low} to {1 << 30}", value)


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Times of messages and queue pairs. The paper gives none; these are assumptions, to be replaced.

    Members
    -------
    message_ns : float
        A small message from process to process over a queue pair that is there.
    byte_ns : float
        A byte of a message that is stored and forwarded; 0.25 is QDR InfiniBand (section 5), 4 GB/s.
    queue_pair_ns : float
        To create a queue pair and bring it to where it can send, in the kernel.
    """

    message_ns: float = 2000.0
    byte_ns: float = 0.25
    queue_pair_ns: float = 100_000.0

    def __post_init__(self) -> None:
        for name in ("message_ns", "byte_ns", "queue_pair_ns"):
            require(0 <= getattr(self, name) <= 1e12, name, "0 to 1e12", getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Run:
    """Result of a trace.

    Members
    -------
    layout, trace, sizes, policy, costs
        What was run.
    messages : dict
        By their way: `self` (no connection needed), `static`, `dynamic`, `proxied`.
    handshakes, evictions : int
        Handshakes; queue pairs torn down for lack of room (`max_dynamic`).
    opened, closed, live_peak : int
        Dynamic queue pairs made, torn down in the end, and the most at once.
    dynamic_peak : array of int64, shape (n_processes,)
        The most dynamic queue pairs of each process at once.
    relayed : array of int64, shape (n_processes,)
        Messages of others that each process passed on, those of handshakes included.
    waited_ns : array of float64, shape (n_processes,)
        What each process waited for handshakes and proxies.
    critical_ns : float
        The same along the slowest process of each phase: how much later the job ends if phases follow each other.
    seconds : float
        Wall time of the run.
    """

    layout: Layout
    trace: Trace
    sizes: QueueSizes
    policy: Policy
    costs: Costs
    messages: dict[str, int]
    handshakes: int
    evictions: int
    opened: int
    closed: int
    live_peak: int
    dynamic_peak: Ints = field(repr=False)
    relayed: Ints = field(repr=False)
    waited_ns: npt.NDArray[np.float64] = field(repr=False)
    waited_ns_total: float
    critical_ns: float
    seconds: float

    @property
    def queue_pairs(self) -> Ints:
        """Static queue pairs of each process and the most dynamic ones that it had at once, shape (n_processes,)."""
        return self.layout.static_queue_pairs + self.dynamic_peak

    @property
    def held_bytes(self) -> Ints:
        """Bytes that each process holds for these, shape (n_processes,): each at its own worst moment."""
        return self.sizes.held_bytes(self.layout.scheme, self.queue_pairs)

    @property
    def buffers(self) -> Ints:
        """Receive buffers of each process at that moment, shape (n_processes,)."""
        if not self.layout.scheme.traits.has_srq:
            return self.queue_pairs * self.sizes.n_receive_buffers
        return self.sizes.srq_buffers(self.queue_pairs)

    @property
    def node_bytes(self) -> Ints:
        """Bytes of each node, shape (n_nodes,)."""
        return np.add.reduceat(self.held_bytes, np.arange(0, self.layout.n_processes, self.layout.machine.n_cores))

    @property
    def setup_ns(self) -> float:
        """Time in which the busiest process makes its static queue pairs, before the job begins."""
        return int(self.layout.static_queue_pairs.max()) * self.costs.queue_pair_ns


def run_trace(
    layout: Layout, trace: Trace, *, sizes: QueueSizes | None = None, policy: Policy | None = None,
    costs: Costs | None = None, progress: Progress | None = None,
) -> Run:
    """Sends all messages of a trace over the connections of a layout, and tears everything down at the end.

    Only dynamic queue pairs that are alive are stored, and some numbers for each process. Static ones
    are a rule (:class:`Layout`); :func:`~firmware_models.connections.audit.violations` checks it against the list of
    all peers.

    Raises
    ------
    ConnectionsError
        If the trace has more processes than the layout.
    """
    sizes, policy, costs = sizes or QueueSizes(), policy or Policy(), costs or Costs()
    require(trace.n_processes <= layout.n_processes, f"processes of {trace.name}", f"at most {layout.n_processes}",
            trace.n_processes)
    begin = time.perf_counter()
    rules = _rules(layout, sizes, policy, costs)
    store, tally = empty_store(layout.n_processes, 4 * _PIECE), empty_tally(layout.n_processes)
    done = 0
    for chunk in trace.chunks():
        for first in range(0, len(chunk), _PIECE):
            piece = _piece(chunk, first)
            store = grown(store, 2 * len(piece))
            deliver(store, tally, rules, piece.source, piece.destination, piece.n_bytes, piece.phase)
            done += len(piece)
            if progress is not None:
                progress(trace.name, done, trace.n_messages)
    end_phase(tally)
    peak = int(store.scalars[PEAK])
    close_all(store)
    counts = tally.counts
    assert store.scalars[LIVE] == 0
    return Run(
        layout=layout, trace=trace, sizes=sizes, policy=policy, costs=costs,
        messages={"self": int(counts[SELF]), "static": int(counts[STATIC]), "dynamic": int(counts[DYNAMIC]),
                  "proxied": int(counts[PROXIED])},
        handshakes=int(counts[HANDSHAKES]), evictions=int(counts[EVICTED]), opened=int(store.scalars[OPENED]),
        closed=int(store.scalars[CLOSED]), live_peak=peak,
        dynamic_peak=store.processes[:, PROCESS_PEAK].astype(np.int64),
        relayed=tally.relayed, waited_ns=tally.waited_ns, waited_ns_total=float(tally.times[TOTAL_NS]),
        critical_ns=float(tally.times[CRITICAL_NS]), seconds=time.perf_counter() - begin,
    )


def _piece(chunk: Messages, first: int) -> Messages:
    part = slice(first, first + _PIECE)
    return Messages(chunk.source[part], chunk.destination[part], chunk.n_bytes[part], chunk.phase[part])


def _rules(layout: Layout, sizes: QueueSizes, policy: Policy, costs: Costs) -> Rules:
    def limit(value: int | None) -> int:
        return -1 if value is None else value

    return Rules(
        n_processes=layout.n_processes, members=layout.members, unit_processes=layout.unit_processes,
        has_xrc=layout.scheme.traits.has_xrc, proxy_messages=limit(policy.proxy_messages),
        idle_phases=limit(policy.idle_phases), max_dynamic=limit(policy.max_dynamic), buffer_bytes=sizes.buffer_bytes,
        message_ns=float(costs.message_ns), byte_ns=float(costs.byte_ns), queue_pair_ns=float(costs.queue_pair_ns),
    )
