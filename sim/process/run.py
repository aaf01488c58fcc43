"""An operation with its hosts: offloaded, or carried out by hosts; either with what hosts take."""

import math
from collections.abc import Sequence

from firmware_models.schedule import MulticastGroup
from sim.cluster import Cluster, MemoryTiming
from sim.host import Host, late_cycles
from sim.operation.request import CollectiveRequest
from sim.operation.session import CollectiveError, Session
from sim.process.host_based import HostBasedJob, memory_bytes
from sim.process.machine import Machine
from sim.process.process import Body, Process


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

    def run(self, starts: Sequence[Sequence[int]], *, most: int) -> list[list[float]]:
        """Cycles from now until each process has its result, by job and rank.

        ``starts[job][rank]`` is when it calls, unless the host's noise makes it late.

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
        ended = iter([process.time - begin for process, _ in processes])
        return [[next(ended) for _ in posted.ports] for posted in self.posted]


def last(ended: Sequence[Sequence[float]]) -> int:
    """Cycles until the last process has its result."""
    return math.ceil(max(map(max, ended)))


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
