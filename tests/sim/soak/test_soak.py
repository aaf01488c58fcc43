"""Random operations on one cluster, at once and back to back; and that the soak finds what is planted."""

from typing import Any

import pytest

import firmware_models.host.collective as host_collective
import sim.soak.episode
import sim.soak.messages
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import Config, parse_config
from sim.cluster import SimulationFaultError
from sim.soak.draw import algorithms, boundaries
from sim.soak.episode import SoakError
from sim.soak.soak import soak

SEED = 5


def test_a_hundred_operations(small: Config) -> None:
    """Every algorithm, every boundary; some operations behind others, and some nodes late."""
    print(f"seed {SEED}: conic soak --operations 100 --nodes 4 --seed {SEED}")
    covered = soak(small, operations=100, nodes=4, seed=SEED)
    assert covered.operations == 100
    assert set(covered.algorithms) == set(algorithms())
    assert set(covered.boundaries) >= set(boundaries())
    assert min(covered.behind, covered.lagging, covered.sends, covered.puts, covered.in_place, covered.mini) > 0


@pytest.mark.long
def test_two_thousand_operations(small: Config) -> None:
    print("seed 1: conic soak --operations 2000 --nodes 4 --seed 1")
    covered = soak(small, operations=2000, nodes=4, seed=1)
    assert covered.operations == 2000
    assert set(covered.ranks) == {2, 3, 4}


SMALLEST = """
datapath: {data_width: 64, mtu: 64, block_memories: true}
nic: {n_vps: 2, n_cous: 1, n_p2p_tags: 2, n_windows: 1, max_burst_beats: 1, reads_under_way: 1, read_ahead_beats: 1,
      fetch_batch: 2, p2p: false, get: false, n_groups: 1, address_bits: 32}
cou: {n_jobs: 1, n_contexts: 1, sequence_depth: 4, buffer_bytes: 1024, buffer_mode: cuckoo, ecc: false, n_peers: 1,
      peer_credits: 1, lending: false, n_blocks: 2, intermediate_bytes: 64}
reduce: {add_cycles: 5, datatypes: [float64], multiply: false}
link: {buffer_flits: 16, reliable: false, replay_flits: 16, replay_cycles: 64, dead_cycles: 64}
switch: {radix: 3, table_entries: 4, mft_entries: 16, match_iterations: 1, readers: 1}
"""
"""Every field at its minimum, but for the ports of the switch."""


@pytest.mark.long  # a library of its own
@pytest.mark.parametrize("n_peers", [1, 2])
def test_operations_that_fit(n_peers: int) -> None:
    """Hardware with few of everything gets operations that it has room for; a job has no more ranks than peers."""
    config = parse_config(SMALLEST, source="smallest").changed(cou={"n_peers": n_peers})
    covered = soak(config, operations=200, nodes=3, seed=1)
    assert covered.operations == 200
    assert max(covered.ranks) == n_peers + 1
    assert len(covered.algorithms) > 10


@pytest.mark.long  # a library of its own
def test_without_point_to_point_path(small: Config) -> None:
    """Operations alone: no message is posted."""
    print(f"seed {SEED}")
    covered = soak(small.changed(nic={"p2p": False, "get": False}), operations=40, nodes=4, seed=SEED)
    assert covered.operations == 40
    assert (covered.sends, covered.puts) == (0, 0)


def planted(monkeypatch: pytest.MonkeyPatch, config: Config, **limits: int) -> str:
    """The message of a soak that fails."""
    for name, value in limits.items():
        monkeypatch.setattr(sim.soak.episode, name, value)
    with pytest.raises(SoakError) as error:
        soak(config, operations=20, nodes=4, seed=SEED)
    text = str(error.value)
    assert text.splitlines()[-1] == (
        f"again, with a waveform: conic soak --operations 20 --nodes 4 --seed {SEED} --episode 0 --waves soak.fst"
    )
    return text


def change(monkeypatch: pytest.MonkeyPatch, when: str, **fields: int) -> None:
    """Every collective descriptor with flag `when` gets other fields."""
    pack = host_collective.pack_sequence

    def other(sequence: Any) -> bytes:
        return pack({**desc, **fields} if desc.get(when) else desc for desc in sequence)

    monkeypatch.setattr(host_collective, "pack_sequence", other)


def test_a_wrong_sum_is_found(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: data replace where they should be added."""
    change(monkeypatch, "reduce_flag", reduce_flag=0, swap_local_data=1)
    assert "bits differ" in planted(monkeypatch, small)


def test_a_stray_write_is_found(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: results are written a flit too far."""
    pack = host_collective.pack_sequence

    def further(sequence: Any) -> bytes:
        return pack({**desc, "result_addr": desc["result_addr"] + 8} if desc.get("write_back") else desc
                    for desc in sequence)

    monkeypatch.setattr(host_collective, "pack_sequence", further)
    assert "memory beside the result was written" in planted(monkeypatch, small)


def test_a_hang_is_found(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: packets with a number that nobody waits for; the watchdog says which one is missed."""
    change(monkeypatch, "cp", out_seq_id=29)
    text = planted(monkeypatch, small, _WATCHDOG=3_000)
    assert "ended in TIMEOUT" in text
    assert "in this round: job" in text


def test_a_lost_completion_is_found(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: one node never rings."""
    ring = sim.soak.episode.Port.ring

    def silent(port: Any, **when: int) -> None:
        if port.driver.node != 2:
            ring(port, **when)

    monkeypatch.setattr(sim.soak.episode.Port, "ring", silent)
    assert "some operation did not end by cycle" in planted(monkeypatch, small, _BUDGET=20_000, _WATCHDOG=0)


def test_a_broken_rule_is_named(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the simulation reports a fault; nothing is asked of the cluster any more."""
    def broken(_cluster: Any, _most: int) -> bool:
        raise SimulationFaultError("cycle 7: switch0 link 1: an output follows an input within a cycle")

    monkeypatch.setattr(sim.soak.episode.Cluster, "run", broken)
    assert planted(monkeypatch, small).startswith("cycle 7: switch0 link 1")


def test_a_wrong_message_is_found(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the data of mini packets and puts change."""
    pack = DESCRIPTOR.pack

    def spoilt(**fields: int) -> bytes:
        return pack(**fields | ({"payload": fields["payload"] ^ 1} if fields.get("payload") else {}))

    monkeypatch.setattr(sim.soak.messages, "DESCRIPTOR", type("Other", (), {"pack": staticmethod(spoilt)}))
    assert "mini packets, not the" in planted(monkeypatch, small)
