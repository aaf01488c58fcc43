"""Runs a workload on a network and says what came of it."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.model.congestion.audit import audit
from sim.model.congestion.core.library import run
from sim.model.congestion.core.records import (
    ARRAYS,
    AT_REST,
    NEEDS_LOG,
    NEEDS_PACKETS,
    OUT_OF_TIME,
    RUNNING,
    Records,
    State,
)
from sim.model.congestion.deadlock import waiting_cycle
from sim.model.congestion.error import CongestionError
from sim.model.congestion.flows import Flow
from sim.model.congestion.network import Network
from sim.model.congestion.parameters import Parameters
from sim.model.congestion.prepare import N_BINS, PS_A_NS, grow, prepare
from sim.report.progress import ProgressCallback

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_EVENTS = 4_000_000
"""Events between two looks of the progress bar."""


@dataclass(frozen=True)
class Outcome:
    """Result of a run. Times in ns from the first flow's beginning; NaN and -1 for flows that did not end.

    Members
    -------
    start_ns : array of int64, shape ``(flows,)``
    fct_ns : array of float64, shape ``(flows,)``
        Flow completion times: from its beginning to its last acknowledgement, as the ns-3 release has it.
    delivered_ns : array of int64, shape ``(flows,)``
        When its last byte had come in.
    series : array of int64, shape ``(followed flows, bins)``
        Payload bytes that came in, in bins of `series_ns`.
    pfc : array of records ``time, port, is_pause``
        Frames of PFC that came in.
    pause_ns : float
        Time that ports were paused, all ports together.
    tally : dict
        Figures of the core: events, packets, hops, marks, and what must be zero.
    peak_bytes : int
        The most that was in one switch.
    violations : list of str
        Invariants that did not hold.
    deadlock : list of str
        Ports that wait for each other.
    seconds, cpu_seconds : float
        Of the core: wall-clock, and of the processor.
    end_ns : float
        The last event.
    state : State
        All that the core left behind.
    """

    network: Network
    flows: Sequence[Flow]
    parameters: Parameters
    start_ns: Ints
    fct_ns: Floats
    delivered_ns: Ints
    series: Ints
    series_ns: int
    pfc: Records
    pause_ns: float
    tally: dict[str, int]
    peak_bytes: int
    violations: list[str]
    deadlock: list[str]
    seconds: float
    cpu_seconds: float
    end_ns: float
    state: State = field(repr=False)

    @property
    def rates(self) -> Floats:
        """Payload bits a second of each flow, over its completion time."""
        return np.array([flow.size for flow in self.flows]) * 8e9 / self.fct_ns


def simulate(
    network: Network, flows: Sequence[Flow], parameters: Parameters, *, seed: int = 1, followed: Sequence[int] = (),
    series_ns: int = 100_000, progress: ProgressCallback | None = None, stage: str = "packets",
    library: Any = None,
) -> Outcome:
    """Runs until every flow has ended or nothing happens any more. The same for the same seed.

    Parameters
    ----------
    followed : sequence of int
        Flows (indexes) whose bytes are counted over time, in bins of `series_ns`.
    library
        Another core than the usual one (:func:`sim.model.congestion.core.library.load`).

    Raises
    ------
    CongestionError
        If the flows cannot be run on the network, or take more than 4 s of simulated time.
    """
    state = prepare(network, flows, parameters, seed=seed, followed=followed, series_ns=series_ns)
    tally, frames, seconds, cpu_seconds = state.tally[0], [], 0.0, 0.0
    total = sum(-(-flow.size // parameters.payload) for flow in flows)
    while True:
        if progress is not None:
            progress(stage, int(tally["data_packets"]), total)
        began, cpu_began = time.perf_counter(), time.process_time()
        why = run(state, _EVENTS, library)
        seconds, cpu_seconds = seconds + time.perf_counter() - began, cpu_seconds + time.process_time() - cpu_began
        if tally["n_pfc"]:
            frames.append(state.pfc[:tally["n_pfc"]].copy())
            tally["n_pfc"] = 0
        if why == NEEDS_PACKETS:
            grow(state, len(state.packets))
        elif why == OUT_OF_TIME:
            raise CongestionError(f"flows: must end within 4 s of simulated time; {int(tally['n_finished'])} of "
                                  f"{len(flows)} did")
        elif why == AT_REST:
            break
        else:
            assert why in (NEEDS_LOG, RUNNING)
    if progress is not None:
        progress(stage, int(tally["data_packets"]), total)
    pfc = np.concatenate([state.pfc[:0], *frames])
    return _outcome(network, flows, parameters, state, pfc, (seconds, cpu_seconds), series_ns)


def _outcome(network: Network, flows: Sequence[Flow], parameters: Parameters, state: State, pfc: Records,
             seconds: tuple[float, float], series_ns: int) -> Outcome:
    tally, records = state.tally[0], state.flows
    ended = records["finished_at"] >= 0
    took = np.where(ended, records["finished_at"] - records["start"], np.nan) / PS_A_NS
    deadlock = [] if ended.all() else waiting_cycle(state, network)
    still = np.where(state.ports["is_paused"], tally["now"] - state.ports["paused_since"], 0)
    return Outcome(
        network=network, flows=flows, parameters=parameters, start_ns=records["start"] // PS_A_NS, fct_ns=took,
        delivered_ns=np.where(records["delivered_at"] >= 0, records["delivered_at"] // PS_A_NS, -1),
        series=state.series.reshape(-1, N_BINS), series_ns=series_ns, pfc=pfc,
        pause_ns=float(state.ports["paused"].sum() + still.sum()) / PS_A_NS,
        tally={name: int(tally[name]) for name in tally.dtype.names or ()}, peak_bytes=int(state.nodes["peak"].max()),
        violations=audit(state, network, flows, parameters, pfc), deadlock=deadlock,
        seconds=seconds[0], cpu_seconds=seconds[1], end_ns=float(tally["now"]) / PS_A_NS, state=state)


def fingerprint(outcome: Outcome) -> str:
    """A hash of everything that the core left behind: equal runs have equal ones."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        if name not in ("heap", "packets", "packet_hops"):
            digest.update(np.ascontiguousarray(getattr(outcome.state, name)).tobytes())
    return digest.hexdigest()
