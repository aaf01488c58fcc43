"""An operation with its hosts, offloaded or carried out by them, with the time that they take; or on NICs alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from firmware_models.host import Completion
from firmware_models.schedule import MulticastGroup
from sim.cluster import Cluster, MemoryTiming
from sim.host import Host, late_cycles
from sim.operation.request import CollectiveRequest
from sim.operation.session import CollectiveError, Session
from sim.process.host_based import HostBasedJob, memory_bytes
from sim.process.machine import Machine
from sim.process.process import Body, Process


@dataclass(frozen=True, kw_only=True)
class Ended:
    """End of all jobs of a request.

    Members
    -------
    cycles : int
        From the first start to the last completion, or until the last process has its result.
    completions : list of Completion
        Of every job at every node, if nobody but the NICs counts.
    processes : list of list of float
        Cycles until each process has its result, by job and rank, if hosts count.
    """

    cycles: int
    completions: list[Completion] = field(default_factory=list)
    processes: list[list[float]] = field(default_factory=list)


class NicRun:
    """All jobs of a request on the NICs of a cluster; hosts take no time.

    Parameters and members as for :class:`HostedRun`.
    """

    def __init__(
        self, cluster: Cluster, session: Session, request: CollectiveRequest, groups: Sequence[MulticastGroup]
    ):
        self.cluster, self._session, self._what = cluster, session, request.collective
        self.posted = [session.post(request, job, groups=groups) for job in range(request.jobs)]

    def run(self, starts: Sequence[Sequence[int]], *, most: int) -> Ended:
        """Rings the doorbell of each rank so many cycles from now, ``starts[job][rank]``, and waits.

        Raises
        ------
        CollectiveError
            If an operation does not end within `most` cycles, or not well.
        """
        session, begin = self._session, self.cluster.cycle
        cycles = (begin + start for row in starts for start in row)
        session.ring(self.posted, not_before=lambda: next(cycles))
        if not session.wait(most):
            raise CollectiveError(session.hang(self._what, self.posted))
        return Ended(
            cycles=self.cluster.settled_cycle - begin, completions=list(session.completions(self.posted)),
        )


class HostedRun:
    """All jobs of a request at all hosts of a cluster.

    Parameters
    ----------
    cluster : Cluster
        The NICs.
    session : Session
        They are started.
    request : CollectiveRequest
        With a host.
    host : Host
        That host.
    groups : sequence of MulticastGroup
        As for :meth:`Session.post`.

    Members
    -------
    posted : list of Posted
        Of each job.
    """

    def __init__(
        self, cluster: Cluster, session: Session, request: CollectiveRequest, host: Host,
        groups: Sequence[MulticastGroup],
    ):
        self.cluster, self.host = cluster, host
        self._jobs: list[HostBasedJob] = []
        if request.host_based:
            self._jobs = [HostBasedJob(session, request, job, host) for job in range(request.jobs)]
            self.posted = [job.posted for job in self._jobs]
        else:
            self.posted = [session.post(request, job, groups=groups) for job in range(request.jobs)]

    def run(self, starts: Sequence[Sequence[int]], *, most: int) -> Ended:
        """Runs a process for each rank of each job, which calls so many cycles from now, ``starts[job][rank]``, unless
        the host's noise makes it late.

        Raises
        ------
        CollectiveError
            If some do not end within `most` cycles.
        """
        machine = Machine(self.cluster, self.host, nodes=len(self.posted[0].ports))
        begin = self.cluster.cycle
        processes: list[tuple[Process, Body]] = []
        for job, posted in enumerate(self.posted):
            for rank, port in enumerate(posted.ports):
                start = begin + starts[job][rank] + late_cycles(self.host, node=rank, job=job)
                process = Process(machine.nodes[rank], job, port, machine, start=start)
                body = self._jobs[job].body(rank, process) if self._jobs else _offloaded(process, job)
                processes.append((process, body))
        left = machine.run(processes, most=most)
        if left:
            names = ", ".join(process.name for process in left)
            raise CollectiveError(f"hosts did not end by cycle {self.cluster.cycle}: {names}")
        ended = [process.time - begin for process, _ in processes]
        each = iter(ended)
        return Ended(
            cycles=math.ceil(max(ended)), processes=[[next(each) for _ in posted.ports] for posted in self.posted],
        )


def post(
    cluster: Cluster, session: Session, request: CollectiveRequest, groups: Sequence[MulticastGroup]
) -> NicRun | HostedRun:
    """Posts all jobs of a request, to be carried out with its host if it has one."""
    if request.host is None:
        return NicRun(cluster, session, request, groups)
    return HostedRun(cluster, session, request, request.host, groups)


def memory_needed(request: CollectiveRequest) -> int:
    """Memory of a node that is enough for all jobs of a request."""
    if request.host is not None and request.host_based:
        return memory_bytes(request, request.host)
    return (1 << 16) + request.jobs * ((1 << 16) + 2 * (request.size + 64))


def memory_timing(request: CollectiveRequest) -> MemoryTiming:
    """Of the host memories: as the host says, if there is one, unless delays are asked for."""
    memory = request.stalls.memory
    if request.host is None or memory != MemoryTiming():
        return memory
    return MemoryTiming(
        read_latency=request.host.read_cycles(),
        beat_cycles=request.host.beat_cycles(request.config.datapath.flit_bytes),
    )


def _offloaded(process: Process, job: int) -> Body:
    """Writes the descriptors of its sequence, rings, and waits for its one completion."""
    process.work(process.host.mpi.call_ns)
    process.ring(process.port.steps.descriptors.produced)
    entry = yield from process.next_entry()
    assert getattr(entry, "tag", None) == job, f"{process.name}: the completion is another's"
