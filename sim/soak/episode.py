"""One episode of a soak: a cluster from reset, with delays of its own, and some dozens of operations on it."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from firmware_models.abi.encoding import CplKind, Status
from firmware_models.abi.formats import JOB_BITS
from firmware_models.config import Config
from firmware_models.host import Port
from firmware_models.schedule import ScheduleError
from sim.cluster import Cluster, RegisterAccessError, SimulationFaultError, Waves
from sim.cluster.multicast import set_up_groups
from sim.cluster.stalls import StallProfile, random_stalls
from sim.fabric.topology import parse_topology
from sim.operation.session import CollectiveError, Session
from sim.soak.community import Community, Posted
from sim.soak.draw import Dealer, Draw
from sim.soak.messages import PUT_BYTES, Messages

DEPTH = 4
"""Most operations of a job that are posted one behind the other, without waiting."""
SOURCE_BYTES = 1024
_WATCHDOG = 300_000
_BUDGET = 1_000_000
_MOST_DRAWS = 200
"""Operations drawn before none counts as fitting the hardware."""
_CLEAN = ("rx_malformed", "rx_wrong_node", "rx_unknown", "rx_duplicates", "completion_errors")
"""Counters that stay 0 in a soak."""


class SoakError(RuntimeError):
    """Something went wrong; the message says what, at which operations, and how to see it again."""


@dataclass
class Coverage:
    """Counts of the work done."""

    operations: int = 0
    cycles: int = 0
    rounds: int = 0
    behind: int = 0
    """Operations that were posted while the one before of their job was under way."""
    lagging: int = 0
    """Rounds in which one node came whole operations late."""
    sends: int = 0
    puts: int = 0
    in_place: int = 0
    mini: int = 0
    """Operations whose operands travel in their descriptors."""
    algorithms: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    boundaries: Counter[str] = field(default_factory=Counter)
    ranks: Counter[int] = field(default_factory=Counter)
    """Operations by their number of ranks."""
    jobs: set[int] = field(default_factory=set)

    def add(self, other: "Coverage") -> None:
        """Counts what `other` has counted."""
        for name, value in vars(other).items():
            mine = getattr(self, name)
            if isinstance(value, int):
                setattr(self, name, mine + value)
            else:
                mine.update(value)


class Episode:
    """Runs operations of random jobs on a fresh cluster; everything follows from `seed` and `number`.

    Parameters
    ----------
    library : Path
        Of the cluster.
    config : Config
        What it was built from.
    nodes : int
        Nodes, on one switch.
    seed, number : int
        Of the soak, and of the episode in it.
    waves : Waves, optional
        Waveform of everything.
    """

    def __init__(
        self, library: Path, config: Config, *, nodes: int, seed: int, number: int, waves: Waves | None = None
    ):
        self._config, self._nodes, self._number = config, nodes, number
        self._rng = rng = random.Random(f"soak {seed} episode {number}")
        self.stalls: StallProfile = random_stalls(rng.getrandbits(32))
        self.coverage = Coverage()
        self._cluster = Cluster(
            library, parse_topology(f"star:{nodes}"), memory_bytes=1 << 21, memory=self.stalls.memory,
            links=self.stalls.links, seed=rng.getrandbits(31), waves=waves, check_boundary=rng.random() < 0.1,
        )
        self._dealer = Dealer(rng, config)
        self._tag = 0

    def run(self, operations: int) -> Iterator[int]:
        """Carries out `operations`, round by round; yields how many are done.

        Raises
        ------
        SoakError
            If one does not end, or not well, or with other bits than the golden model's.
        """
        with self._cluster:
            self._set_up()
            done = 0
            while done < operations:
                done += self._round(operations - done)
                yield done
            self._check_idle()
            self.coverage.cycles = self._cluster.cycle

    def _set_up(self) -> None:
        rng, config, cluster = self._rng, self._config, self._cluster
        self._session = session = Session(cluster, config, nodes=self._nodes)
        self._drivers = session.drivers
        for driver in self._drivers:
            driver.set_watchdog(_WATCHDOG)
        # As many jobs of every unit as it can have in progress, with arbitrary JobIDs and VPs.
        units = config.nic.n_cous
        ids = [unit + units * index for unit in range(units)
               for index in rng.sample(range((1 << JOB_BITS) // units), config.cou.n_jobs)]
        ids = rng.sample(ids, min(len(ids), config.nic.n_vps, rng.choice((1, 2, 4, 8))))
        most = min(self._nodes, config.cou.n_peers + 1)
        self._communities = [
            Community(
                job_id=job_id, vp=vp, nodes=rng.sample(range(self._nodes), rng.randint(2, most)),
                drivers=self._drivers, depth=DEPTH, put_bytes=PUT_BYTES + SOURCE_BYTES,
            )
            for job_id, vp in zip(ids, rng.sample(range(config.nic.n_vps), len(ids)), strict=True)
        ]
        for community in self._communities:
            for port, base in zip(community.ports, community.put_bases, strict=True):
                port.driver.store(base + PUT_BYTES, rng.randbytes(SOURCE_BYTES))
        members = sorted({tuple(sorted(community.nodes)) for community in self._communities})
        groups = set_up_groups(cluster, self._drivers, members, mft_entries=config.switch.mft_entries)
        for community in self._communities:
            community.join(groups, config)
        self._messages = Messages(self._communities, rng)
        try:
            session.configure()
        except CollectiveError as error:
            raise self._error(str(error), []) from None

    def _round(self, most: int) -> int:
        """Some operations of some jobs, all posted before any has ended."""
        rng = self._rng
        posted: list[tuple[Community, Posted]] = []
        work: dict[int, list[list[tuple[Port, bytes]]]] = {node: [] for node in range(self._nodes)}
        expected: dict[int, list[tuple[Port, dict[int, CplKind]]]] = {node: [] for node in range(self._nodes)}
        busy = rng.sample(self._communities, rng.randint(1, len(self._communities)))
        for community in busy:
            depth = min(rng.randint(1, DEPTH), most - len(posted))
            operations = [self._prepare(community, slot) for slot in range(depth)]
            posted += [(community, operation) for operation in operations]
            self.coverage.behind += max(0, depth - 1)
            for rank, (node, port) in enumerate(zip(community.nodes, community.ports, strict=True)):
                queue, wanted = [], {}
                for operation in operations:
                    queue.append((port, operation.descriptors[rank]))
                    wanted[operation.tag] = CplKind.COLLECTIVE
                    if self._config.nic.p2p and rng.random() < 0.15:
                        message = self._messages.post(port, self._next_tag())
                        queue.append((port, message.descriptor))
                        wanted[message.tag] = CplKind.PUT if message.is_put else CplKind.SEND
                        self.coverage.puts += message.is_put
                        self.coverage.sends += not message.is_put
                work[node].append(queue)
                expected[node].append((port, wanted))
        lagging = rng.randrange(self._nodes) if rng.random() < 0.5 else None
        self.coverage.lagging += lagging is not None
        for node, queues in work.items():
            self._ring(queues, lag=rng.choice((2_000, 10_000, 30_000)) if node == lagging else 0)
        for ports in expected.values():
            for port, wanted in ports:
                port.watch_completions(len(wanted))
        names = [f"job {community.job_id} on nodes {community.nodes}: {operation.draw}"
                 for community, operation in posted]
        self._wait(names)
        self._check_completions(expected, names)
        wrong = [f"job {community.job_id}, {operation.draw}: {line}"
                 for community, operation in posted for line in community.compare(operation)]
        wrong += self._messages.check()
        if wrong:
            raise self._error("\n".join(wrong), names)
        self.coverage.rounds += 1
        return len(posted)

    def _next_tag(self) -> int:
        self._tag += 1
        return self._tag

    def _prepare(self, community: Community, slot: int) -> Posted:
        draw, operation = self._fitting(community, slot)
        request, coverage = draw.request, self.coverage
        coverage.operations += 1
        coverage.algorithms[f"{request.collective} {request.algorithm}"] += 1
        coverage.operators[f"{request.dtype} {request.op}" if draw.reduces else f"{request.dtype} moved"] += 1
        coverage.boundaries[draw.boundary] += 1
        coverage.ranks[request.nodes] += 1
        coverage.in_place += draw.in_place
        coverage.mini += draw.is_mini
        coverage.jobs.add(community.job_id)
        return operation

    def _fitting(self, community: Community, slot: int) -> tuple[Draw, Posted]:
        """An operation that the hardware has room for: peers of the job, descriptors, blocks, groups."""
        refusal: ScheduleError | None = None
        for _ in range(_MOST_DRAWS):
            try:
                draw = self._dealer.deal(len(community.nodes))
                return draw, community.prepare(draw, slot=slot, tag=self._next_tag(), rng=self._rng)
            except ScheduleError as error:
                refusal = error
        raise self._error(f"no collective of {len(community.nodes)} ranks fits this hardware: {refusal}", [])

    def _ring(self, queues: list[list[tuple[Port, bytes]]], *, lag: int) -> None:
        """Posts what one host has to post: queues mixed at random, doorbells for one or more operations, with pauses.

        A host that lags does so before some operation, its first one or another.
        """
        rng = self._rng
        at = self._cluster.cycle
        left = [list(queue) for queue in queues if queue]
        late_from = rng.randrange(sum(map(len, left)) or 1)
        unrung: list[Port] = []
        number = 0
        while left:
            queue = rng.choice(left)
            port, descriptors = queue.pop(0)
            left = [queue for queue in left if queue]
            at += rng.choice((0, 0, 10, 200)) + (lag if number == late_from else 0)
            number += 1
            port.post(descriptors)
            unrung.append(port)
            if rng.random() < 0.6 or not left:
                for waiting in dict.fromkeys(unrung):
                    waiting.ring(not_before=at)
                unrung = []

    def _wait(self, names: list[str]) -> None:
        try:
            ended = self._session.wait(_BUDGET)
        except (SimulationFaultError, RegisterAccessError) as fault:
            raise self._error(str(fault), names, broken=True) from None
        if not ended:
            raise self._error(f"some operation did not end by cycle {self._cluster.cycle}", names)

    def _check_completions(
        self, expected: dict[int, list[tuple[Port, dict[int, CplKind]]]], names: list[str]
    ) -> None:
        """One completion for every descriptor or sequence, and each of them OK."""
        wrong = []
        for node, ports in expected.items():
            for port, wanted in ports:
                missing = dict(wanted)
                while (completion := port.poll()) is not None:
                    kind = missing.pop(completion.tag, None)
                    if kind is not completion.kind or completion.status is not Status.OK:
                        wrong.append(
                            f"node {node} VP {port.vp}: {completion.kind.name} {completion.tag} ended in "
                            f"{completion.status.name}, detail {completion.detail:#x}"
                        )
                wrong += [f"node {node} VP {port.vp}: no completion of {tag}" for tag in missing]
        if wrong:
            raise self._error("\n".join(wrong), names)

    def _check_idle(self) -> None:
        """Nothing is left in the NICs, and none has counted an error."""
        # Credits of the last packets are still on their way when the last completion is there.
        self._cluster.run_for(2_000 + 20 * max(self.stalls.links.jitter, self.stalls.memory.jitter))
        wrong = []
        for driver in self._drivers:
            wrong += [f"node {driver.node}: {name} is {count}" for name in _CLEAN
                      if (count := driver.read_counter(name))]
            wrong += [f"node {driver.node}: packets left in unit {unit}"
                      for unit in range(self._config.nic.n_cous) if driver.read_buffer(unit).now]
        if wrong:
            raise self._error("\n".join(wrong), [])

    def _error(self, what: str, names: list[str], *, broken: bool = False) -> SoakError:
        """The error, with what every NIC has counted, unless the cluster is broken and cannot say."""
        counters = [] if broken else self._session.counters()
        return SoakError("\n".join([
            f"episode {self._number}, after {self.coverage.operations} operations: {what}",
            *(f"  in this round: {name}" for name in names), *counters,
        ]))
