"""Jobs that are closed at any moment, at some nodes first, beside others that are not: all work as new afterwards."""

import random

import pytest

from firmware_models.config import Config
from sim.cluster import Cluster, build_library
from sim.cluster.stalls import random_stalls
from sim.operation.renewal import renew
from sim.operation.request import CollectiveRequest
from sim.operation.session import CollectiveError, Posted, Session
from testbench.seed import drawn

NODES, JOBS = 4, 4
WATCHDOG = 20_000
MOST = 40_000
"""Cycles that closing takes at most: every slot of a packet buffer is looked at some times, over slow links."""


@pytest.fixture
def seed() -> int:
    """Another one in each run."""
    return drawn()


def statuses(posted: Posted) -> list[str | None]:
    """Statuses of the completions of a job."""
    return [None if (entry := port.poll()) is None else entry.status.name for port in posted.ports]


def round_of(session: Session, request: CollectiveRequest, numbers: random.Random) -> dict[str, int]:
    """One round: jobs begin, some are closed at some moment at one node after the other; all jobs are renewed, and
    carry out an operation each."""
    cluster = session.transport
    jobs = [session.post(request, job) for job in range(JOBS)]
    session.configure()
    doomed = [job for job in range(JOBS) if numbers.random() < 0.5]
    absent = {(job, numbers.randrange(NODES)) for job in doomed if numbers.random() < 0.5}
    for number, job in enumerate(jobs):
        for node, port in enumerate(job.ports):
            if (number, node) not in absent:
                port.watch_completions(1)
                port.ring(not_before=cluster.cycle + numbers.randrange(300))
    late = numbers.randrange(3_000)
    cluster.run_for(numbers.choice((1, late, late, 8_000)))
    for driver in numbers.sample(session.drivers, NODES):
        for job in doomed:
            driver.close_job(job)
        cluster.run_for(numbers.randrange(1, 400))
    assert cluster.run(40 * WATCHDOG), "an operation without end"
    ends = {"OK": 0, "TIMEOUT": 0, "JOB_CLOSED": 0, None: 0}
    for number, job in enumerate(jobs):
        found = statuses(job)
        for status in found:
            ends[status] += 1
        assert number in doomed or found == ["OK"] * NODES, "a job that nobody closed"
        assert all((status is None) == ((number, node) in absent) for node, status in enumerate(found))
    untouched = [job for number, job in enumerate(jobs) if number not in doomed]
    assert session.compare(request, untouched)[1] == 0
    renew(session, doomed, most=MOST)
    again = [session.post(request, job) for job in range(JOBS)]
    session.configure()
    session.ring(again, not_before=lambda: cluster.cycle)
    assert cluster.run(40 * WATCHDOG), "an operation without end after its job was opened"
    assert [statuses(job) for job in again] == [["OK"] * NODES] * JOBS
    assert session.compare(request, again)[1] == 0
    # The last credits are on their way still.
    end = cluster.cycle + MOST
    while left := [
        (driver.node, job, state) for driver in session.drivers for job in range(JOBS)
        if not (state := driver.job_state(job)).at_rest or state.closed
    ]:
        assert cluster.cycle < end, left
        cluster.run_for(100)
    return {str(status): count for status, count in ends.items()}


def rounds(config: Config, collective: str, algorithm: str, size: int, count: int, seed: int) -> dict[str, int]:
    """Some rounds on one cluster; how its operations ended."""
    numbers = random.Random(seed)
    request = CollectiveRequest(
        collective=collective, algorithm=algorithm, nodes=NODES, size=size, jobs=JOBS, config=config, preset="small",
        seed=seed, stalls=random_stalls(seed),
    )
    total: dict[str, int] = {}
    with Cluster(
        build_library(request.hardware()), request.wired, memory_bytes=1 << 23, memory=request.stalls.memory,
        links=request.stalls.links, seed=seed + 1,
    ) as cluster:
        session = Session(cluster, config, nodes=NODES)
        for driver in session.drivers:
            driver.set_watchdog(WATCHDOG)
        session.configure()
        session.warm_up()
        for _ in range(count):
            for status, found in round_of(session, request, numbers).items():
                total[status] = total.get(status, 0) + found
        total["dropped"] = sum(driver.read_counter("rx_closed") for driver in session.drivers)
    return total


def test_jobs_work_as_new(small: Config, seed: int) -> None:
    """Half of four jobs are closed while they run, or wait for somebody who does not come."""
    found = rounds(small, "allreduce", "recursive-doubling", 4096, 6, seed)
    assert min(found["JOB_CLOSED"], found["dropped"], found["OK"]) > 0, found


@pytest.mark.long
@pytest.mark.parametrize("changes", [
    {"cou": {"buffer_mode": "linear"}}, {"cou": {"lending": False}}, {"cou": {"ecc": True}}, {"nic": {"n_cous": 4}},
], ids=["linear", "without shared credits", "ecc", "four units"])
@pytest.mark.parametrize(("collective", "algorithm"), [
    ("allreduce", "ring"), ("allreduce", "rabenseifner"), ("broadcast", "binomial"), ("reduce", "binomial"),
    ("broadcast", "double-binary-tree"), ("barrier", "dissemination"),
])
def test_jobs_of_all_kinds(small: Config, seed: int, changes: dict, collective: str, algorithm: str) -> None:
    size = 0 if collective == "barrier" else 3000 + seed % 5000 // 8 * 8
    assert rounds(small.changed(**changes), collective, algorithm, size, 25, seed)["OK"]


def test_what_is_left_is_named(small: Config) -> None:
    """A node that is not closed keeps what others wait for."""
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=NODES, size=256, jobs=1, config=small,
        preset="small",
    )
    with Cluster(build_library(request.hardware()), request.wired, memory_bytes=1 << 20, seed=1) as cluster:
        session = Session(cluster, small, nodes=NODES)
        session.drivers[0].set_watchdog(WATCHDOG)
        job = session.post(request, 0)
        session.configure()
        session.warm_up()
        job.ports[0].watch_completions(1)
        job.ports[0].ring(not_before=cluster.cycle)
        assert cluster.run(10 * WATCHDOG)
        with pytest.raises(CollectiveError, match=r"^node 0, job 0: credits out, 0 packets left after 1000 cycles$"):
            renew(session, [0], most=1000, drivers=session.drivers[:1])
