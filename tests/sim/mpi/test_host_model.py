"""The model of hosts, against times that are added up by hand; its messages, against the RTL."""

import pytest

from firmware_models.config import Config
from firmware_models.schedule import build
from sim.cluster import build_library
from sim.collective import CollectiveRequest, run_collective
from sim.fabric.topology import parse_topology
from sim.host import load_host
from sim.mpi.fabric import Fabric
from sim.mpi.host_model import Host, HostModel
from sim.mpi.message import Wire
from sim.mpi.run import wired

HOST = Host(post=1.0, take=2.0, bus=10.0, combine=0.5)
WIRE = Wire(100, (128, 1128), (200, 1200))
MODEL = HostModel(HOST, WIRE, 1.0)


def test_messages():
    assert [WIRE.cycles(size) for size in (0, 64, 128, 628, 1128, 2128)] == [100, 100, 200, 700, 1200, 2200]


def test_a_chain():
    """Broadcast to three: rank 0 sends twice, the second message behind the first on the link, and nobody forwards."""
    # The first message leaves at once; the second after its posting (1), and the way to the NIC and back (30).
    assert MODEL.cycles(build("broadcast", "binomial", n_nodes=2), [8]) == 100
    # Of four, rank 2 gets it after 100; then bus (10), taking (2), posting (1), fetching (30), and the wire again.
    assert MODEL.cycles(build("broadcast", "binomial", n_nodes=4), [8]) == 100 + 10 + 2 + 1 + 30 + 100


def test_combining_counts():
    """Allreduce of two: a message each way, and eight bytes combined."""
    assert MODEL.cycles(build("allreduce", "recursive-doubling", n_nodes=2), [8]) == 100 + 4


def test_more_ranks_take_longer():
    cycles = [MODEL.cycles(build("allreduce", "recursive-doubling", n_nodes=n), [64]) for n in (2, 4, 8, 16)]
    assert cycles == sorted(cycles)
    assert len(set(cycles)) == 4


def test_messages_of_the_rtl(small: Config) -> None:
    """Longer ones take longer; the longest use at least three quarters of the link, and none more than all of it."""
    topology = parse_topology("star:2", n_nodes=2)
    config = wired(small, topology, ranks=2)
    fabric = Fabric(build_library(config), config, topology)
    try:
        wire = fabric.measure_message()
    finally:
        fabric.close()
    assert 50 < wire.short < wire.puts[0]
    assert list(wire.puts) == sorted(wire.puts)
    assert 1 < wire.per_byte * config.datapath.flit_bytes < 4 / 3


@pytest.mark.parametrize("algorithm", ["ring", "rabenseifner"])
def test_blocks(algorithm):
    """Pieces of a message take less than all of it each time."""
    schedule = build("allreduce", algorithm, n_nodes=4)
    whole = [100_000] * schedule.block_count
    parts = [25_000] * schedule.block_count
    assert MODEL.cycles(schedule, parts) < MODEL.cycles(schedule, whole) / 3


def test_hosts_of_parameters() -> None:
    """By hand: 60 to match, 60 to write, 40 for the doorbell; half of 20, 60 to take, 60 to match; three passes."""
    host = Host.of(load_host("server"))
    assert host.post == pytest.approx(160e-9)
    assert host.take == pytest.approx(130e-9)
    assert host.bus == pytest.approx(150e-9)
    assert host.combine == pytest.approx(0.12e-9)


def test_the_model_beside_hosts_on_the_rtl(small: Config) -> None:
    """A fifth apart at most, for messages that travel in mini packets."""
    parameters = load_host("server")
    topology = parse_topology("star:4", n_nodes=4)
    config = wired(small, topology, ranks=4)
    fabric = Fabric(build_library(config), config, topology)
    try:
        wire = fabric.measure_message()
    finally:
        fabric.close()
    for collective, algorithm in (("allreduce", "recursive-doubling"), ("broadcast", "binomial")):
        model = HostModel(Host.of(parameters), wire, 1e6 * parameters.network.clock_mhz)
        measured = run_collective(CollectiveRequest(
            collective=collective, algorithm=algorithm, nodes=4, size=32, config=small, preset="small",
            host=parameters, host_based=True,
        ))
        # The model begins at the first doorbell and ends with the last entry.
        around = parameters.cycles(
            parameters.mpi.call_ns + 1e9 * (model.host.post + model.host.take + 2 * model.host.bus)
        )
        modelled = model.cycles(build(collective, algorithm, n_nodes=4), [32]) + around
        assert modelled == pytest.approx(measured.cycles, rel=0.2), (collective, modelled, measured.cycles)
