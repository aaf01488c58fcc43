"""Operations that do not end well: NICs say BAD_TERMS instead of waiting, and conic says who is to blame.

Then what users of other stacks report as hangs, each as a test.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from firmware_models.golden import mismatched_bits, reference
from firmware_models.host import Data, Job
from firmware_models.schedule import algorithm_names
from sim.cluster import Cluster, build_library
from sim.cluster.stalls import random_stalls
from sim.faults import FaultOutcome, FaultScriptError, parse_faults, run_with_faults
from sim.operation.diagnosis import diagnose, terms_of
from sim.operation.renewal import renew
from sim.operation.request import CollectiveRequest
from sim.operation.session import CollectiveError, Session
from testbench.seed import drawn

NODES, WATCHDOG = 4, 3_000


def request_of(small: Config, collective: str, algorithm: str, **terms: object) -> CollectiveRequest:
    """On four nodes."""
    return CollectiveRequest(**{  # type: ignore[arg-type]
        "collective": collective, "algorithm": algorithm, "nodes": NODES, "size": 1024, "config": small,
        "preset": "small", **terms,
    })


def outcome(request: CollectiveRequest, *events: str) -> FaultOutcome:
    """Under a script."""
    found = run_with_faults(request, parse_faults(f"{{watchdog: {WATCHDOG}, events: [{', '.join(events)}]}}"))
    assert found.is_accounted_for, found
    return found


@pytest.mark.parametrize(("differs", "says"), [
    ("size: 2048", "rank 2 posted length 2048, not 1024"),
    ("op: max", "rank 2 posted operator max, not sum"),
    ("dtype: int64", "rank 2 posted datatype int64, not float64"),
    ("algorithm: ring", "rank 2 posted algorithm ring, not recursive-doubling"),
])
def test_one_rank_posts_something_else(small: Config, differs: str, says: str) -> None:
    """A node that takes a packet of it, or waits for another one, ends in BAD_TERMS; the others hear of that. Nobody is
    OK."""
    request = request_of(small, "allreduce", "recursive-doubling", jobs=2)
    found = outcome(request, f"{{kind: disagrees, node: 2, {differs}}}")
    assert "BAD_TERMS" in found.statuses[0].values()
    assert set(found.statuses[0].values()) <= {"BAD_TERMS", "PEER_ERROR", "TIMEOUT"}
    assert set(found.statuses[1].values()) == {"OK"}, "the other job"
    assert found.diagnosis[0][0].startswith(says)
    assert any("BAD_TERMS, rank 2 sent a packet of " in line for line in found.diagnosis[0])
    assert found.diagnosis[1] == []
    assert found.again == "as new"


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_another_root(small: Config, collective: str) -> None:
    """Of a broadcast two think that they are the root: they are done, and whoever waits for another packet is told."""
    found = outcome(request_of(small, collective, "binomial"), "{kind: disagrees, node: 1, root: 1}")
    assert found.diagnosis[0][0] == "rank 1 posted root 1, not 0"
    assert {"BAD_TERMS", "TIMEOUT"} & set(found.statuses[0].values())
    assert found.again == "as new"


def test_a_rank_that_never_comes(small: Config) -> None:
    """It is named, and so are the packets that are missing."""
    found = outcome(request_of(small, "allreduce", "recursive-doubling"), "{kind: absent, node: 3}")
    lines = found.diagnosis[0]
    assert lines[0] == "rank 3 never posted"
    assert "rank 2: TIMEOUT, waited for packet 0 from rank 3 (pulse 0)" in lines
    assert "rank 1: TIMEOUT, waited for packet 1 from rank 3 (pulse 0)" in lines


def test_a_script_that_says_nothing_or_too_much(small: Config) -> None:
    request = request_of(small, "allreduce", "ring")
    with pytest.raises(FaultScriptError, match=r"^events.0 must have one of algorithm, root, size, dtype and op, not "):
        outcome(request, "{kind: disagrees, node: 1}")
    with pytest.raises(FaultScriptError, match=r"^events.0: algorithm of allreduce must be one of "):
        outcome(request, "{kind: disagrees, node: 1, algorithm: star}")


def test_all_is_well(small: Config) -> None:
    assert outcome(request_of(small, "allreduce", "ring")).diagnosis == [[]]


def test_terms(small: Config) -> None:
    """A checksum differs if one term does; an operator counts only where something is reduced."""
    request = request_of(small, "allreduce", "rabenseifner")
    changes: tuple[dict[str, object], ...] = (
        {}, {"size": 2048}, {"op": "max"}, {"dtype": "int64"}, {"algorithm": "ring"}, {"pulse_bytes": 64},
    )
    sums = {terms_of(replace(request, **change)).checksum for change in changes}  # type: ignore[arg-type]
    assert len(sums) == len(changes)
    assert 0 not in sums
    broadcast = request_of(small, "broadcast", "binomial")
    assert terms_of(broadcast) == terms_of(replace(broadcast, op="max"))
    assert terms_of(broadcast) != terms_of(replace(broadcast, root=1))


def test_what_details_say(small: Config) -> None:
    """Of completions that never were."""
    from firmware_models.abi.encoding import CplKind
    from firmware_models.host import Completion

    request = request_of(small, "allreduce", "recursive-doubling")
    bad = terms_of(replace(request, op="max")).checksum

    def said(status: Status, detail: int, requests: list[CollectiveRequest]) -> str:
        completion = Completion(
            status=status, kind=CplKind.COLLECTIVE, job_id=0, vp=0, bytes=1024, tag=0, detail=detail, timestamp=1,
        )
        return diagnose(requests, {0: completion})[-1]

    usual, odd = [request] * 4, [request, replace(request, op="max"), request, request]
    assert said(Status.TIMEOUT, 1 | 7 << 16 | 1 << 33, usual) == (
        "rank 0: TIMEOUT, waited for packet 1 from rank 2 (pulse 7)"
    )
    assert said(Status.TIMEOUT, 1 | 7 << 16, usual) == (
        "rank 0: TIMEOUT, waited for a credit to send, or for its host's memory (pulse 7, 1 packets consumed)"
    )
    assert said(Status.BAD_TERMS, 1 | bad << 24 | 1 << 40 | 3 << 48, odd) == (
        "rank 0: BAD_TERMS, rank 1 sent a packet of operator max (pulse 3) instead of the packet that it waits for"
    )
    assert said(Status.BAD_TERMS, 2 | 5 << 24, usual) == (
        "rank 0: BAD_TERMS, rank 2 sent a packet of an operation that nobody posted (pulse 0) in its place"
    )
    assert said(Status.PEER_ERROR, 3 | int(Status.MEMORY_ERROR) << 24 | 1 << 32 | 2 << 48, usual) == (
        "rank 0: PEER_ERROR, rank 3 had MEMORY_ERROR (packet 1 of pulse 2)"
    )
    assert said(Status.LENGTH_MISMATCH, 1 | 2 << 16 | 24 << 32, usual) == (
        "rank 0: LENGTH_MISMATCH, packet 1 of pulse 2 has 24 bytes"
    )
    assert said(Status.BAD_ADDRESS, 0x40, usual) == "rank 0: BAD_ADDRESS, detail 0x40"


# What users of other stacks report as hangs.


class Ranks:
    """Ports of all nodes of a cluster, of which the first so many make a job at a time."""

    def __init__(self, cluster: Cluster, small: Config, seed: int):
        self.cluster, self.config = cluster, small
        self.session = Session(cluster, small, nodes=8)
        self.numbers = np.random.default_rng(seed)
        self.n_jobs = 0
        for driver in self.session.drivers:
            driver.set_watchdog(20_000)
        self.session.configure()
        self.session.warm_up()

    def job(self, nodes: int, room: int) -> "OneJob":
        """Of the first nodes; its messages have at most `room` bytes."""
        self.n_jobs += 1
        return OneJob(self, self.n_jobs, nodes, room)


class OneJob:
    """A job, and what its operations should leave."""

    def __init__(self, ranks: Ranks, number: int, nodes: int, room: int):
        self.ranks, self.nodes = ranks, nodes
        drivers = ranks.session.drivers[:nodes]
        self.ports = [driver.open_port(number % 16) for driver in drivers]
        self.job = Job(self.ports, job_id=number, config=ranks.config)
        self.data, self.room = [], room
        for driver, port in zip(drivers, self.ports, strict=True):
            local = driver.allocate(4 * room + 64)
            port.open_window(local, local + 4 * room + 64)
            self.data.append(local)
        assert ranks.cluster.run(1_000_000)
        self.expected: list[tuple[CollectiveRequest, np.ndarray, int]] = []

    def post(self, collective: str, algorithm: str, size: int, **terms: object) -> None:
        """Queues an operation with data of its own; its doorbell is not rung."""
        request = CollectiveRequest(**{  # type: ignore[arg-type]
            "collective": collective, "algorithm": algorithm, "nodes": self.nodes, "size": size,
            "config": self.ranks.config, "preset": "small", "seed": int(self.ranks.numbers.integers(1 << 31)), **terms,
        })
        inputs, part = request.data(0), len(self.expected) % 2 * 2 * self.room
        data = []
        for rank, port in enumerate(self.ports):
            local = self.data[rank] + part
            port.driver.store(local, inputs[rank].tobytes())
            port.driver.store(local + self.room, bytes(size))
            data.append(Data(local=local, result=local + self.room, operand=inputs[rank].tobytes()))
        self.job.post(request.schedule, data, length=size, datatype=request.datatype, operator=request.operator)
        self.expected.append((request, inputs, part))

    def ring(self) -> None:
        """Every rank rings once, for all that is queued, some late."""
        for port in self.ports:
            port.watch_completions(len(self.expected))
            port.ring(not_before=self.ranks.cluster.cycle + int(self.ranks.numbers.integers(400)))

    def end(self) -> None:
        """All end in OK, with the right bits."""
        assert self.ranks.cluster.run(400_000), self.ranks.session.hang("it", [])
        for request, inputs, part in self.expected:
            for rank, port in enumerate(self.ports):
                completion = port.poll()
                assert completion is not None
                assert completion.status is Status.OK, f"rank {rank}: {completion}"
            golden = reference(request.collective, request.algorithm, inputs, root=request.root,
                               datatype=request.datatype, operator=request.operator)
            for rank in range(self.nodes):
                if golden.receives[rank]:
                    left = self.ports[rank].driver.load(self.data[rank] + part + self.room, request.size)
                    found = np.frombuffer(left, inputs.dtype)
                    assert mismatched_bits(found, golden.results[rank]) == 0, f"{request.collective}, rank {rank}"
        self.expected = []

    def close(self) -> None:
        """The ports may be used by others."""
        assert all(port.poll() is None for port in self.ports)


@pytest.fixture(scope="module")
def library(small: Config) -> Path:
    return build_library(request_of(small, "allreduce", "ring", nodes=8).hardware())


@pytest.fixture
def ranks(small: Config, library: Path) -> Iterator[Ranks]:
    """Eight nodes with random delays."""
    seed = drawn()
    request = request_of(small, "allreduce", "ring", nodes=8)
    with Cluster(
        library, request.wired, memory_bytes=1 << 22, memory=random_stalls(seed).memory, seed=seed,
    ) as cluster:
        yield Ranks(cluster, small, seed)


@pytest.mark.parametrize("collective", ["reduce", "allreduce"])
@pytest.mark.parametrize("counts", [(3, 5), pytest.param(range(2, 9), marks=pytest.mark.long)], ids=["some", "all"])
def test_reductions_that_stall_at_certain_sizes_and_rank_counts(
    ranks: Ranks, collective: str, counts: Sequence[int]
) -> None:
    """Around flits, mini packets, fragments and pulses, with 2 to 8 ranks, every algorithm in turn."""
    mtu = ranks.config.datapath.mtu
    names = [name for name in algorithm_names(collective) if "multicast" not in name]
    sizes = [8, 16, 56, 64, 72, mtu - 8, mtu, mtu + 8, 3 * mtu + 8]
    for nodes in counts:
        job = ranks.job(nodes, 4 * mtu)
        for turn, size in enumerate(sizes):
            job.post(collective, names[(turn + nodes) % len(names)], size)
            job.ring()
            job.end()
        job.close()


def test_a_second_reduce_that_is_wrong(ranks: Ranks) -> None:
    """Leaves are done as soon as they have sent, and begin the next one while the root is busy with the first."""
    job = ranks.job(8, 2048)
    for _ in range(6):
        job.post("reduce", "binomial", 2048)
        job.post("reduce", "binomial", 1032, op="max")
        job.ring()
        job.end()


def test_an_operation_that_hangs_after_an_alltoall(ranks: Ranks) -> None:
    job = ranks.job(8, 1024)
    for _ in range(3):
        job.post("alltoall", algorithm_names("alltoall")[0], 1024)
        job.post("allreduce", "recursive-doubling", 1024)
        job.ring()
        job.end()


def test_triggered_reduce_then_allreduce_that_deadlock(ranks: Ranks) -> None:
    """Both are queued before the first doorbell, on two jobs that have their ranks in common."""
    jobs = [ranks.job(8, 2048), ranks.job(7, 2048)]
    for job in jobs:
        job.post("reduce", "binomial", 2048)
        job.post("allreduce", "recursive-doubling", 2048)
    for job in reversed(jobs):
        job.ring()
    for job in jobs:
        job.end()


@pytest.mark.parametrize("delay", [400, *(pytest.param(cycle, marks=pytest.mark.long) for cycle in (150, 900, 1500))])
def test_an_operation_freed_while_packets_are_on_their_way(small: Config, library: Path, delay: int) -> None:
    """One node closes the job in the middle of it; all hear of that, and the job works as new."""
    request = request_of(small, "allreduce", "ring", nodes=8, size=4096)
    with Cluster(library, request.wired, memory_bytes=1 << 20, seed=1) as cluster:
        session = Session(cluster, small, nodes=8)
        for driver in session.drivers:
            driver.set_watchdog(WATCHDOG)
        job = session.post(request, 0)
        session.configure()
        session.warm_up()
        session.ring([job])
        cluster.run_for(delay)
        session.drivers[3].close_job(0)
        assert session.wait(20 * WATCHDOG)
        with pytest.raises(CollectiveError, match="rank 3: JOB_CLOSED"):
            list(session.completions([job]))
        renew(session, [0], most=40_000)
        again = session.post(request, 0)
        session.configure()
        session.ring([again])
        assert session.wait(20 * WATCHDOG)
        assert len(list(session.completions([again]))) == 8
        assert session.compare(request, [again])[1] == 0
