"""Collectives disturbed at random with the boundary of every model watched; and that what goes wrong is named."""

from dataclasses import replace
from typing import Any

import pytest

import firmware_models.host
import sim.collective.run
from firmware_models.config import Config
from sim.cluster import SimulationFaultError
from sim.cluster.stalls import random_stalls
from sim.collective import CollectiveError, CollectiveRequest, run_collective, verify


def request(config: Config, collective: str, algorithm: str, **fields: Any) -> CollectiveRequest:
    """A request of preset `small`."""
    return CollectiveRequest(collective=collective, algorithm=algorithm, config=config, preset="small", **fields)


@pytest.mark.parametrize("seed", range(4))
def test_every_job_at_once(seed: int, small: Config) -> None:
    """All jobs that the hardware holds, disturbed at random: own data, own results, same bits as undisturbed."""
    quiet = request(small, "allreduce", "recursive-doubling", nodes=3, size=1000, jobs=8, seed=seed)
    expected = run_collective(quiet)
    stalls = random_stalls(seed)
    print(f"seed {seed}: {stalls}")
    got = run_collective(replace(quiet, stalls=stalls, pulse_bytes=64), check_boundary=True)
    assert expected.mismatched_bits == got.mismatched_bits == 0
    assert expected.sha256 == got.sha256
    assert len(got.completions) == 3 * 8
    assert sorted({completion.tag for completion in got.completions}) == list(range(8))
    assert got.counters["rx_malformed"] == got.counters["completion_errors"] == 0


def test_fractions(small: Config) -> None:
    """Root of a binomial broadcast to 4 sends twice: no run beats that bound."""
    result = run_collective(request(small, "broadcast", "binomial", nodes=4, size=16384))
    assert 0.3 < result.bound_fraction < 1
    assert result.bound_fraction == pytest.approx(2 * 16384 / 8 / result.cycles)
    assert result.goodput_fraction == pytest.approx(16384 / 8 / result.cycles)


def test_a_wrong_bit_is_counted(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the operand of one node changes in memory after the golden model has seen it."""
    store = firmware_models.host.NodeDriver.store

    def flip(driver: Any, address: int, data: bytes) -> None:
        store(driver, address, bytes([data[0] ^ 1, *data[1:]]) if driver.node == 1 and len(data) == 256 else data)

    monkeypatch.setattr(firmware_models.host.NodeDriver, "store", flip)
    result = run_collective(request(small, "broadcast", "binomial", nodes=4, size=256, root=1))
    assert result.mismatched_bits == 4  # one bit at each node: the root delivers its own data too


def test_verify_names_the_order_that_differs(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the third order gets other data."""
    run = sim.collective.run._Simulation.run

    def other(simulation: Any) -> Any:
        asked = simulation.request
        return run(replace(simulation, request=replace(asked, seed=asked.seed + (simulation.order == 2))))

    monkeypatch.setattr(sim.collective.run._Simulation, "run", other)
    result = verify(request(small, "broadcast", "binomial", nodes=2, size=64), orders=4)
    assert (result.distinct_results, result.first_difference) == (2, 2)


def test_a_hang_says_who_waits(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: node 2 never rings its doorbell."""
    ring = firmware_models.host.Port.ring

    def silent(port: Any, **when: int) -> None:
        if port.driver.node != 2:
            ring(port, **when)

    monkeypatch.setattr(firmware_models.host.Port, "ring", silent)
    monkeypatch.setattr(sim.collective.run, "_cycle_budget", lambda _request: 5000)
    with pytest.raises(CollectiveError) as error:
        run_collective(request(small, "reduce", "binomial", nodes=3, size=64))
    first, *counters = str(error.value).splitlines()
    assert first.startswith("reduce did not end by cycle")
    assert first.endswith("no completion at node 0 job 0, node 2 job 0")
    assert [line.split(":")[0] for line in counters] == ["node 0", "node 1", "node 2"]
    assert "descriptors 0" in counters[2]


def test_an_error_completion_is_named(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the window of node 1 ends before its data."""
    open_window = firmware_models.host.Port.open_window

    def narrow(port: Any, base: int, limit: int) -> None:
        open_window(port, base, base + 8 if port.driver.node == 1 else limit)

    monkeypatch.setattr(firmware_models.host.Port, "open_window", narrow)
    monkeypatch.setattr(sim.collective.run, "_cycle_budget", lambda _request: 5000)
    with pytest.raises(CollectiveError, match="job 0: rank 1: BAD_ADDRESS, detail 0x"):
        run_collective(request(small, "broadcast", "binomial", nodes=2, size=64 * 8))


def test_a_fault_of_the_hardware_is_named(small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the simulation reports a fault in mid-run."""
    def broken(_cluster: Any, _most: int) -> bool:
        raise SimulationFaultError("cycle 7: nic0 m_axi_ar lowered valid while it waited for ready")

    monkeypatch.setattr(sim.collective.run.Cluster, "run", broken)
    with pytest.raises(CollectiveError, match=r"^broadcast: cycle 7: nic0 m_axi_ar lowered valid"):
        run_collective(request(small, "broadcast", "binomial", nodes=2, size=64))
