"""Collectives that hosts carry out on the RTL of NICs: every bit, and times that follow from the host's parameters."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firmware_models.config import Config
from sim.collective import CollectiveError, CollectiveRequest, RequestError, run_collective, verify
from sim.host import Host, load_host, parse_host
from sim.process import host_based, messenger

HOSTS = {
    "long": load_host("paper"),  # everything but mini packets is announced
    "eager": parse_host("base: server", source="x"),
    "cut": parse_host("base: server\nmpi:\n  eager_bytes: 100\n  segment_bytes: 256\ncpu:\n  cores: 1", source="x"),
}


def asked(small: Config, host: Host | None, **more: Any) -> CollectiveRequest:
    return CollectiveRequest(**{
        "collective": "allreduce", "algorithm": "rabenseifner", "nodes": 4, "size": 1000, "config": small,
        "preset": "small", "host": host, "host_based": True, **more,
    })


@pytest.mark.parametrize(("host", "collective", "algorithm", "more"), [
    ("cut", "broadcast", "binomial", {"nodes": 5, "root": 2}),
    ("long", "broadcast", "double-binary-tree", {"size": 2048}),
    ("cut", "broadcast", "double-binary-tree", {"size": 2048}),
    ("cut", "reduce", "binomial", {"nodes": 3, "op": "max", "jobs": 2}),
    ("eager", "reduce", "rabenseifner", {"root": 1, "dtype": "int32", "size": 996}),
    ("long", "allreduce", "rabenseifner", {"nodes": 5, "dtype": "float32"}),
    ("eager", "allreduce", "rabenseifner", {"nodes": 5}),
    ("long", "allreduce", "recursive-doubling", {"size": 8}),
    ("long", "barrier", "dissemination", {"size": 0}),
    ("eager", "alltoall", "pairwise", {"size": 4 * 120}),
    # Blocks of 100 bytes begin at other bytes of a flit where they go than where they come from.
    ("long", "alltoall", "pairwise", {"size": 4 * 100, "dtype": "int32"}),
    ("long", "allgather", "ring", {"nodes": 3, "size": 3 * 200}),
])
def test_every_bit(small: Config, host: str, collective: str, algorithm: str, more: dict[str, Any]) -> None:
    result = run_collective(asked(small, HOSTS[host], collective=collective, algorithm=algorithm, **more))
    assert result.mismatched_bits == 0
    assert result.counters["rx_unknown"] == 0


def test_the_same_bits_as_offloaded(small: Config) -> None:
    """And slower: hosts come in between at each step."""
    own, theirs = (run_collective(asked(small, HOSTS["long"], host_based=based)) for based in (False, True))
    assert own.sha256 == theirs.sha256
    assert own.cycles < theirs.cycles
    # Offloaded: the NIC's part, a call, descriptors, a way there and back, and the completion taken.
    bare = run_collective(asked(small, None, host_based=False))
    host = HOSTS["long"]
    assert own.cycles > bare.cycles + 2 * host.way_cycles()


def test_a_way_to_the_nic_and_a_way_back(small: Config) -> None:
    """PCIe is 100 cycles longer each way, and memory 200 cycles nearer: reads take as long as before, and the whole
    twice 100 cycles more: the doorbell, and the completion."""
    text = "network:\n  clock_mhz: 1000\ncpu:\n  poll_ns: 1\npcie:\n  one_way_ns: {}\nmemory:\n  latency_ns: {}"
    near, far = (
        run_collective(asked(small, parse_host(text.format(*both), source="x"), host_based=False, nodes=2, size=64))
        for both in ((100, 300), (200, 100))
    )
    assert abs(far.cycles - near.cycles - 200) <= 2


def test_the_bus_carries_so_much_each_way(small: Config) -> None:
    """At 4 Gb/s a flit takes 16 cycles; a node that receives four times what it sends writes for so long at least."""
    host = parse_host("network:\n  clock_mhz: 1000\npcie:\n  gbits: 4", source="x")
    assert host.beat_cycles(small.datapath.flit_bytes) == 16
    result = run_collective(asked(
        small, host, host_based=False, collective="allgather", algorithm="ring", size=4 * 4096,
    ))
    assert result.mismatched_bits == 0
    assert result.cycles > 16 * (4 * 4096 // 8)


def test_values_that_are_none(small: Config) -> None:
    rows = np.array([[np.nan, np.inf, -0.0, 1e308], [1.0, -np.inf, -0.0, 1e308], [2.0, 1.0, 0.0, -1e308]])
    result = run_collective(asked(small, HOSTS["eager"], nodes=3, size=32, inputs=rows, algorithm="recursive-doubling"))
    assert result.mismatched_bits == 0


@pytest.mark.parametrize("change", [
    "cpu:\n  post_ns: 900", "cpu:\n  take_ns: 900", "cpu:\n  doorbell_ns: 900", "cpu:\n  poll_ns: 3000",
    "cpu:\n  reduce_ns: 90", "pcie:\n  one_way_ns: 900", "pcie:\n  gbits: 2", "memory:\n  latency_ns: 900",
    "memory:\n  gbytes: 0.5", "memory:\n  core_gbytes: 0.5", "mpi:\n  match_ns: 900", "mpi:\n  call_ns: 2000",
    "mpi:\n  operand_copies: 4",
])
def test_every_parameter_counts(small: Config, change: str) -> None:
    plain, other = (asked(small, host, size=512, nodes=2) for host in (HOSTS["long"], parse_host(change, source="x")))
    assert run_collective(other).cycles > run_collective(plain).cycles


@pytest.mark.parametrize("eager_bytes", [64, 1000])
def test_what_nics_move_counts(small: Config, eager_bytes: int) -> None:
    """Where it keeps the memory of a host busy, that is: with several jobs."""
    few, many = (
        asked(small, parse_host(
            f"memory:\n  gbytes: 1\n  dma_passes: {passes}\nmpi:\n  eager_bytes: {eager_bytes}", source="x",
        ), nodes=2, size=512, jobs=4) for passes in (0, 20)
    )
    assert run_collective(many).cycles > run_collective(few).cycles


@pytest.mark.parametrize("segment_bytes", [0, 512])
def test_trees_do_not_wait_for_each_other(small: Config, monkeypatch: pytest.MonkeyPatch, segment_bytes: int) -> None:
    """A process with several parts of its program begun is sooner done than with one after the other."""
    host = parse_host(f"base: paper\nmpi:\n  segment_bytes: {segment_bytes}", source="x")
    request = asked(small, host, collective="broadcast", algorithm="double-binary-tree", nodes=7, size=4096)
    together = run_collective(request)
    monkeypatch.setattr(host_based, "_AHEAD", 1)
    alone = run_collective(request)
    assert (together.mismatched_bits, alone.mismatched_bits) == (0, 0)
    assert together.cycles < alone.cycles


def test_cores_count(small: Config) -> None:
    few, many = (
        asked(small, parse_host(f"cpu:\n  cores: {cores}\n  reduce_ns: 50", source="x"), nodes=2, jobs=4, size=512)
        for cores in (1, 4)
    )
    assert run_collective(few).cycles > run_collective(many).cycles


def test_many_orders(small: Config) -> None:
    result = verify(asked(small, HOSTS["cut"], nodes=3, size=304), orders=2)
    assert (result.distinct_results, result.mismatched_bits) == (1, 0)


def test_nobody_waits_for_ever(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that is never announced: the hosts that wait are named."""
    monkeypatch.setattr(messenger.Messenger, "send", lambda *_: iter(()))
    monkeypatch.setattr("sim.collective.run._cycle_budget", lambda _request: 20_000)
    with pytest.raises(CollectiveError, match=r"hosts did not end by cycle .*node 0, job 0"):
        run_collective(asked(small, HOSTS["eager"], nodes=2, size=64))


@pytest.mark.parametrize(("more", "message"), [
    ({"host": None}, "host must be given"),
    ({"collective": "broadcast", "algorithm": "multicast"}, "without multicast"),
])
def test_what_cannot_be(small: Config, more: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        asked(small, **{"host": HOSTS["long"], **more})
    with pytest.raises(RequestError, match=r"nic\.get must be true"):
        replace(asked(small, HOSTS["long"]), config=small.changed(nic={"get": False}))


@pytest.mark.parametrize("based", [False, True])
def test_hosts_that_are_disturbed(small: Config, based: bool) -> None:
    """No bit differs; whoever is late, or interrupted, holds up all, for nobody has the sum without him."""
    quiet = run_collective(asked(small, HOSTS["long"], host_based=based))
    late = parse_host("noise:\n  late_ns: 20000\n  late_share: 0.5", source="x")
    cut = parse_host("noise:\n  interrupt_ns: 2000\n  interrupt_every_ns: 2000", source="x")
    results = [run_collective(asked(small, host, host_based=based)) for host in (late, cut)]
    assert [(each.sha256, each.mismatched_bits) for each in results] == [(quiet.sha256, 0)] * 2
    # What all wait for comes at once then, and meets on its way.
    assert 20 * 390.625 < results[0].cycles < 20 * 390.625 + 1.05 * quiet.cycles
    # Half of the time is taken away: twice as long for what hosts do themselves, and some luck.
    assert 1.1 * quiet.cycles < results[1].cycles < 4 * quiet.cycles
