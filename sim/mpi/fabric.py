"""The NICs of a program: operations on them, several at once, each with the JobID of its communicator."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from firmware_models.host import Operation as Posted
from firmware_models.host import wait
from firmware_models.schedule import MulticastGroup, Schedule, largest_pulse
from sim.cluster import Cluster
from sim.cluster.multicast import join_groups, load_tables, plan_multicast
from sim.cluster.stalls import StallProfile
from sim.fabric.topology import Topology
from sim.mpi.error import FabricError
from sim.mpi.jobs import Job, JobPool
from sim.mpi.message import Wire, measure
from sim.mpi.operation import HOUSE_NAMES, Operation
from sim.mpi.running import Bytes, Lane, Running
from sim.mpi.sequences import SequenceCache
from sim.operation.session import Session

PIECE_BYTES = 1 << 20
"""Longest message of one operation on the NICs; longer ones are cut."""
_SLICE_CYCLES = 2_000
_BUDGET = 2_000_000


class Fabric:
    """One NIC for each rank of a program.

    Parameters
    ----------
    library : Path
        Of the cluster.
    config : Config
        What it was built from.
    topology : Topology
        How nodes are wired; rank r is at node r.
    multicast : bool
        Routes a multicast group of all nodes.
    stalls : StallProfile
        How memories, links and starts are disturbed.
    seed : int
        Of what is random in that.
    """

    def __init__(
        self, library: Path, config: Config, topology: Topology, *, multicast: bool = False,
        stalls: StallProfile | None = None, seed: int = 0,
    ):
        self.config = config
        self.n_nodes = topology.n_nodes
        n_lanes = min(config.nic.n_cous * config.cou.n_jobs, config.nic.n_vps)
        room = n_lanes * (2 * PIECE_BYTES + (1 << 16)) + (1 << 16)
        self._stalls, self._random = stalls or StallProfile(), random.Random(seed)
        self.cluster = Cluster(
            library, topology, memory_bytes=room, memory=self._stalls.memory, links=self._stalls.links, seed=seed,
        )
        session = Session(self.cluster, config, nodes=self.n_nodes)
        self._drivers = session.drivers
        groups: tuple[MulticastGroup, ...] = ()
        if multicast:
            plan = plan_multicast(topology, (tuple(range(self.n_nodes)),), mft_entries=config.switch.mft_entries)
            load_tables(self.cluster, plan.tables)
            join_groups(self._drivers, plan.groups)
            groups = plan.groups
        self._sequences = SequenceCache(config, groups)
        self.jobs = JobPool(self.n_nodes, n_lanes, config.cou.n_peers)
        self._lanes = [self._open_lane(number) for number in range(n_lanes)]
        session.configure()
        session.warm_up()
        # Memories and links that are disturbed may be a hundred times slower.
        self._budget = _BUDGET if self._stalls == StallProfile() else 100 * _BUDGET
        self._running: list[Running] = []

    def close(self) -> None:
        """Ends the simulation."""
        for driver in self._drivers:
            driver.memory = np.empty(0, np.uint8)
        self.cluster.close()

    @property
    def busy(self) -> bool:
        """True while an operation is under way."""
        return bool(self._running)

    def measure_message(self) -> Wire:
        """Measures the cycles of a point-to-point message from node 0 to node 1 on these NICs, without other traffic.
        """
        lane = self._lanes[0]
        return measure(
            self.cluster, *lane.ports[:2], source=lane.operands[0], target=lane.results[1],
            room=PIECE_BYTES, mtu=self.config.datapath.mtu,
        )

    def _open_lane(self, number: int) -> Lane:
        ports, operands, results = [], [], []
        for driver in self._drivers:
            port = driver.open_port(number)
            operands.append(driver.allocate(PIECE_BYTES))
            results.append(driver.allocate(PIECE_BYTES))
            port.open_window(operands[-1], results[-1] + PIECE_BYTES)
            ports.append(port)
        return Lane(ports, operands, results)

    def is_free(self, job: Job) -> bool:
        """True if the job's VP has no operation under way."""
        return all(running.job.vp != job.vp for running in self._running)

    def check(self, operation: Operation, schedule: Schedule, *, nodes: Sequence[int], job: Job) -> None:
        """Sees whether the NICs could carry out an operation, and takes what it needs of their tables.

        Raises
        ------
        ScheduleError
            If they cannot.
        """
        running = Running(
            operation=operation, schedule=schedule, nodes=tuple(nodes), job=job, lane=self._lanes[job.vp],
            operands=[], results=[], skews=[],
        )
        running.cut(PIECE_BYTES)
        self._sequences.find(running)

    def start(
        self, operation: Operation, schedule: Schedule, *, nodes: Sequence[int], job: Job,
        operands: list[Bytes], results: list[Bytes], skews: Sequence[int] = (),
    ) -> Running:
        """Begins an operation; rank r is at ``nodes[r]``, its operand and result are memory of the program's.

        `skews` are the cycles after which each rank rings its doorbell.

        Raises
        ------
        ScheduleError
            If the NICs cannot carry it out.
        """
        running = Running(
            operation=operation, schedule=schedule, nodes=tuple(nodes), job=job, lane=self._lanes[job.vp],
            operands=operands, results=results, skews=list(skews) or [0] * len(nodes),
        )
        self._post(running)
        self._running.append(running)
        return running

    def advance(self) -> list[Running]:
        """Lets time pass until something ends, or for a while; what has ended.

        Raises
        ------
        FabricError
            If an operation does not end, or not well.
        """
        wait(self.cluster, most=_SLICE_CYCLES)
        over = [running for running in self._running if self._piece_is_over(running)]
        ended = []
        for running in over:
            self._collect(running)
            if running.pass_piece():
                self._post(running)
            else:
                self._running.remove(running)
                ended.append(running)
        return ended

    def _piece_is_over(self, running: Running) -> bool:
        late = running.posted.late
        if late and self.cluster.cycle > max(running.doorbells) + self._budget:
            names = ", ".join(str(port.driver.node) for port in late)
            raise FabricError(f"the NICs of ranks {names} have not ended {HOUSE_NAMES[running.operation.collective]}")
        return not late

    def _post(self, running: Running) -> None:
        """Gives the next piece to the NICs, each of which begins when its doorbell is rung."""
        lane = running.lane
        running.cut(PIECE_BYTES)
        sequences = self._sequences.find(running)
        running.job.count(running.nodes, self._pulses(running))
        running.begin = self.cluster.cycle
        running.doorbells = [
            running.begin + skew + self._random.randint(0, self._stalls.start_skew) for skew in running.skews
        ]
        if not running.position:
            running.waited = max(running.doorbells) - min(running.doorbells)
        for rank, node in enumerate(running.nodes):
            message = running.message(rank)
            if message is not None and not sequences.carries(rank, message):
                at = lane.operands[node]
                self._drivers[node].memory[at:at + len(message)] = message
        running.posted = Posted.post(running.ports, [bytes(each) for each in sequences.packed])
        running.posted.ring(not_before=running.doorbells)

    def _pulses(self, running: Running) -> int:
        """Pulses of the piece."""
        element, schedule = running.operation.element, running.schedule
        block_bytes = -(-(running.length // element) // schedule.block_count) * element
        return max(1, -(-block_bytes // largest_pulse(schedule, self.config)))

    def _collect(self, running: Running) -> None:
        """Takes the completions, and copies results to where the program has them."""
        ended = []
        for rank, (node, completion) in enumerate(zip(running.nodes, running.posted.poll(), strict=True)):
            if completion is None or completion.status is not Status.OK:
                what = "no completion" if completion is None else f"{completion.status.name}, {completion.detail:#x}"
                raise FabricError(f"rank {rank} of {HOUSE_NAMES[running.operation.collective]}: {what}")
            ended.append(running.cycles + completion.timestamp - running.begin)
            at = running.lane.results[node]
            running.take(rank, self._drivers[node].memory[at:at + running.length])
        running.ended = ended
        running.cycles = max(ended)
