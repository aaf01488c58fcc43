"""Runs processes beside the cluster that they use: a discrete simulation of hosts, in step with that of the RTL.

What a NIC writes in a cycle is seen by a process a way over PCIe later at the earliest, and what the process does then
reaches the NIC another way later. So the cluster may run for two ways at a time without hearing of anything that
follows from it, if all is known that becomes visible in the first half.
"""

import heapq
import math
from collections.abc import Sequence
from itertools import count

from firmware_models.host.ring import EventRing
from sim.cluster import Cluster
from sim.host import Host
from sim.process.process import Arrival, Body, Node, Process

_REST_CYCLES = 10_000


class Machine:
    """The hosts of a cluster.

    Parameters
    ----------
    cluster : Cluster
        NICs and network, configured.
    host : Host
        What each host is.
    nodes : int
        Hosts.

    Members
    -------
    nodes : list of Node
        The hosts.
    """

    def __init__(self, cluster: Cluster, host: Host, *, nodes: int):
        self.cluster, self.host = cluster, host
        self.nodes = [Node(number, host) for number in range(nodes)]
        self._way = host.way_cycles()
        self._slice = math.floor(2 * self._way)
        # Nothing that has begun takes so long without a register of a NIC or a switch that moves.
        self._rest = _REST_CYCLES + 4 * host.read_cycles()
        self._order = count()
        self._doorbells: list[tuple[float, int, int, int, int]] = []
        self._rings: dict[tuple[int, int], tuple[Process, bool]] = {}

    def write_register(self, node: int, address: int, value: int, at: float) -> None:
        """As :class:`~sim.process.process.Network` says."""
        heapq.heappush(self._doorbells, (at, next(self._order), node, address, value))

    def run(
        self, processes: Sequence[tuple[Process, Body]], *, most: int, patience: int | None = None
    ) -> list[Process]:
        """Runs processes until all have ended, or for `most` cycles, or until nothing happens any more: those that have
        not ended. It counts as nothing, too, if for `patience` cycles NICs are at work but tell no process anything."""
        for process, _ in processes:
            self._observe(process)
        running = list(processes)
        end = self.cluster.cycle + most
        moved = heard = self.cluster.cycle
        evaluated = -1
        while running:
            begin = self.cluster.cycle
            until = begin + self._slice
            if self._doorbells or self.cluster.evaluated != evaluated:
                moved, evaluated = begin, self.cluster.evaluated
            if begin - moved > self._rest:
                # NICs rest: until some process goes on by itself nothing can come.
                due = [max(wanted, each.time) for each, _ in running if (wanted := each.due()) is not None]
                if not due:
                    break
                until = max(until, math.floor(min(due)))
            if patience is not None:
                heard = begin if self._doorbells or any(each.due() is not None for each, _ in running) else heard
            if begin >= end or begin - heard > (patience or most):
                break
            ended = self._resume(running, until - self._way)
            running = [each for each in running if each[0] not in ended]
            self._ring(until)
            self.cluster.run_for(until - begin)
            self._hear()
        self.cluster.check_registers()
        return [process for process, _ in running]

    def _resume(self, running: Sequence[tuple[Process, Body]], horizon: float) -> set[Process]:
        """Goes on with those that have something to do before `horizon`, the earliest first; those that have ended."""
        due = [
            (wanted, place) for place, (process, _) in enumerate(running) if (wanted := process.due()) is not None
        ]
        ended = set()
        for wanted, place in sorted(due):
            process, body = running[place]
            if max(wanted, process.time) >= horizon:
                continue
            process.horizon, process.is_started = horizon, True
            try:
                next(body)
            except StopIteration:
                ended.add(process)
        return ended

    def _ring(self, until: int) -> None:
        """Hands the NICs what is due before `until`, in order of time: a NIC's accesses stay in order."""
        while self._doorbells and self._doorbells[0][0] < until:
            at, _, node, address, value = heapq.heappop(self._doorbells)
            self.cluster.write_register(node, address, value, not_before=math.ceil(at))

    def _observe(self, process: Process) -> None:
        steps, node = process.port.steps, process.node.number
        for ring, is_message in ((steps.completions, False), (steps.received, True)):
            self.cluster.observe(node, *_span(ring))
            for index in range(ring.size):
                self._rings[node, ring.address(index)] = process, is_message

    def _hear(self) -> None:
        for cycle, node, address in self.cluster.landed():
            process, is_message = self._rings[node, address]
            process.arrive(Arrival(cycle + self._way, next(self._order), is_message))


def _span(ring: EventRing) -> tuple[int, int]:
    return ring.base, ring.base + ring.size * ring.entry.bytes
