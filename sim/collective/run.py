"""Carries out collectives on the RTL of a cluster and compares every bit with the golden model."""

import math
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import cast

import numpy as np

from firmware_models.abi import registers
from firmware_models.golden import sha256
from firmware_models.host import NodeDriver
from firmware_models.schedule import MulticastGroup, largest_pulse
from sim.cluster import (
    Cluster,
    Execution,
    RegisterAccessError,
    SimulationFaultError,
    Waves,
    build_library,
    side_by_side,
)
from sim.cluster.activities import activities
from sim.cluster.multicast import set_up_groups
from sim.cluster.stalls import random_stalls
from sim.collective.pace import shown
from sim.collective.result import CollectiveResult, VerifyResult
from sim.fabric.topology import TopologyError
from sim.host import Host
from sim.operation.bounds import LinkLoad, link_load
from sim.operation.request import CollectiveRequest, RequestError
from sim.operation.session import CollectiveError, Posted, Session
from sim.process.process import ProcessError
from sim.process.run import Ended, memory_needed, memory_timing, post
from sim.report.progress import ProgressCallback

_MOST_ORDERS_AT_ONCE = 16


def run_collective(
    request: CollectiveRequest, *, waves: Waves | None = None, progress: ProgressCallback | None = None,
    check_boundary: bool = False, execution: Execution | None = None, keeps_events: bool = True,
) -> CollectiveResult:
    """Carries out `request` on the RTL; `waves`, `check_boundary` and `execution` as for :class:`sim.cluster.Cluster`.

    Without `keeps_events` the result has no `events`: with 32 nodes, 32 jobs and 1 MiB they do not fit into 24 GB.

    Raises
    ------
    CollectiveError
        If an operation does not end or ends in an error, or if hardware breaks a rule.
    ScheduleError
        If the operation does not fit the hardware.
    """
    library = build_library(request.hardware(), waves=waves is not None, progress=progress)
    say = progress or (lambda _stage, _done, _total: None)
    say("simulation", 0, 1)
    result = _Simulation(
        library, request, waves=waves, check_boundary=check_boundary, execution=execution, keeps_events=keeps_events,
        progress=progress,
    ).run()
    say("simulation", 1, 1)
    return result


def verify(
    request: CollectiveRequest, *, orders: int, workers: int = 1, progress: ProgressCallback | None = None,
    frame_errors: float = 0,
) -> VerifyResult:
    """Carries out `request` under `orders` random arrival orders, stalls, delays and pulse sizes; errors as above.

    Orders are independent: `workers` processes take some after the other, several in the lanes of a word where they
    fit, and neither changes a result. Of the
    words on reliable links (`link.reliable`) a share of `frame_errors` is lost, doubled or changed.
    """
    library = build_library(request.hardware(), progress=progress)
    say = progress or (lambda _stage, _done, _total: None)
    seen: list[str] = []
    mismatched = damaged = 0
    say("orders", 0, orders)
    # Not forked: whoever calls this may have threads, of a progress bar for one.
    with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
        carry_out = map if workers == 1 else pool.map  # the pool starts no process before it has work
        for outcomes in carry_out(partial(_in_orders, library, request, frame_errors), _shares(orders, workers)):
            for digest, bits, words in outcomes:
                seen.append(digest)
                mismatched += bits
                damaged += words
                say("orders", len(seen), orders)
    return VerifyResult(
        orders=orders, distinct_results=len(set(seen)), mismatched_bits=mismatched, sha256=seen[0],
        first_difference=next((order for order, digest in enumerate(seen) if digest != seen[0]), None),
        damaged_words=damaged,
    )


def _shares(orders: int, workers: int) -> list[range]:
    """Orders that a process takes at once: enough that lanes that have become free get another one, and few enough that
    all processes end at about the same time."""
    size = max(1, min(_MOST_ORDERS_AT_ONCE, -(-orders // (4 * workers))))
    return [range(first, min(first + size, orders)) for first in range(0, orders, size)]


def _in_orders(
    library: Path, request: CollectiveRequest, frame_errors: float, orders: Sequence[int],
) -> list[tuple[str, int, int]]:
    """:func:`_in_order` for several orders, whose NICs share words."""
    carry_out = partial(_in_order, library, request, frame_errors)
    return list(side_by_side(carry_out, orders, library, nodes=request.nodes))


def _in_order(
    library: Path, request: CollectiveRequest, frame_errors: float, order: int,
) -> tuple[str, int, int]:
    """Hash and mismatched bits of the results under random order number `order`, and the words that were damaged."""
    rng = random.Random(f"{request.seed} order {order}")
    step = 64 if request.schedule.block_count == 1 else 16
    pulse_bytes = None
    if not request.host_based:
        pulse_bytes = step * rng.randint(1, largest_pulse(request.schedule, request.config) // step)
    stalls = random_stalls(rng.getrandbits(32))
    stalls = replace(stalls, links=replace(stalls.links, errors=frame_errors))
    # Orders run beside each other: one thread each.
    request = replace(request, stalls=stalls, pulse_bytes=pulse_bytes)
    result = _Simulation(library, request, order=order, execution=Execution(threads=1)).run()
    return result.sha256, result.mismatched_bits, result.damaged_words


@dataclass(frozen=True)
class _Simulation:
    """One run of a request on a cluster of its own; members as for :func:`run_collective` and :func:`_in_order`."""

    library: Path
    request: CollectiveRequest
    _: KW_ONLY
    order: int = 0
    waves: Waves | None = None
    check_boundary: bool = False
    execution: Execution | None = None
    keeps_events: bool = False
    progress: ProgressCallback | None = None

    def run(self) -> CollectiveResult:
        """Errors as of :func:`run_collective`."""
        request = self.request
        try:
            with Cluster(
                self.library, request.wired, memory_bytes=memory_needed(request), memory=memory_timing(request),
                links=request.stalls.links, seed=request.seed + 1 + self.order, waves=self.waves,
                check_boundary=self.check_boundary, execution=self.execution,
            ) as cluster:
                return self._on(cluster)
        except (SimulationFaultError, RegisterAccessError, ProcessError) as fault:
            raise CollectiveError(f"{request.collective}: {fault}") from None

    def _on(self, cluster: Cluster) -> CollectiveResult:
        request, load = self.request, link_load(self.request)
        session = Session(cluster, request.config, nodes=request.nodes)
        work = post(cluster, session, request, _groups(request, cluster, session))
        session.configure()
        session.warm_up()
        cluster.log_events(self.keeps_events)
        idle = [_states(driver, request.config.nic.n_cous) for driver in session.drivers]
        begin = cluster.cycle
        rng = random.Random(f"{request.seed} start {self.order}")
        starts = [[rng.randint(0, request.stalls.start_skew) for _ in job.ports] for job in work.posted]
        with nullcontext() if self.progress is None else shown(cluster, load.payload_flits, self.progress):
            ended = work.run(starts, most=_cycle_budget(request))
        cluster.log_events(False)
        result = _result(request, load, ended, session, work.posted, idle)
        return replace(result, first_cycle=begin, last_cycle=cluster.cycle, damaged_words=cluster.damaged)


def _groups(request: CollectiveRequest, cluster: Cluster, session: Session) -> tuple[MulticastGroup, ...]:
    """The multicast groups of the schedule, set up. Raises :class:`RequestError` if they cannot be routed."""
    try:
        return set_up_groups(
            cluster, session.drivers, request.schedule.groups(), mft_entries=request.config.switch.mft_entries
        )
    except TopologyError as error:
        raise RequestError(str(error)) from None


def _result(
    request: CollectiveRequest, load: LinkLoad, ended: Ended, session: Session, jobs: list[Posted],
    idle: list[list[dict[str, int]]],
) -> CollectiveResult:
    cluster, drivers, cycles = cast(Cluster, session.transport), session.drivers, ended.cycles
    outputs, mismatched = session.compare(request, jobs)
    flit_bytes = request.config.datapath.flit_bytes
    return CollectiveResult(
        cycles=cycles, bytes=request.size, goodput_fraction=load.received_bytes / (cycles * flit_bytes),
        bound_fraction=load.payload_flits / cycles,
        framing_fraction=None if request.host_based else load.flits / cycles,
        wire_fraction=None if request.host_based else load.wire_flits / cycles, mismatched_bits=mismatched,
        sha256=sha256(np.stack(outputs)), outputs=outputs[0], completions=ended.completions,
        process_cycles=ended.processes,
        counters={
            counter.name: sum(driver.read_counter(counter.name) for driver in drivers)
            for counter in registers.EVENT_COUNTERS
        },
        events=activities(cluster.events()),
        stalls=[
            row for driver, before in zip(drivers, idle, strict=True)
            for row in _stalls(driver, before, cycles)
        ],
        buffer_occupancy=[
            _occupancy(driver, cou) for driver in drivers for cou in range(request.config.nic.n_cous)
        ],
    )


def _states(driver: NodeDriver, n_cous: int) -> list[dict[str, int]]:
    return [driver.read_states(cou) for cou in range(n_cous)]


def _stalls(driver: NodeDriver, before: list[dict[str, int]], cycles: int) -> Iterator[dict[str, int]]:
    """Yields the activity of each unit of a node in these cycles: outside of them it has nothing to do."""
    for cou, (then, now) in enumerate(zip(before, _states(driver, len(before)), strict=True)):
        spent = {name: now[name] - then[name] for name in now if name != "nothing"}
        yield {"node": driver.node, "cou": cou, **spent, "nothing": cycles - sum(spent.values())}


def _occupancy(driver: NodeDriver, cou: int) -> dict[str, float]:
    figures = driver.read_buffer(cou)
    return {
        "node": driver.node, "cou": cou, "now": figures.now, "peak": figures.peak, "mean": figures.mean,
        "unlent": figures.unlent,
    }


def _cycle_budget(request: CollectiveRequest) -> int:
    """Cycles after which an operation counts as hanging: generous, for stalls can be heavy."""
    flits = request.size // request.config.datapath.flit_bytes + 64
    schedule = request.schedule
    pulse_bytes = 64 if request.host_based else request.pulse_bytes or largest_pulse(schedule, request.config)
    pulses = request.size // (schedule.block_count * pulse_bytes) + 1
    steps = pulses * max(map(len, schedule.sequences))
    quiet = 500_000 + (400 * flits * request.nodes + 500 * steps) * request.jobs + request.stalls.start_skew
    return quiet if request.host is None else _with_noise(quiet, request.host)


def _with_noise(cycles: int, host: Host) -> int:
    """The same on hosts that are disturbed: cores have a share of the time only, and may lack at the worst moment."""
    noise = host.noise
    share = noise.interrupt_ns / noise.interrupt_every_ns if noise.interrupt_every_ns else 0.0
    return math.ceil(cycles * (1 + share) + host.cycles(noise.late_ns + noise.interrupt_ns))
