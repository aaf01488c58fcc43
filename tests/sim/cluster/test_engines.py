"""Both engines do the same, register by register and cycle by cycle; registers of the lanes of words by their names."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from firmware_models.config import Config
from firmware_models.schedule.registry import algorithm_names, collective_names
from sim.cluster import (
    AxiResponse,
    Cluster,
    Engine,
    Execution,
    LinkTiming,
    MemoryTiming,
    build_library,
)
from sim.cluster.multicast import set_up_groups
from sim.cluster.stalls import StallProfile, random_stalls
from sim.operation.request import CollectiveRequest, RequestError
from sim.operation.session import Session
from testbench.unit_config import TINY, UNIT

MEMORY_BYTES = 1 << 16
BEFORE_DOORBELLS = 700
"""Cycles in which NICs take their configuration, and units clear their memories."""

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
    comparisons: int = 0
    names: int = 0
    values: int = 0
    bits: int = 0
    completions: int = 0

    def add(self, other: "Counts") -> None:
        self.runs, self.cycles, self.names = self.runs + 1, self.cycles + other.cycles, other.names
        self.values, self.bits = self.values + other.values, self.bits + other.bits
        self.completions += other.completions
        self.comparisons += other.comparisons

    def __str__(self) -> str:
        return (
            f"{self.runs} runs, {self.cycles:,} cycles, {self.comparisons:,} comparisons of {self.names:,} registers "
            f"and memories (the last run), {self.values:,} values, {self.bits:,} bits; {self.completions} completions"
        )


Disturbance = Callable[[Cluster, int], None]
"""Is called with the cluster and the cycles until the doorbells ring, once."""


class NotKeptError(Exception):
    """Registers that Verilator has left out for nothing follows them, but for their names."""

    def __init__(self, names: set[str]):
        super().__init__(", ".join(sorted(names)))
        self.names = names


class Pair:
    """The same cluster twice: in the lanes of words, and evaluated by Verilator. Without some registers."""

    def __init__(self, request: CollectiveRequest, without: frozenset[str] = frozenset()):
        self.request, self._without = request, without
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
        """Names that both engines have, of what both keep. Verilator does not keep up to date the ports of a shared
        module where nothing around makes use of them; the registers behind them stand in its `core`. And it numbers
        otherwise what has no name of its own.
        """
        one, other = (set(cluster.registers(0, is_switch=is_switch)) for cluster in self.clusters)
        around = {name[:at.start()] for name in one for at in re.finditer(r"\.core\.", name)}
        names = sorted((one & other) - self._without)
        return [name for name in names if "$" not in name and name.rpartition(".")[0] not in around]

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
        self.counts.comparisons += 1
        self.counts.values += self.counts.names
        self.counts.bits += self._bits

    def _differences(self, number: int, is_switch: bool) -> list[str]:
        one, not_kept = self.clusters[0], set[str]()
        lines = [f"cycle {one.cycle}, {'switch' if is_switch else 'node'} {number}, lanes and Verilator:"]
        for name in self.names[is_switch]:
            known = int.from_bytes(one.known_bits(number, name, is_switch=is_switch).tobytes(), "little")
            values = [cluster.peek(number, name, is_switch=is_switch) & known for cluster in self.clusters]
            if values[0] != values[1]:
                lines.append(f"{name} {values[0]:#x} {values[1]:#x}")
                # Every instance of a shared module has its own variables in Verilator's model, so what nothing follows
                # in one only is left out there. The code of the lanes is that of the first, which is compared.
                if values[1] == 0 and re.search(r"_[1-9]\d*\.core\.", name):
                    not_kept.add(name)
        if len(not_kept) == len(lines) - 1:
            raise NotKeptError(not_kept)
        return lines

    def step(self, cycles: int, most: int = 1) -> None:
        """Lets time pass, at most so many cycles between two comparisons: then NICs that rest are left out."""
        rng, end = random.Random(cycles), self.clusters[0].cycle + cycles
        while (left := end - self.clusters[0].cycle) > 0:
            some = min(left, rng.randint(1, most))
            for cluster in self.clusters:
                cluster.run_for(some)
            self.compare()

    def close(self) -> None:
        for cluster in self.clusters:
            cluster.close()


def compare_run(
    request: CollectiveRequest, cycles: int, disturb: Disturbance = lambda _cluster, _left: None, *, most: int = 1,
) -> Counts:
    """Sets an operation up and carries it out, on both engines, for so many cycles from the doorbells on."""
    print(f"{request.collective} {request.algorithm}, {request.size} bytes, {request.topology}, {request.stalls}")
    without: frozenset[str] = frozenset()
    while True:
        assert len(without) < 100, without
        try:
            counts = _compare_run(request, cycles, disturb, most, without)
        except NotKeptError as error:
            without |= error.names
        else:
            print(f"not kept by Verilator: {len(without)}")
            return counts


def _compare_run(
    request: CollectiveRequest, cycles: int, disturb: Disturbance, most: int, without: frozenset[str],
) -> Counts:
    pair = Pair(request, without)
    try:
        pair.compare()
        sessions: list[tuple[Session, list[Any]]] = []
        for cluster in pair.clusters:
            # Multicast groups are set up in as many cycles in both, which are not compared.
            session = Session(cluster, request.config, nodes=request.nodes)
            groups = set_up_groups(
                cluster, session.drivers, request.schedule.groups(), mft_entries=request.config.switch.mft_entries
            )
            jobs = [session.post(request, job, groups=groups) for job in range(request.jobs)]
            sessions.append((session, jobs))
            disturb(cluster, BEFORE_DOORBELLS)
        begin = pair.clusters[0].cycle
        pair.step(BEFORE_DOORBELLS, most)
        for cluster, (session, jobs) in zip(pair.clusters, sessions, strict=True):
            rng = random.Random(request.seed)
            session.ring(jobs, not_before=lambda cluster=cluster, rng=rng: (
                cluster.cycle + rng.randint(0, min(request.stalls.start_skew, cycles // 4))
            ))
        pair.step(cycles, most)
        pair.counts.cycles = pair.clusters[0].cycle - begin
        memories = [[memory.tobytes() for memory in cluster.memories] for cluster in pair.clusters]
        assert memories[0] == memories[1]
        ended = [
            sum(port.poll() is not None for job in jobs for port in job.ports) for _session, jobs in sessions
        ]
        assert ended[0] == ended[1]
        pair.counts.completions = ended[0]
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
                collective=collective, algorithm=rng.choice(algorithm_names(collective)),
                nodes=nodes, topology=f"star:{config.switch.radix}",
                size=0 if collective == "barrier" else 8 * nodes * rng.randint(1, 24),
                dtype=rng.choice([name for name in DATATYPES if name in config.reduce.datatypes]),
                jobs=rng.randint(1, min(2, config.nic.n_cous * config.cou.n_jobs)), config=config, preset="test",
                seed=seed, stalls=random_stalls(rng.getrandbits(32)) if stalls is None else stalls,
            )
        except RequestError:
            continue  # some do not take every number of nodes, or fit this hardware


def generated(seed: int) -> Config:
    """A configuration of everything that changes what hardware there is."""
    rng = random.Random(f"configuration {seed}")
    width = (64, 128, 256)[seed % 3]
    n_cous = (1, 2, 4)[seed // 2 % 3]
    mtu = max(64, width // 8 * rng.choice((1, 2)))
    return SMALL.changed(
        datapath={"data_width": width, "mtu": mtu},
        nic={"n_cous": n_cous, "p2p": seed % 4 != 3, "get": seed % 4 != 3, "address_bits": rng.choice((32, 48, 64))},
        cou={"ecc": seed % 8 in (0, 2, 5, 7), "buffer_mode": ("cuckoo", "linear")[seed // 2 % 2],
             "n_jobs": 1 + seed % 2, "buffer_bytes": 8192, "intermediate_bytes": mtu * rng.choice((1, 4)),
             "lending": rng.random() < 0.5},
        reduce={"datatypes": rng.choice((("int64",), ("int64", "float64"))), "multiply": False},
        link={"reliable": seed % 8 in (1, 2, 3, 6, 7)},
        switch={"readers": rng.choice((1, 2)), "match_iterations": rng.choice((1, 2))},
    )


def disturbance(request: CollectiveRequest) -> Disturbance:
    """Faults while an operation goes on: of memory, a NIC that stops, and of cables where links are reliable."""
    rng = random.Random(f"faults {request.seed}")
    kind = rng.choice(("nothing", "memory", "stop", "cable")) if request.config.link.reliable else rng.choice(
        ("nothing", "memory", "stop"),
    )
    node, cycle, is_write = rng.randrange(request.nodes), rng.randint(0, 300), rng.random() < 0.5
    print(f"fault: {kind}, node {node}, {cycle} cycles after the doorbells")

    def disturb(cluster: Cluster, left: int) -> None:
        at = cluster.cycle + left + cycle
        if kind == "memory":
            cluster.fail_memory(node, is_write=is_write, cycle=at, count=2, response=AxiResponse.SLVERR)
        elif kind == "stop":
            cluster.stop(node, at)
        elif kind == "cable":
            cluster.cut(node, at, at + 400)
    return disturb


def test_engines_are_the_same() -> None:
    total = Counts()
    stalled = StallProfile(memory=MemoryTiming(jitter=10, stall=0.5), links=LinkTiming(stall=0.5, jitter=20))
    for seed in range(6):
        request = drawn(seed, TINY, nodes=2, stalls=(StallProfile(), stalled, None)[seed % 3])
        total.add(compare_run(request, 3000, most=1 if seed < 3 else 60))
    print(f"1 configuration, {total}")
    assert total.completions > 6
    assert total.names > 1500


def test_a_difference_is_found() -> None:
    """One bit of one register of one node, or of a switch: it is named, and the values that it has."""
    pair = Pair(drawn(0, TINY, nodes=2, stalls=StallProfile()))
    try:
        pair.step(20)
        for number, is_switch, name in (
            (1, False, "core.csr.vp_select"), (0, False, "core.cou_0.core.store.controls.words"),
            (0, True, "core.control.table_select"),
        ):
            before = pair.clusters[0].peek(number, name, is_switch=is_switch)
            pair.clusters[0].poke(number, name, before ^ 1, is_switch=is_switch)
            with pytest.raises(AssertionError, match=rf"(?m)^{re.escape(name)} {before ^ 1:#x} {before:#x}$") as raised:
                pair.compare()
            assert f"{'switch' if is_switch else 'node'} {number}, lanes" in str(raised.value)
            pair.clusters[0].poke(number, name, before, is_switch=is_switch)
            pair.compare()
    finally:
        pair.close()


def test_a_poke_has_the_same_effect() -> None:
    """Bits turned over in both engines at rest: in registers that keep them, and in those that change each cycle."""
    pair = Pair(drawn(0, TINY, nodes=2, stalls=StallProfile()))
    # A draw in which no bit sends a credit that was never spent, which the switch asserts against.
    rng = random.Random(2)
    try:
        pair.step(20)
        turned = 0
        for name in rng.sample(pair.names[False], 40):
            known = int.from_bytes(pair.clusters[0].known_bits(1, name).tobytes(), "little")
            bit = 1 << rng.choice([at for at in range(known.bit_length()) if known >> at & 1])
            before = [cluster.peek(1, name) & known for cluster in pair.clusters]
            assert before[0] == before[1]
            for cluster in pair.clusters:
                cluster.poke(1, name, before[0] ^ bit)
            pair.compare()
            pair.step(1)
            pair.compare()
            turned += (pair.clusters[1].peek(1, name) ^ before[0]) & bit != 0
            for cluster in pair.clusters:
                cluster.poke(1, name, before[0])
            pair.step(1)
            pair.compare()
        assert turned > 10  # the rest is what is worked out anew in each cycle
    finally:
        pair.close()


@pytest.mark.long
def test_reliable_links() -> None:
    """Words that are lost, doubled or changed."""
    total = Counts()
    for seed in range(6):
        stalls = StallProfile(
            memory=MemoryTiming(jitter=30, stall=0.3), links=LinkTiming(errors=(0.0, 0.001, 0.02)[seed % 3]),
        )
        request = drawn(seed, TINY.changed(link={"reliable": True}), nodes=2, stalls=stalls)
        total.add(compare_run(request, 4000, disturbance(request)))
    print(f"1 configuration, {total}")
    assert total.completions > 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_generated_configurations(seed: int) -> None:
    """Other widths, units, buffers and links, with faults; the operations and their delays are drawn."""
    config, total = generated(seed), Counts()
    print(config)
    for run in range(4):
        number = 10 * seed + run
        request = drawn(number, config, nodes=4 if run % 2 else 3, stalls=None if run else StallProfile())
        if config.link.reliable:
            links = replace(request.stalls.links, stall=0.0, errors=(0.0, 0.005)[run % 2])
            request = replace(request, stalls=replace(request.stalls, links=links))
        total.add(compare_run(request, 3000, disturbance(request) if run > 1 else lambda _cluster, _left: None))
    print(f"1 configuration, {total}")
    assert total.completions
