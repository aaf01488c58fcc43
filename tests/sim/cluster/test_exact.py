"""Threads, windows and what is left out change nothing: a hash of all registers of all models, every 1,000 cycles."""

import random
from dataclasses import replace
from typing import Any

import pytest

from firmware_models.config import Config
from firmware_models.schedule.registry import algorithm_names, collective_names
from sim.cluster import Cluster, Execution, SimulationFaultError, build_library
from sim.cluster.cluster import RegisterAccessError
from sim.cluster.lanes import code, tables
from sim.cluster.multicast import set_up_groups
from sim.cluster.stalls import StallProfile, random_stalls
from sim.environment.threads import ThreadsError
from sim.operation.request import CollectiveRequest, RequestError
from sim.operation.session import Session
from testbench.unit_config import UNIT

PLAIN = Execution(threads=1, skip=False, lockstep=True)
CYCLES = 6_000

# Everything is as small as it can be: it has to be compiled.
TINY = UNIT.changed(
    datapath={"data_width": 64, "mtu": 64},
    nic={"n_vps": 2, "n_cous": 1, "n_p2p_tags": 2, "n_windows": 2},
    cou={"n_jobs": 1, "n_contexts": 2, "sequence_depth": 8, "buffer_bytes": 1024, "buffer_mode": "linear",
         "n_peers": 4},
    reduce={"datatypes": ("float64",), "multiply": False},
    switch={"radix": 2, "table_entries": 2, "mft_entries": 16},
)


def history(request: CollectiveRequest, execution: Execution) -> list[Any]:
    """Hashes while an operation is set up and carried out."""
    stalls, rng = request.stalls, random.Random(request.seed)
    with Cluster(
        build_library(request.hardware()), request.wired, memory_bytes=1 << 18, memory=stalls.memory,
        links=stalls.links, seed=request.seed, execution=execution,
    ) as cluster:
        session = Session(cluster, request.config, nodes=request.nodes)
        groups = set_up_groups(
            cluster, session.drivers, request.schedule.groups(), mft_entries=request.config.switch.mft_entries
        )
        jobs = [session.post(request, job, groups=groups) for job in range(request.jobs)]
        hashes = []
        for chunk in range(CYCLES // 1000):
            if chunk == 2:
                session.ring(jobs, not_before=lambda: cluster.cycle + rng.randint(0, stalls.start_skew))
            cluster.run_for(1000)
            hashes.append(cluster.fingerprint())
        return hashes


def drawn(seed: int, config: Config) -> CollectiveRequest:
    """A random operation on a random topology under random stalls."""
    rng = random.Random(f"exact {seed}")
    while True:
        collective = rng.choice(collective_names())
        fields: dict[str, Any] = {
            "algorithm": rng.choice(algorithm_names(collective)),
            "size": 0 if collective == "barrier" else 8 * rng.randint(1, 500),
            "stalls": random_stalls(rng.getrandbits(32)) if rng.random() < 0.7 else StallProfile(),
            "jobs": rng.randint(1, 3),
        }
        fields |= rng.choice(({"nodes": rng.randint(2, 7)}, {"nodes": rng.randint(2, 6), "topology": "fat-tree:4"}))
        try:
            return CollectiveRequest(collective=collective, config=config, preset="small", seed=seed, **fields)
        except RequestError:
            continue  # some do not take every number of nodes


@pytest.mark.parametrize("seed", range(6))
def test_hashes(seed: int, small: Config) -> None:
    request = drawn(seed, small)
    print(f"{request.collective} {request.algorithm}, {request.topology}, {request.stalls}")
    expected = history(request, PLAIN)
    assert len(set(expected)) == len(expected)
    for execution in (Execution(threads=1, skip=False), Execution(threads=1), Execution(threads=3)):
        assert history(request, execution) == expected, execution


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONIC_THREADS", "3")
    assert (Execution().n_threads, Execution(threads=2).n_threads) == (3, 2)
    monkeypatch.setenv("CONIC_THREADS", "many")
    with pytest.raises(ThreadsError, match=r"^CONIC_THREADS must be 1 to 1024, not 'many'$"):
        _ = Execution().n_threads
    with pytest.raises(ValueError, match=r"^threads must be 0 to 1024, not -1$"):
        Execution(threads=-1)


def test_what_rests_is_left_out(small: Config) -> None:
    """Nodes that wait for a packet of the root, which is late, cost nothing."""
    request = CollectiveRequest(
        collective="broadcast", algorithm="binomial", nodes=4, size=8, config=small, preset="small",
    )
    with Cluster(
        build_library(request.hardware()), request.wired, memory_bytes=1 << 18, execution=Execution(threads=1),
    ) as cluster:
        job = Session(cluster, small, nodes=4).post(request, 0)
        assert cluster.run(100_000)
        cluster.run_for(10_000)  # units clear their memories
        begin, evaluated = cluster.cycle, cluster.evaluated
        for node, port in enumerate(job.ports):
            port.watch_completions(1)
            port.ring(not_before=begin + 10_000 * (node == 0))
        assert cluster.run(100_000)
        assert cluster.settled_cycle - begin > 10_000
        assert cluster.evaluated - evaluated < 5 * 700


# Configurations of their own: what is planted must not be taken for another's build.
@pytest.mark.parametrize(("n_groups", "planted"), [
    (5, "what changes is not noted"), pytest.param(7, "time stands still", marks=pytest.mark.long),
    pytest.param(4, "nothing", marks=pytest.mark.long),
])
def test_an_error_in_what_is_left_out_is_caught(
    n_groups: int, planted: str, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A NIC is taken to be at rest although registers change, or time does not go on while it is."""
    if planted == "what changes is not noted":
        monkeypatch.setattr(code._PartCode, "_moved", lambda self, lanes: "")
    if planted == "time stands still":
        monkeypatch.setattr(tables, "_timers", lambda module, number: ([], []))
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=2, size=512, preset="test",
        config=replace(TINY, nic=replace(TINY.nic, n_groups=n_groups)),
    )
    try:
        got = history(request, Execution(threads=1))
    except (SimulationFaultError, RegisterAccessError) as fault:
        got = [str(fault)]
    assert (got == history(request, PLAIN)) == (planted == "nothing")
