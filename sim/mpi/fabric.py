"""The NICs of a program: operations on them, several at once, each with the JobID of its communicator."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi.encoding import Operand, Status
from firmware_models.abi.formats import DESCRIPTOR, JOB_BITS, PAYLOAD_BYTES
from firmware_models.config import Config
from firmware_models.host import NodeDriver, Port
from firmware_models.schedule import (
    Endpoint,
    MulticastGroup,
    Schedule,
    compile_schedule,
    largest_pulse,
    pack_sequence,
)
from sim.cluster import Cluster, Execution
from sim.mpi.error import FabricError
from sim.mpi.jobs import Job, JobPool
from sim.mpi.message import Wire, measure
from sim.mpi.operation import HOUSE_NAMES, Operation
from sim.multicast import join_groups, load_tables, plan_multicast
from sim.stalls import StallProfile
from sim.topology import Topology

PIECE_BYTES = 1 << 20
"""Longest message of one operation on the NICs; longer ones are cut."""
_PAYLOAD_AT = DESCRIPTOR.bytes - PAYLOAD_BYTES
_SLICE_CYCLES = 2_000
_BUDGET = 2_000_000
_WARM_UP_CYCLES = 1_000

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Lane:
    """A VP at every node, with room for one operation."""

    ports: list[Port]
    operands: list[int]
    results: list[int]


@dataclass(frozen=True)
class Sequences:
    """Packed descriptors of each rank, and which of them carry the operand."""

    packed: list[bytearray]
    carriers: list[list[int]]


@dataclass(kw_only=True)
class Running:
    """An operation under way: `width` bytes of each block from `position` on are on the NICs."""

    operation: Operation
    schedule: Schedule
    nodes: tuple[int, ...]
    job: Job
    lane: Lane
    operands: list[Bytes]
    results: list[Bytes]
    skews: list[int]
    position: int = 0
    width: int = 0
    begin: int = 0
    doorbells: list[int] = field(default_factory=list)
    watched: list[tuple[int, int]] = field(default_factory=list)
    cycles: int = 0
    waited: int = 0
    """Cycles from the first doorbell to the last one."""
    ended: list[int] = field(default_factory=list)
    """Cycles from the first doorbell to the completion of each rank."""


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
            execution=Execution(threads=_threads()),
        )
        self._drivers = [NodeDriver(self.cluster, node) for node in range(self.n_nodes)]
        for driver in self._drivers:
            driver.start()
        self._groups: tuple[MulticastGroup, ...] = ()
        if multicast:
            plan = plan_multicast(topology, (tuple(range(self.n_nodes)),), mft_entries=config.switch.mft_entries)
            load_tables(self.cluster, plan.tables)
            join_groups(self._drivers, plan.groups)
            self._groups = plan.groups
        self.jobs = JobPool(self.n_nodes, n_lanes, config.cou.n_peers)
        self._lanes = [self._open_lane(number) for number in range(n_lanes)]
        if not self.cluster.run(1_000_000):
            raise FabricError("the NICs did not take their configuration")
        # Units clear their memories after reset; no operation shall wait for that.
        self.cluster.run_for(_WARM_UP_CYCLES + (config.cou.n_peers << JOB_BITS))
        # Memories and links that are disturbed may be a hundred times slower.
        self._budget = _BUDGET if self._stalls == StallProfile() else 100 * _BUDGET
        self._sequences: dict[tuple[Any, ...], Sequences] = {}
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
        """What a point-to-point message from node 0 to node 1 takes on these NICs, in nobody's way."""
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
        self.cluster.run(_SLICE_CYCLES)
        over = [running for running in self._running if self._piece_is_over(running)]
        ended = []
        for running in over:
            self._collect(running)
            running.position += running.width
            if running.position < max(running.operation.sizes):
                running.skews = [0] * len(running.nodes)
                self._post(running)
            else:
                self._running.remove(running)
                ended.append(running)
        return ended

    def _piece_is_over(self, running: Running) -> bool:
        running.watched = [place for place in running.watched if not self.cluster.was_written(*place)]
        if running.watched and self.cluster.cycle > max(running.doorbells) + self._budget:
            late = ", ".join(str(node) for node, _ in running.watched)
            raise FabricError(f"the NICs of ranks {late} have not ended {HOUSE_NAMES[running.operation.collective]}")
        return not running.watched

    def _post(self, running: Running) -> None:
        operation, lane = running.operation, running.lane
        element, n_blocks = operation.element, operation.n_blocks
        most = PIECE_BYTES // n_blocks // 64 * 64
        running.width = min(most, max(operation.sizes) - running.position)
        padded = -(-running.width // element) * element  # bits of short integers fill up their last lane
        length = padded * n_blocks
        sequences = self._compiled(running, length)
        pulse_bytes = largest_pulse(running.schedule, self.config)
        elements = -(-length // element)
        block_bytes = -(-elements // running.schedule.block_count) * element
        running.job.count(running.nodes, max(1, -(-block_bytes // pulse_bytes)))
        running.begin, begin = self.cluster.cycle, self.cluster.cycle
        running.doorbells = [
            begin + skew + self._random.randint(0, self._stalls.start_skew) for skew in running.skews
        ]
        if not running.position:
            running.waited = max(running.doorbells) - min(running.doorbells)
        for rank, node in enumerate(running.nodes):
            driver, port = self._drivers[node], lane.ports[node]
            message = self._message(running, rank, padded)
            packed = sequences.packed[rank]
            if message is not None and sequences.carriers[rank]:
                for carrier in sequences.carriers[rank]:
                    at = carrier * DESCRIPTOR.bytes + _PAYLOAD_AT
                    packed[at:at + length] = message.tobytes()
            elif message is not None:
                driver.memory[lane.operands[node]:lane.operands[node] + length] = message
            port.post(bytes(packed))
            running.watched += [(node, address) for address in port.watch_completions(1)]
            port.ring(not_before=running.doorbells[rank])

    def _message(self, running: Running, rank: int, padded: int) -> Bytes | None:
        """The operand of a rank as its NIC reads it: all blocks, those that it does not bring zero."""
        operation = running.operation
        blocks = operation.brings(rank)
        if not blocks or not padded:
            return None
        message = np.zeros((operation.n_blocks, padded), np.uint8)
        base = 0
        for block in blocks:
            size = operation.sizes[block]
            low, high = min(running.position, size), min(running.position + running.width, size)
            message[block, :high - low] = running.operands[rank][base + low:base + high]
            base += size
        return message.reshape(-1)

    def _collect(self, running: Running) -> None:
        """Takes the completions, and copies results to where the program has them."""
        operation, lane = running.operation, running.lane
        padded = -(-running.width // operation.element) * operation.element
        ended = []
        for rank, node in enumerate(running.nodes):
            completion = lane.ports[node].poll()
            if completion is None or completion.status is not Status.OK:
                what = "no completion" if completion is None else f"{completion.status.name}, {completion.detail:#x}"
                raise FabricError(f"rank {rank} of {HOUSE_NAMES[operation.collective]}: {what}")
            ended.append(running.cycles + completion.timestamp - running.begin)
            base = 0
            for block in operation.gets(rank):
                if not len(running.results[rank]):  # the root of a scatter leaves its own where it is
                    break
                size = operation.sizes[block]
                low, high = min(running.position, size), min(running.position + running.width, size)
                at = lane.results[node] + block * padded
                running.results[rank][base + low:base + high] = self._drivers[node].memory[at:at + high - low]
                base += size
        running.ended = ended
        running.cycles = max(ended)

    def _compiled(self, running: Running, length: int) -> Sequences:
        operation, lane, schedule, job = running.operation, running.lane, running.schedule, running.job
        key = (
            job.job_id, running.nodes, schedule.collective, schedule.algorithm, schedule.root, length,
            operation.datatype, operation.operator,
        )
        found = self._sequences.get(key)
        if found is None:
            operand = bytes(length) if length <= PAYLOAD_BYTES else None
            descriptors = compile_schedule(
                schedule, job_id=job.job_id, config=self.config, length=length, datatype=operation.datatype,
                operator=operation.operator, peers=job.peers, groups=self._groups,
                endpoints=[
                    Endpoint(node_id=node, vp=job.vp, local_addr=lane.operands[node], result_addr=lane.results[node],
                          operand=operand)
                    for node in running.nodes
                ],
            )
            found = Sequences(
                packed=[bytearray(pack_sequence(sequence)) for sequence in descriptors],
                carriers=[
                    [index for index, fields in enumerate(sequence) if fields["operand"] == Operand.PAYLOAD]
                    for sequence in descriptors
                ],
            )
            if len(self._sequences) >= _MOST_SEQUENCES:
                self._sequences.clear()
            self._sequences[key] = found
        return found


_MOST_SEQUENCES = 4096


def _threads() -> int:
    """Threads of the simulation: half of the cores, for ranks need some too; or what CONIC_THREADS says.

    Operations are short, so threads meet often: on cores that ranks take, two are half as fast as one.
    """
    return 0 if os.environ.get("CONIC_THREADS") else max(1, len(os.sched_getaffinity(0)) // 2)
