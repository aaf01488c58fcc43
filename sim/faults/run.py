"""Carries out a collective while things go wrong, and says what became of every job."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from firmware_models.abi import registers
from firmware_models.abi.encoding import FaultMemory, Kind, P2pOp, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.abi.registers import CONTROL_PAGE
from firmware_models.golden import reference
from firmware_models.host import NodeDriver, Port
from sim.cluster import AxiResponse, Cluster, Execution, WireFault, WireRates, build_library
from sim.cluster.stalls import random_stalls
from sim.faults.again import clear, works_as_new
from sim.faults.outcome import FaultOutcome, Verdict
from sim.faults.script import (
    Absent,
    BitFlip,
    Disagrees,
    FailedAccess,
    FaultScript,
    FaultScriptError,
    FullCompletions,
    LinkDown,
    SlowHost,
    Stop,
)
from sim.operation.diagnosis import diagnose
from sim.operation.request import CollectiveRequest, RequestError
from sim.operation.session import Posted, Session
from sim.report.progress import ProgressCallback

_PATIENCE = 12
"""Watchdogs that an operation may take to end: those of its nodes run out one after the other."""
_FOREVER = (1 << 63) - 1
_REGISTERS = {register.name: register.offset for register in CONTROL_PAGE}
_TRAINING_CYCLES = 2_000
_REFUSED = DESCRIPTOR.pack(kind=Kind.MP, p2p_op=P2pOp.SEND, length=65)
"""A descriptor that ends at once, in BAD_LENGTH."""


def equipped(request: CollectiveRequest, script: FaultScript) -> CollectiveRequest:
    """The request on hardware that has what the faults of `script` need: reliable links, SECDED."""
    config = request.config
    if script.needs_reliable_links:
        config = config.changed(link={"reliable": True})
    if script.needs_ecc:
        config = config.changed(cou={"ecc": True})
    return replace(request, config=config)


def run_with_faults(
    request: CollectiveRequest, script: FaultScript, *, order: int = 0, progress: ProgressCallback | None = None,
    execution: Execution | None = None,
) -> FaultOutcome:
    """Carries out `request`, :func:`equipped` for `script`.

    `order` draws other faults and, but for 0, delays of memories.

    Raises
    ------
    FaultScriptError
        If the script names a node or an offload unit that there is not.
    """
    script.check(nodes=request.nodes, cous=request.config.nic.n_cous)
    request = equipped(request, script)
    if order:
        stalls = random_stalls(order)
        # Links keep their latency: what is at once elsewhere would have to be in lockstep.
        request = replace(request, stalls=replace(stalls, links=request.stalls.links, start_skew=0))
    return _simulate(build_library(request.hardware(), progress=progress), request, script, order, execution)


def _simulate(
    library: Path, request: CollectiveRequest, script: FaultScript, order: int, execution: Execution | None,
) -> FaultOutcome:
    others = _disagreeing(request, script)
    largest = max(each.size for each in (request, *others.values()))
    memory_bytes = (1 << 17) + 2 * request.jobs * ((1 << 16) + 2 * (largest + 64))
    with Cluster(
        library, request.wired, memory_bytes=memory_bytes, memory=request.stalls.memory, links=request.stalls.links,
        seed=request.seed + 1 + order, execution=execution,
    ) as cluster:
        session = Session(cluster, request.config, nodes=request.nodes)
        for driver in session.drivers:
            driver.set_watchdog(script.watchdog)
        full = {event.node: event for event in script.events if isinstance(event, FullCompletions)}

        def ahead(node: int, port: Port) -> None:
            if port.vp == 0 and node in full:
                port.post(_REFUSED * port.steps.completions.size)

        jobs = [
            session.post(request, job, ahead=ahead, others=others if job == 0 else None)
            for job in range(request.jobs)
        ]
        session.configure()
        session.warm_up()
        cluster.run_for(_TRAINING_CYCLES)
        before = {driver.node: _corrected(driver, request) for driver in session.drivers}
        # Completions bear the cycle of their NIC, which counts from its reset on.
        clocks = {
            driver.node: cluster.cycle - driver.read_register(_REGISTERS["cycles_lo"]) for driver in session.drivers
        }
        begin = cluster.cycle
        _arrange(cluster, session, script, begin)
        gone = {event.node for event in script.events if isinstance(event, Stop)}
        absent = {event.node for event in script.events if isinstance(event, Absent)}
        waiting = [
            port for number, job in enumerate(jobs) for node, port in enumerate(job.ports)
            if not (number == 0 and node in absent)
        ]
        filled = [jobs[0].ports[node] for node in full]
        for port in waiting:
            if port not in filled and port.driver.node not in gone:
                port.watch_completions(1)
            port.ring(not_before=begin)
        _leave_full(cluster, filled, max((event.cycles for event in full.values()), default=0))
        cluster.run(_bound(request, script))
        end = cluster.settled_cycle
        alive = [driver for driver in session.drivers if driver.node not in gone]
        counters = _counters(alive)
        of_links = _link_counters(cluster, alive) if request.config.link.reliable else {}
        completions = [
            {node: port.poll() for node, port in enumerate(job.ports) if port in waiting and node not in gone}
            for job in jobs
        ]
        statuses = [
            {node: None if seen is None else seen.status.name for node, seen in job.items()} for job in completions
        ]
        ended = [
            {node: None if seen is None else seen.timestamp + clocks[node] - begin for node, seen in job.items()}
            for job in completions
        ]
        # A node with another request gets the result of that request, so it does not count as wrong.
        wrong = [
            [node for node in _wrong(request, session, job) if job.requests[node] is request] for job in jobs
        ]
        diagnosis = [
            diagnose(job.requests, ends, absent=absent if number == 0 else (), gone=gone)
            for number, (job, ends) in enumerate(zip(jobs, completions, strict=True))
        ]
        injected = _injected(cluster, script)
        corrected = sum(_corrected(driver, request) - before[driver.node] for driver in alive)
        if script.needs_ecc:
            counters["buffer_corrected"] = corrected
        written = counters.get("completions", 0) - sum(port.steps.completions.size for port in filled)
        verdicts = [
            _verdict(bad, status, n_lost=written - _n_seen(statuses))
            for bad, status in zip(wrong, statuses, strict=True)
        ]
        again = None
        if not _is_lasting(script) and not {Verdict.HANG, Verdict.COUNTED} & set(verdicts):
            clear(cluster, session)
            again = works_as_new(cluster, session, request, verdicts, most=_bound(request, script))
    return FaultOutcome(
        injected=injected, verdicts=verdicts, statuses=statuses, cycles=end - begin, counters=counters,
        link_counters=of_links, ended=ended, wrong=wrong, again=again, diagnosis=diagnosis,
    )


def _disagreeing(request: CollectiveRequest, script: FaultScript) -> dict[int, CollectiveRequest]:
    """Requests of the nodes that post another operation than the others."""
    found = {}
    for number, event in enumerate(script.events):
        if isinstance(event, Disagrees):
            try:
                found[event.node] = replace(request, inputs=None, **event.terms)
            except RequestError as error:
                raise FaultScriptError(f"events.{number}: {error}") from None
    return found


def _is_lasting(script: FaultScript) -> bool:
    """A node is gone for good."""
    return any(isinstance(event, Stop) for event in script.events)


def _leave_full(cluster: Cluster, ports: list[Port], cycles: int) -> None:
    """Lets time pass while completion rings are full; then their hosts read all that is there."""
    if not ports:
        return
    cluster.run_for(cycles)
    for port in ports:
        while port.poll() is not None:
            pass
        port.watch_completions(1)


def _arrange(cluster: Cluster, session: Session, script: FaultScript, begin: int) -> None:
    """Tells the cluster all that is to go wrong."""
    links, memory = script.links, script.memory
    cluster.set_wires(WireRates(
        flipped=links.flipped, lost=links.lost, doubled=links.doubled, delayed=links.delayed, delay=links.delay,
    ))
    for driver in session.drivers:
        for is_write, share in ((False, memory.reads), (True, memory.writes)):
            if share:
                cluster.fail_share(
                    driver.node, is_write=is_write, share=share, response=AxiResponse[memory.response],
                )
    for event in script.events:
        match event:
            case LinkDown():
                end = _FOREVER if event.cycles is None else begin + event.at + event.cycles
                cluster.cut(_cable_of(cluster, event.node), begin + event.at, end)
            case Stop():
                cluster.cut(_cable_of(cluster, event.node), begin + event.at, _FOREVER)
                cluster.stop(event.node, begin + event.at)
            case SlowHost():
                cluster.slow_memory(event.node, begin + event.at, begin + event.at + event.cycles, event.extra)
            case FailedAccess():
                cluster.fail_memory(
                    event.node, is_write=event.kind == "write_error", cycle=begin + event.at, count=event.count,
                    response=AxiResponse[event.response],
                )
            case BitFlip():
                driver = session.drivers[event.node]
                driver.write_register(_REGISTERS["buffer_select"], event.cou)
                driver.write_register(_REGISTERS["buffer_fault"], CONTROL_PAGE.pack(
                    "buffer_fault", memory=FaultMemory[event.memory.upper()], errors=(1 << event.bits) - 1,
                    first_bit=event.first_bit,
                ), not_before=begin + event.at)


def _cable_of(cluster: Cluster, node: int) -> int:
    """The cable of a node."""
    return next(
        number for number, ends in enumerate(cluster.topology.cables)
        if any(not end.is_switch and end.number == node for end in ends)
    )


def _injected(cluster: Cluster, script: FaultScript) -> dict[str, int]:
    """Counts the faults that took place, by kind."""
    found = {kind.name.lower(): cluster.damage(kind) for kind in WireFault}
    memories = [cluster.memory_faults(node) for node in range(cluster.topology.n_nodes)]
    found |= {
        "read_errors": sum(faults.reads for faults in memories),
        "write_errors": sum(faults.writes for faults in memories),
        "late_answers": sum(faults.late for faults in memories),
    }
    for event in script.events:
        if not isinstance(event, FailedAccess):
            found[event.kind] = found.get(event.kind, 0) + 1
    return {kind: count for kind, count in found.items() if count}


def _corrected(driver: NodeDriver, request: CollectiveRequest) -> int:
    """Errors of the packet buffers of a NIC that were put right."""
    if not request.config.cou.ecc:
        return 0
    total = 0
    for cou in range(request.config.nic.n_cous):
        driver.write_register(_REGISTERS["buffer_select"], cou)
        total += driver.read_register(_REGISTERS["buffer_corrected_lo"])
    return total


def _counters(drivers: list[NodeDriver]) -> dict[str, int]:
    """Event counters, summed, without those that are 0."""
    sums = {
        counter.name: sum(driver.read_counter(counter.name) for driver in drivers)
        for counter in registers.EVENT_COUNTERS
    }
    return {name: count for name, count in sums.items() if count}


def _link_counters(cluster: Cluster, drivers: list[NodeDriver]) -> dict[str, int]:
    """Counters of reliable links, at NICs and at all ports of switches, summed, without those that are 0."""
    names = [counter.name for counter in registers.LINK_COUNTERS]
    sums = Counter({name: sum(driver.read_counter(name) for driver in drivers) for name in names})
    for switch, radix in enumerate(cluster.topology.radixes):
        for port in range(radix):
            cluster.write_switch_register(switch, registers.SWITCH_PAGE["port_select"].offset, port)
            for name in names:
                sums[name] += cluster.read_switch_register(switch, registers.SWITCH_COUNTERS.offset(name))
    return dict(+sums)


def _n_seen(statuses: list[dict[int, str | None]]) -> int:
    """Completions that hosts have seen."""
    return sum(status is not None for job in statuses for status in job.values())


def _verdict(wrong: Iterable[int], statuses: dict[int, str | None], *, n_lost: int) -> Verdict:
    """How a job ended; `n_lost` completions were written by NICs, over all jobs, and seen by no host."""
    well = {node for node, status in statuses.items() if status == Status.OK.name}
    if well & set(wrong):
        return Verdict.WRONG
    if None in statuses.values():
        return Verdict.COUNTED if n_lost >= list(statuses.values()).count(None) else Verdict.HANG
    if not well:
        return Verdict.REPORTED
    return Verdict.CORRECTED if len(well) == len(statuses) else Verdict.PARTLY


def _wrong(request: CollectiveRequest, session: Session, job: Posted) -> Iterator[int]:
    """Nodes whose result is not that of the golden model."""
    golden = reference(
        request.collective, request.algorithm, job.inputs, root=request.root, datatype=request.datatype,
        operator=request.operator,
    )
    for node, driver in enumerate(session.drivers):
        if golden.receives[node]:
            result = driver.load(job.result_addresses[node], request.size)
            if result != np.ascontiguousarray(golden.results[node]).tobytes():
                yield node


def _bound(request: CollectiveRequest, script: FaultScript) -> int:
    """Cycles within which every operation has to have ended."""
    outage = max((event.at + (event.cycles or 0) for event in script.events
                  if isinstance(event, LinkDown | SlowHost)), default=0)
    waits = max((event.cycles for event in script.events if isinstance(event, FullCompletions)), default=0)
    flits = request.size // request.config.datapath.flit_bytes + 64
    return _PATIENCE * script.watchdog + outage + waits + 40 * flits * request.nodes * request.jobs
