"""Registers and memories of simulated hardware by their names, and assertions that fail."""

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

from sim.cluster import (
    Cluster,
    Engine,
    Execution,
    SimulationFaultError,
    UnknownRegisterError,
    build_library,
)
from sim.fabric.topology import parse_topology
from sim.operation.request import CollectiveRequest
from sim.operation.session import Session
from testbench.unit_config import TINY

MEMORY_BYTES = 1 << 16
BEFORE_DOORBELLS = 700
"""Cycles in which NICs take their configuration, and units clear their memories."""


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Cluster]:
    """Two nodes in the lanes of one word, at rest."""
    with Cluster(
        build_library(TINY, engine=Engine.LANES), parse_topology("star:2"), memory_bytes=MEMORY_BYTES,
        execution=Execution(threads=1), random_start=False,
    ) as cluster:
        cluster.run_for(500)
        yield cluster


def everything(cluster: Cluster, node: int) -> dict[str, int]:
    return {name: cluster.peek(node, name) for name in cluster.registers(node)}


def test_a_poke_changes_one_register_of_one_node(two_nodes: Cluster) -> None:
    rng = random.Random(1)
    before = [everything(two_nodes, node) for node in range(2)]
    switch = {name: two_nodes.peek(0, name, is_switch=True) for name in two_nodes.registers(0, is_switch=True)}
    names = sorted(before[0])
    for name in rng.sample(names, 60):
        node = rng.randrange(2)
        known = int.from_bytes(two_nodes.known_bits(node, name).tobytes(), "little")
        value = rng.getrandbits(known.bit_length()) & known
        two_nodes.poke(node, name, value)
        after = [everything(two_nodes, other) for other in range(2)]
        assert after[1 - node] == before[1 - node], name
        assert after[node][name] == value
        changed = {other for other in names if after[node][other] != before[node][other]}
        two_nodes.poke(node, name, before[node][name])
        assert everything(two_nodes, node) == before[node], name
        # A register has several names where it goes through modules: what else has changed is the same register.
        assert all(_is_within(after[node][other], before[node][other], value, before[node][name]) for other in changed)
    assert {name: two_nodes.peek(0, name, is_switch=True) for name in switch} == switch


def _is_within(after: int, before: int, value: int, value_before: int) -> bool:
    """True if at most as many bits of one name changed as of another."""
    return (after ^ before).bit_count() <= (value ^ value_before).bit_count()


def test_a_poke_has_its_effect(two_nodes: Cluster) -> None:
    """Counters of cycles go on from there; the other node's is not touched."""
    counts = [two_nodes.peek(node, "core.csr.cycles") for node in range(2)]
    assert counts[0] == counts[1]
    two_nodes.poke(1, "core.csr.cycles", 1 << 40)
    two_nodes.run_for(10)
    assert [two_nodes.peek(node, "core.csr.cycles") for node in range(2)] == [counts[0] + 10, (1 << 40) + 10]


def test_bits_above_a_value_stay_0(two_nodes: Cluster) -> None:
    """A register or memory is words of 64 bits; those that its values have no use for are not written."""
    narrow = 0
    for name in two_nodes.registers(0):
        known = two_nodes.known_bits(0, name)
        before = two_nodes.peek(0, name)
        two_nodes.poke(0, name, (1 << 64 * len(known)) - 1)
        assert two_nodes.peek(0, name) & ~int.from_bytes(known.tobytes(), "little") == 0, name
        two_nodes.poke(0, name, before)
        assert two_nodes.peek(0, name) == before
        narrow += len(known) > 1 and not np.all(known == known.max())
    assert narrow


def test_a_word_of_a_memory(two_nodes: Cluster) -> None:
    name = "core.cou_0.core.store.controls.words"
    before = two_nodes.peek(0, name)
    word = 1 << 64 * 3
    two_nodes.poke(0, name, before ^ word)
    assert (two_nodes.peek(0, name), two_nodes.peek(1, name)) == (before ^ word, before)
    two_nodes.poke(0, name, before)


def test_names_that_there_are_not(two_nodes: Cluster) -> None:
    for is_switch in (False, True):
        for call in (
            lambda name, at=is_switch: two_nodes.peek(0, name, is_switch=at),
            lambda name, at=is_switch: two_nodes.poke(0, name, 1, is_switch=at),
            lambda name, at=is_switch: two_nodes.known_bits(0, name, is_switch=at),
        ):
            for name in ("core.csr.nothing", "", "core", "core.csr.cycles "):
                with pytest.raises(UnknownRegisterError, match=re.escape(f"there is no register {name}")):
                    call(name)
    with pytest.raises(SimulationFaultError, match="node must be below 2, not 2"):
        two_nodes.registers(2)


def test_an_assertion_that_fails() -> None:
    """A node that has one credit more than it should: its text, node and cycle are named once the last comes back."""
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=2, size=256, dtype="int64", config=TINY,
        preset="test",
    )
    level, most = "core.link_tx.level_0", TINY.link.buffer_flits
    with Cluster(
        build_library(request.hardware(), engine=Engine.LANES), request.wired, memory_bytes=MEMORY_BYTES,
        execution=Execution(threads=1), random_start=False,
    ) as cluster:
        session = Session(cluster, TINY, nodes=2)
        jobs = [session.post(request, 0)]
        cluster.run_for(BEFORE_DOORBELLS)
        session.ring(jobs)
        levels = [most]
        while levels[-1] == most:
            cluster.run_for(1)
            levels.append(cluster.peek(1, level))
        assert levels[-1] == most - 1
        cluster.poke(1, level, most)
        levels = [most]

        def run() -> None:
            while True:
                cluster.run_for(1)
                levels.append(cluster.peek(1, level))

        with pytest.raises(SimulationFaultError) as raised:
            run()
        # All credits but one are back; that one breaks the rule.
        assert (min(levels) < most - 4, levels[-2:]) == (True, [most - 1, most])
        assert str(raised.value) == (
            f"cycle {cluster.cycle}: nic1 has failed an assertion of the RTL: "
            "link: a credit came back that was not spent"
        )
