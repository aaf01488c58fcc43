"""How a cluster is timed, carried out and recorded."""

import os
from dataclasses import dataclass
from pathlib import Path

from sim.environment.threads import MOST_THREADS, wanted_threads

_NEVER = (1 << 64) - 1
"""A cycle that no run reaches."""


@dataclass(frozen=True, kw_only=True)
class MemoryTiming:
    """Host memory behind each NIC: latencies in cycles, and how much randomness is added to them.

    Members
    -------
    read_latency, write_latency : int
        From address to first beat, from last beat to response.
    jitter : int
        Most cycles to be added to either, at random.
    stall : float
        Intensity of random stalls on all channels, 0 to 1.
    beat_cycles : float
        Cycles of a flit each way, at least 1: the bandwidth of the bus in between.
    """

    read_latency: int = 20
    write_latency: int = 10
    jitter: int = 0
    stall: float = 0.0
    beat_cycles: float = 1.0


@dataclass(frozen=True, kw_only=True)
class LinkTiming:
    """Every link: latency in cycles each way, and how much randomness is added.

    Members
    -------
    latency : int
        Cycles; 0 is a wire.
    jitter : int
        Most cycles by which a packet may be held up, at random.
    stall : float
        Intensity of random stalls at the sender, 0 to 1. Reliable links have none.
    errors : float
        Share of the words of reliable links that are lost, doubled or changed.
    """

    latency: int = 4
    jitter: int = 0
    stall: float = 0.0
    errors: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a cluster is carried out. None of it changes what happens, to the cycle and to the bit.

    Members
    -------
    threads : int
        At most so many threads; 0: as many as this process may use cores, or what CONIC_THREADS says.
    skip : bool
        Leave out the cycles in which a model cannot change, and in others the parts of it that cannot.
    lockstep : bool
        All models keep step in every cycle, on one thread, instead of going ahead for as long as links take.
    """

    threads: int = 0
    skip: bool = True
    lockstep: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.threads <= MOST_THREADS:
            raise ValueError(f"threads must be 0 to {MOST_THREADS}, not {self.threads!r}")

    @property
    def n_threads(self) -> int:
        """Threads to use here. Raises :class:`ThreadsError` if CONIC_THREADS is no such number."""
        return self.threads or wanted_threads() or len(os.sched_getaffinity(0))


@dataclass(frozen=True, kw_only=True)
class Waves:
    """A waveform that a cluster writes.

    Members
    -------
    path : Path
        The FST file; there will be none if the run has none of the cycles.
    first : int
        The first cycle in it, since reset.
    cycles : int, optional
        So many cycles at most; all that follow if not given.
    """

    path: Path
    first: int = 0
    cycles: int | None = None

    @property
    def last(self) -> int:
        """The cycle after the last one, which a run may not reach."""
        return _NEVER if self.cycles is None else self.first + self.cycles
