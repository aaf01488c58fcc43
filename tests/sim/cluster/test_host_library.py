"""The host library as its users have it: the example, regions, waiting, refusals at the boundaries of a ring."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from firmware_models.abi.encoding import Kind, P2pOp, Right, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import Config
from firmware_models.host import Data, HostError, Job, NodeDriver, Transport
from firmware_models.schedule import build
from sim.cluster import Cluster
from sim.example.host_library import allreduce
from sim.fabric.topology import parse_topology

CYCLES = 100_000


@pytest.fixture
def hosts(library: Path) -> Iterator[list[NodeDriver]]:
    """Two nodes."""
    with Cluster(library, parse_topology("star:2"), memory_bytes=1 << 16) as cluster:
        drivers = [NodeDriver(cluster, node) for node in range(2)]
        for driver in drivers:
            driver.start()
        yield drivers


def put(local: int, remote: int, *, tag: int) -> bytes:
    """Eight bytes to node 1."""
    return DESCRIPTOR.pack(
        kind=Kind.RDMA, p2p_op=P2pOp.PUT, source_vp=1, dest_id=1, dest_vp=1, length=8, local_addr=local,
        remote_addr=remote, tag=tag,
    )


def test_example() -> None:
    rows = np.arange(12.0).reshape(3, 4)
    assert (allreduce(rows) == rows.sum(axis=0)).all()


def test_a_ring_full_to_the_brim_and_once_around(hosts: list[NodeDriver]) -> None:
    """Eight places, forty puts: refused exactly when eight are under way, and every one arrives."""
    here, there = (driver.open_port(1, dq_log2=3) for driver in hosts)
    source = here.register_memory(40 * 64, [Right.LOCAL_READ])
    target = there.register_memory(40 * 64)
    posted = 0
    while posted < 40:
        while here.room and posted < 40:
            source.write(posted.to_bytes(8, "little"), at=64 * posted)
            here.post(put(source.base + 64 * posted, target.base + 64 * posted, tag=posted))
            posted += 1
        before = hosts[0].memory.copy()
        with pytest.raises(HostError, match=r"^descriptor ring of VP 1 must have room for 1 more descriptors, not 0"):
            here.post(put(source.base, target.base, tag=99))
        assert (hosts[0].memory == before).all()
        here.ring()
        (completion,) = here.wait(most=CYCLES)
        assert completion.status is Status.OK
        assert here.room == 1
    here.wait(7, most=CYCLES)
    assert here.room == 8
    assert [int.from_bytes(target.read(8, at=64 * number), "little") for number in range(40)] == list(range(40))


class Interrupted:
    """A transport whose host is interrupted behind every register write, so that the NIC acts on it first."""

    def __init__(self, cluster: Transport):
        self._cluster = cluster
        self.memories, self.read_register = cluster.memories, cluster.read_register
        self.watch, self.run, self.run_for = cluster.watch, cluster.run, cluster.run_for
        self.check_registers = cluster.check_registers

    @property
    def cycle(self) -> int:
        """Cycles since reset."""
        return self._cluster.cycle

    def write_register(self, node: int, address: int, value: int, *, not_before: int = 0) -> None:
        """Writes a register; much time passes."""
        self._cluster.write_register(node, address, value, not_before=not_before)
        self.run_for(500)


def test_a_host_that_is_interrupted(hosts: list[NodeDriver]) -> None:
    """Whatever a doorbell publishes is there before: the NIC never sees an entry of the lap before."""
    slow = [NodeDriver(Interrupted(hosts[0].cluster), node) for node in range(2)]
    here, there = (driver.open_port(1, dq_log2=2, cq_log2=1) for driver in slow)
    source, target = here.register_memory(8 * 30), there.register_memory(8 * 30, (Right.REMOTE_WRITE,))
    for number in range(30):
        source.write(number.to_bytes(8, "little"), at=8 * number)
        here.post(put(source.base + 8 * number, target.base + 8 * number, tag=number))
        here.ring()
        assert [completion.tag for completion in here.wait(most=CYCLES)] == [number]
    assert [int.from_bytes(target.read(8, at=8 * number), "little") for number in range(30)] == list(range(30))


def test_regions(hosts: list[NodeDriver]) -> None:
    """Windows of a port one after the other; bytes beyond a region are refused, and so is one window too many."""
    port = hosts[0].open_port(1)
    region = port.register_memory(100)
    assert region.write(bytes(range(10)), at=90) == region.base + 90
    assert region.read(10, at=90) == bytes(range(10))
    for at, size in ((91, 10), (-1, 1), (101, 0)):
        with pytest.raises(HostError, match=r"^bytes of a region must be within 0 to 100, not"):
            region.read(size, at=at)
    for _ in range(3):
        port.register_memory(64)
    with pytest.raises(HostError, match=r"^window of VP 1 must be 0 to 3 \(nic.n_windows\), not 4$"):
        port.register_memory(64)


def test_waiting_in_vain(hosts: list[NodeDriver], small: Config) -> None:
    """Operations that do not end, or end in an error, are reported."""
    ports = [driver.open_port(1) for driver in hosts]
    memories = [port.register_memory(256) for port in ports]
    with pytest.raises(HostError, match=r"^VP 1 of node 0 must have 2 completions within 500 cycles, not 0$"):
        ports[0].wait(2, most=500)
    job = Job(ports, job_id=0, config=small)
    data = [Data(local=memory.base, result=memory.base + 64) for memory in memories]
    schedule = build("barrier", "dissemination", n_nodes=2, root=0)
    operation = job.post(schedule, data, length=0, tag=3)
    ports[0].ring()
    with pytest.raises(HostError, match=r"^rank 0: operation 3 has not ended within 2000 cycles$"):
        operation.wait(most=2000)
    ports[1].ring()
    operation.wait(most=CYCLES)
    schedule = build("allreduce", "recursive-doubling", n_nodes=2, root=0)
    data[1] = Data(local=memories[1].base + 256, result=memories[1].base + 64)
    operation = job.post(schedule, data, length=64, tag=4)
    hosts[0].set_watchdog(2000)
    operation.ring()
    with pytest.raises(HostError, match=r"^rank 0: operation 4 ended in TIMEOUT, detail"):
        operation.wait(most=CYCLES)
