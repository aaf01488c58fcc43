"""Carries out a schedule on a cluster: memory for its messages, a process for each rank, what came of it."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from firmware_models.config import Config, ConfigError, need_messages
from firmware_models.host import NodeDriver
from firmware_models.schedule import ScheduleError
from sim.cluster import Cluster, MemoryTiming, RegisterAccessError, SimulationFaultError, build_library
from sim.cluster.activities import activities
from sim.fabric.topology import Topology, TopologyError, parse_topology
from sim.goal.check import check
from sim.goal.collectives import prepare
from sim.goal.plan import GoalError, Plan
from sim.goal.rank import Memory, Rank
from sim.host import Host
from sim.operation.request import CollectiveRequest, RequestError
from sim.operation.session import CollectiveError, Session
from sim.process import Machine, Process
from sim.process.notice import SHORT_BYTES
from sim.process.process import ProcessError
from sim.report.activity import Activity
from sim.report.progress import ProgressCallback
from sim.selection import AUTO, choose

_ALIGNMENT = 64
_MOST_CYCLES = 1 << 62
_PATIENCE = 1_000_000
"""Cycles for which NICs may be at work without telling a host of anything, beside those of the longest message."""
_MOST_NAMED = 6
_RING_LOG2 = 9


@dataclass(frozen=True, kw_only=True)
class GoalRequest:
    """A schedule, and what it is carried out on.

    Members
    -------
    plan : Plan
        The schedule; rank r is on node r.
    config, preset : Config, str
        The hardware, and what to call it.
    topology : str
        How the nodes are wired.
    host, host_name : Host, str
        What hosts take, and what to call it.
    seed : int
        Of the data of messages.

    Raises
    ------
    GoalError
        On construction, if it cannot end, or does not fit.
    """

    plan: Plan
    config: Config
    preset: str
    topology: str
    host: Host
    host_name: str
    seed: int = 0

    def __post_init__(self) -> None:
        if self.plan.n_ranks < 2:
            raise GoalError(f"{self.plan.name}: num_ranks must be at least 2, for each rank has a node, not "
                            f"{self.plan.n_ranks}")
        try:
            _ = self.wired
        except TopologyError as error:
            raise GoalError(str(error)) from None
        try:
            need_messages(self.config, "hosts to get long messages", get=True)
        except ConfigError as error:
            raise GoalError(str(error)) from None
        check(self.plan, eager_bytes=self.host.mpi.eager_bytes)
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        most = there // 2 // self.plan.n_ranks
        if self.memory_bytes > most:
            raise GoalError(f"{self.plan.name}: messages and collectives of a rank must take at most {most} bytes, for "
                            f"{self.plan.n_ranks} nodes to go into half of this machine's memory, not "
                            f"{self.memory_bytes}")
        for each in self.collectives:
            if each.schedule.groups():
                raise GoalError(f"{self.plan.name}: algorithm of {each.collective} must be one without multicast, not "
                                f"{each.algorithm!r}")

    @cached_property
    def wired(self) -> Topology:
        """The topology."""
        return parse_topology(self.topology, n_nodes=self.plan.n_ranks)

    @cached_property
    def collectives(self) -> list[CollectiveRequest]:
        """Each collective of the schedule, with data of its own."""
        return [self._collective(number, together[0]) for number, together in enumerate(self.plan.rounds)]

    def _collective(self, number: int, operation: int) -> CollectiveRequest:
        called = self.plan.operations[operation]
        words = {"algorithm": AUTO, **called.words}
        if words["algorithm"] == AUTO:
            words["algorithm"] = choose(called.kind, nodes=self.plan.n_ranks, size=called.amount, multicast=False)
        try:
            return CollectiveRequest(
                collective=called.kind, algorithm=words["algorithm"], nodes=self.plan.n_ranks, size=called.amount,
                root=int(words.get("root", 0)), dtype=words.get("dtype", "float64"), op=words.get("op", "sum"),
                topology=self.topology, config=self.config, preset=self.preset, seed=self.seed + number,
            )
        except (RequestError, ScheduleError) as error:
            raise GoalError(f"{self.plan.name}:{called.line}: {error}") from None

    @cached_property
    def memory_bytes(self) -> int:
        """Memory that each node needs."""
        most = 0
        for rank in range(self.plan.n_ranks):
            numbers = [*self.plan.of_kind(rank, "send"), *self.plan.of_kind(rank, "recv")]
            amounts = [self.plan.operations[number].amount for number in (*numbers, *self._eager_to(rank))]
            most = max(most, sum(_aligned(amount) for amount in amounts))
        together = sum(2 * _aligned(self.plan.operations[numbers[0]].amount) for numbers in self.plan.rounds)
        rings = 128 << max(map(self.ring_log2, range(self.plan.n_ranks)))
        return (1 << 18) + most + together + rings

    def _eager_to(self, rank: int) -> list[int]:
        """Sends that come into a slot."""
        return [
            number for number in self.plan.sends_to(rank)
            if SHORT_BYTES < self.plan.operations[number].amount <= self.host.mpi.eager_bytes
        ]

    def ring_log2(self, rank: int) -> int:
        """Of the ring of mini packets: one for each message and its answer."""
        count = len(self.plan.sends_to(rank)) + len(self.plan.of_kind(rank, "send"))
        return min(15, max(4, count.bit_length()))

    def lay_out(self, driver: NodeDriver, rank: int) -> Memory:
        """Places of all messages of a rank, with what it sends."""
        memory = Memory()
        for number in self.plan.of_kind(rank, "send"):
            memory.sends[number] = driver.allocate(_aligned(self.plan.operations[number].amount))
            driver.store(memory.sends[number], self.data(number))
        for number in self.plan.of_kind(rank, "recv"):
            memory.receives[number] = driver.allocate(_aligned(self.plan.operations[number].amount))
        for number in self._eager_to(rank):
            memory.slots[number] = driver.allocate(_aligned(self.plan.operations[number].amount))
        return memory

    def data(self, number: int) -> bytes:
        """The bytes of a send."""
        return np.random.default_rng((self.seed, number)).bytes(self.plan.operations[number].amount)


@dataclass(frozen=True, kw_only=True)
class GoalResult:
    """Result of a schedule.

    Members
    -------
    cycles : int
        Until the last operation of the last rank had ended.
    rank_cycles : list of int
        The same for each rank.
    moments : list of (float, float)
        Cycles in which each operation began and ended, from the beginning of the run.
    messages, bytes, collectives : int
        Messages that were received, their bytes, and collectives.
    mismatched_bits : int
        Bits of messages and of results that are wrong.
    events : list of Activity
        What every node did.
    """

    cycles: int
    rank_cycles: list[int]
    moments: list[tuple[float, float]]
    messages: int
    bytes: int
    collectives: int
    mismatched_bits: int
    events: list[Activity]


def run_goal(request: GoalRequest, *, progress: ProgressCallback | None = None) -> GoalResult:
    """Carries out a schedule.

    Raises
    ------
    GoalError
        If it stands still; those who wait are named.
    CollectiveError
        If hardware does something wrong.
    """
    say = progress or (lambda _stage, _done, _total: None)
    wired = request.wired
    hardware = _hardware(request.config, wired, request.plan.n_ranks)
    library = build_library(hardware, progress=progress)
    say("simulation", 0, 1)
    host = request.host
    timing = MemoryTiming(
        read_latency=host.read_cycles(), beat_cycles=host.beat_cycles(request.config.datapath.flit_bytes),
    )
    try:
        with Cluster(
            library, wired, memory_bytes=request.memory_bytes, memory=timing, seed=request.seed + 1,
        ) as cluster:
            result = _carried_out(request, cluster)
    except (SimulationFaultError, RegisterAccessError, ProcessError) as fault:
        raise CollectiveError(f"{request.plan.name}: {fault}") from None
    say("simulation", 1, 1)
    return result


def _hardware(config: Config, wired: Topology, n_ranks: int) -> Config:
    """With the ports and entries that the topology needs."""
    radix = max(2, *wired.radixes)
    entries = max(config.switch.table_entries, 1 << (n_ranks - 1).bit_length())
    return replace(config, switch=replace(config.switch, radix=radix, table_entries=entries))


def _carried_out(request: GoalRequest, cluster: Cluster) -> GoalResult:
    plan = request.plan
    session = Session(cluster, request.config, nodes=plan.n_ranks)
    ports, bases = [], []
    for rank, driver in enumerate(session.drivers):
        ports.append(driver.open_port(0, dq_log2=_RING_LOG2, cq_log2=_RING_LOG2, rq_log2=request.ring_log2(rank)))
        bases.append(driver.allocate(_ALIGNMENT))
    memories = [request.lay_out(driver, rank) for rank, driver in enumerate(session.drivers)]
    prepared = prepare(ports, request.collectives, request.config)
    for port, base in zip(ports, bases, strict=True):
        port.open_window(base, port.driver.allocate(_ALIGNMENT) + _ALIGNMENT)
    session.configure()
    session.warm_up()
    cluster.log_events(True)
    machine, begin = Machine(cluster, request.host, nodes=plan.n_ranks), cluster.cycle
    ranks = []
    for rank, port in enumerate(ports):
        process = Process(machine.nodes[rank], 0, port, machine, start=begin)
        sequences = {
            together[rank]: each.sequences[rank] for together, each in zip(plan.rounds, prepared, strict=True)
        }
        ranks.append(Rank(plan, rank, process, memories, sequences, request.data))
    longest = max((each.amount for each in plan.operations if each.kind != "calc"), default=0)
    patience = _PATIENCE + 50 * plan.n_ranks * longest // request.config.datapath.flit_bytes
    if machine.run([(each.process, each.body()) for each in ranks], most=_MOST_CYCLES, patience=patience):
        raise _standstill(plan, ranks)
    cluster.log_events(False)
    ends = [math.ceil(max(each.ended.values(), default=begin) - begin) for each in ranks]
    moments = {
        number: (each.began[number] - begin, ended - begin) for each in ranks for number, ended in each.ended.items()
    }
    return GoalResult(
        cycles=max(ends), rank_cycles=ends, moments=[moments[number] for number in range(len(plan.operations))],
        messages=sum(each.n_messages for each in ranks),
        bytes=sum(each.n_bytes for each in ranks), collectives=len(prepared),
        mismatched_bits=sum(each.wrong_bits for each in ranks) + sum(
            each.wrong_bits(session.drivers) for each in prepared
        ),
        events=activities(cluster.events()) + [span for each in ranks for span in each.spans()],
    )


def _standstill(plan: Plan, ranks: Sequence[Rank]) -> GoalError:
    waiting = [operation for each in ranks for operation in each.left]
    named = "; ".join(map(str, waiting[:_MOST_NAMED]))
    more = f"; and {len(waiting) - _MOST_NAMED} more" if len(waiting) > _MOST_NAMED else ""
    return GoalError(
        f"{plan.name}:{waiting[0].line}: every operation must end, and nothing moves any more while these wait: "
        f"{named}{more}"
    )


def _aligned(n_bytes: int) -> int:
    return max(_ALIGNMENT, -(-n_bytes // _ALIGNMENT) * _ALIGNMENT)
