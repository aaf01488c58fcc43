"""Both engines do the same, register by register and cycle by cycle; registers of the lanes of words by their names."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from firmware_models.config import Config
from firmware_models.schedule.registry import algorithm_names, collective_names
from sim.cluster import (
    Cluster,
    Engine,
    Execution,
    LinkTiming,
    MemoryTiming,
    build_library,
)
from sim.multicast import set_up_groups
from sim.request import CollectiveRequest, RequestError
from sim.session import Session
from sim.stalls import StallProfile, random_stalls
from sim.topology import parse_topology
from testbench.unit_config import UNIT

MEMORY_BYTES = 1 << 16
BEFORE_DOORBELLS = 700
"""Cycles in which NICs take their configuration, and units clear their memories."""

# Nearly all is as small as it can be: Verilator's model has to be compiled.
TINY = UNIT.changed(
    datapath={"data_width": 64, "mtu": 64},
    nic={"n_vps": 2, "n_cous": 1, "n_p2p_tags": 2, "n_windows": 1, "p2p": False, "get": False, "max_burst_beats": 2,
         "read_ahead_beats": 4, "reads_under_way": 2, "fetch_batch": 2, "n_groups": 1},
    cou={"n_jobs": 1, "n_contexts": 1, "sequence_depth": 8, "buffer_bytes": 1024, "buffer_mode": "linear",
         "n_peers": 2, "n_blocks": 2, "intermediate_bytes": 64, "lending": False},
    reduce={"datatypes": ("int64",), "multiply": False, "add_cycles": 5},
    link={"buffer_flits": 16, "replay_flits": 16},
    switch={"radix": 2, "table_entries": 2, "mft_entries": 16, "match_iterations": 1, "readers": 1},
)
"""Two nodes and sums of integers."""
SMALL = UNIT.changed(
    datapath={"data_width": 64, "mtu": 64},
    nic={"n_vps": 4, "n_cous": 1, "n_p2p_tags": 2, "n_windows": 2},
    cou={"n_jobs": 2, "n_contexts": 4, "sequence_depth": 16, "buffer_bytes": 4096, "buffer_mode": "linear",
         "n_peers": 4},
    reduce={"datatypes": ("int64", "float64"), "multiply": False},
    link={"buffer_flits": 32, "replay_flits": 32},
    switch={"radix": 4, "table_entries": 4, "mft_entries": 16},
)
DATATYPES = ("int64", "float64")
"""Of the operations."""


@dataclass
class Counts:
    """How much was compared, over all cycles: registers and memories by their names, and bits of them."""

    runs: int = 0
    cycles: int = 0
    names: int = 0
    values: int = 0
    bits: int = 0

    def add(self, other: "Counts") -> None:
        self.runs, self.cycles, self.names = self.runs + 1, self.cycles + other.cycles, other.names
        self.values, self.bits = self.values + other.values, self.bits + other.bits

    def __str__(self) -> str:
        return (
            f"{self.runs} runs, {self.cycles:,} cycles, {self.names:,} registers and memories (the last run), "
            f"{self.values:,} values, {self.bits:,} bits compared"
        )


Disturbance = Callable[[Cluster, int], None]
"""Is called with the cluster and the cycles until the doorbells ring, once."""


class Pair:
    """The same cluster twice: in the lanes of words, and evaluated by Verilator."""

    def __init__(self, request: CollectiveRequest):
        self.request = request
        self.clusters = [
            Cluster(
                build_library(request.hardware(), engine=engine), request.wired, memory_bytes=MEMORY_BYTES,
                memory=request.stalls.memory, links=request.stalls.links, seed=request.seed,
                execution=Execution(threads=1), random_start=False,
            ) for engine in (Engine.LANES, Engine.VERILATOR)
        ]
        nics = [(node, False) for node in range(request.wired.n_nodes)]
        self.stations = [*nics, *((switch, True) for switch in range(len(request.wired.radixes)))]
        self.names = {is_switch: self._common(is_switch) for is_switch in (False, True)}
        self.counts = Counts(names=sum(len(self.names[is_switch]) for _, is_switch in self.stations))
        self._bits = sum(self._select(*station) for station in self.stations)

    def _common(self, is_switch: bool) -> list[str]:
        """Names that both engines have, of what both keep. Verilator does not keep up to date the ports of a module that
        is shared where nothing around makes use of them; the registers behind them stand in its `core`. And it numbers
        otherwise what has no name of its own.
        """
        one, other = (set(cluster.registers(0, is_switch=is_switch)) for cluster in self.clusters)
        around = {name[:at.start()] for name in one for at in re.finditer(r"\.core\.", name)}
        return [name for name in sorted(one & other) if "$" not in name and name.rpartition(".")[0] not in around]

    def _select(self, number: int, is_switch: bool) -> int:
        n_bits = 0
        for name in self.names[is_switch]:
            known = self.clusters[0].known_bits(number, name, is_switch=is_switch)
            n_bits += int(np.bitwise_count(known).sum())
            for cluster in self.clusters:
                cluster.select(number, name, known, is_switch=is_switch)
        return n_bits

    def compare(self) -> None:
        """All registers; names those that differ."""
        one, other = self.clusters
        assert one.cycle == other.cycle
        for number, is_switch in self.stations:
            if one.selected_hash(number, is_switch=is_switch) != other.selected_hash(number, is_switch=is_switch):
                raise AssertionError("\n".join(self._differences(number, is_switch)))
        self.counts.cycles += 1
        self.counts.values += self.counts.names
        self.counts.bits += self._bits

    def _differences(self, number: int, is_switch: bool) -> list[str]:
        one = self.clusters[0]
        lines = [f"cycle {one.cycle}, {'switch' if is_switch else 'node'} {number}, lanes and Verilator:"]
        for name in self.names[is_switch]:
            known = int.from_bytes(one.known_bits(number, name, is_switch=is_switch).tobytes(), "little")
            values = [cluster.peek(number, name, is_switch=is_switch) & known for cluster in self.clusters]
            if values[0] != values[1]:
                lines.append(f"{name} {values[0]:#x} {values[1]:#x}")
        return lines

    def step(self, cycles: int) -> None:
        for _ in range(cycles):
            for cluster in self.clusters:
                cluster.run_for(1)
            self.compare()

    def close(self) -> None:
        for cluster in self.clusters:
            cluster.close()


def compare_run(request: CollectiveRequest, cycles: int, disturb: Disturbance = lambda _cluster, _left: None) -> Counts:
    """Sets an operation up and carries it out, on both engines, for so many cycles from the doorbells on."""
    print(f"{request.collective} {request.algorithm}, {request.size} bytes, {request.topology}, {request.stalls}")
    pair = Pair(request)
    try:
        pair.compare()
        sessions, memories = [], []
        for cluster in pair.clusters:
            # Multicast groups are set up in as many cycles in both, which are not compared.
            session = Session(cluster, request.config, nodes=request.nodes)
            groups = set_up_groups(
                cluster, session.drivers, request.schedule.groups(), mft_entries=request.config.switch.mft_entries
            )
            jobs = [session.post(request, job, groups=groups) for job in range(request.jobs)]
            sessions.append((session, jobs))
            disturb(cluster, BEFORE_DOORBELLS)
        pair.step(BEFORE_DOORBELLS)
        for cluster, (session, jobs) in zip(pair.clusters, sessions, strict=True):
            rng = random.Random(request.seed)
            session.ring(jobs, not_before=lambda cluster=cluster, rng=rng: (
                cluster.cycle + rng.randint(0, min(request.stalls.start_skew, cycles // 4))
            ))
        pair.step(cycles)
        memories = [[memory.tobytes() for memory in cluster.memories] for cluster in pair.clusters]
        assert memories[0] == memories[1]
        return pair.counts
    finally:
        pair.close()


def drawn(seed: int, config: Config, *, nodes: int, stalls: StallProfile | None = None) -> CollectiveRequest:
    """A random operation of so many nodes."""
    rng = random.Random(f"engines {seed}")
    while True:
        collective = rng.choice(collective_names())
        try:
            return CollectiveRequest(
                collective=collective, algorithm=rng.choice(algorithm_names(collective)), nodes=nodes,
                size=0 if collective == "barrier" else 8 * nodes * rng.randint(1, 24),
                dtype=rng.choice([name for name in DATATYPES if name in config.reduce.datatypes]),
                jobs=rng.randint(1, min(2, config.nic.n_cous * config.cou.n_jobs)), config=config, preset="test",
                seed=seed, stalls=random_stalls(rng.getrandbits(32)) if stalls is None else stalls,
            )
        except RequestError:
            continue  # some do not take every number of nodes, or fit this hardware


def test_engines_are_the_same() -> None:
    total = Counts()
    stalled = StallProfile(memory=MemoryTiming(jitter=10, stall=0.5), links=LinkTiming(stall=0.5, jitter=20))
    for seed, stalls in ((1, StallProfile()), (2, stalled), (3, None)):
        total.add(compare_run(drawn(seed, TINY, nodes=2, stalls=stalls), 1200))
    print(f"1 configuration, {total}")


@pytest.fixture(scope="module")
def two_nodes() -> Any:
    """A cluster of two nodes in the lanes of one word, which runs."""
    library = build_library(TINY, engine=Engine.LANES)
    with Cluster(
        library, parse_topology("star:2"), memory_bytes=MEMORY_BYTES, execution=Execution(threads=1),
        random_start=False,
    ) as cluster:
        cluster.run_for(300)
        yield cluster
