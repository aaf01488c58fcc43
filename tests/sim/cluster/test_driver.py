"""The host library against the RTL: rings that wrap, mini packets, completions, refusals."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from firmware_models.abi import registers
from firmware_models.abi.encoding import CplKind, Kind, P2pOp, Right, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.host import Completion, HostError, NodeDriver, Port
from sim.cluster import Cluster
from sim.fabric.topology import parse_topology

MEMORY_BYTES = 1 << 16
REGISTERS = {register.name: register.offset for register in registers.CONTROL_PAGE}


@pytest.fixture
def cluster(library: Path) -> Iterator[Cluster]:
    """Two nodes."""
    with Cluster(library, parse_topology("star:2"), memory_bytes=MEMORY_BYTES) as made:
        yield made


@pytest.fixture
def hosts(cluster: Cluster) -> list[NodeDriver]:
    """Their hosts."""
    drivers = [NodeDriver(cluster, node) for node in range(2)]
    for driver in drivers:
        driver.start()
    return drivers


def opened(hosts: list[NodeDriver], vp: int, **rings: int) -> list[Port]:
    """A port `vp` at each node, enabled."""
    ports = []
    for driver in hosts:
        ports.append(driver.open_port(vp, **rings))
        ports[-1].open_window(0, MEMORY_BYTES)
    assert hosts[0].cluster.run(100_000)
    return ports


def send(value: int, *, vp: int, length: int = 8, **fields: int) -> bytes:
    """A SEND of a mini packet to node 1."""
    return DESCRIPTOR.pack(
        kind=Kind.MP, p2p_op=P2pOp.SEND, source_vp=vp, dest_id=1, dest_vp=vp, length=length, payload=value, tag=value,
        **fields,
    )


def test_rings_wrap(cluster: Cluster, hosts: list[NodeDriver]) -> None:
    """Thirty mini packets through rings of four entries: phases turn seven times, order is kept."""
    ports = opened(hosts, 5, dq_log2=2, cq_log2=2, rq_log2=2)
    tags, values = [], []
    for value in range(1, 31):
        ports[0].post(send(value, vp=5))
        ports[0].ring()
        while (completion := ports[0].poll()) is None:
            cluster.run_for(20)
        assert (completion.status, completion.kind, completion.vp) == (Status.OK, CplKind.SEND, 5)
        tags.append(completion.tag)
        received = ports[1].receive()
        assert received is not None
        assert (received.source_id, received.source_vp, len(received.payload)) == (0, 5, 8)
        values.append(int.from_bytes(received.payload, "little"))
    assert tags == values == list(range(1, 31))
    assert ports[0].poll() is None
    assert ports[1].receive() is None


def test_full_receive_queue(cluster: Cluster, hosts: list[NodeDriver]) -> None:
    """The fifth mini packet finds no room; once the host has read one there is room again."""
    ports = opened(hosts, 1, rq_log2=2)
    ports[0].post(b"".join(send(value, vp=1) for value in range(5)))
    ports[0].watch_completions(5)
    ports[0].ring()
    assert cluster.run(100_000)
    outcome = [completion.status for completion in (ports[0].poll() for _ in range(5)) if completion is not None]
    assert outcome == [Status.OK] * 4 + [Status.RECEIVER_NOT_READY]
    received = ports[1].receive()
    assert received is not None
    assert received.payload == bytes(8)
    assert cluster.run(1000)
    ports[0].post(send(7, vp=1))
    ports[0].watch_completions(1)
    ports[0].ring()
    assert cluster.run(100_000)
    last = ports[0].poll()
    assert last is not None
    assert last.status is Status.OK


def test_bad_descriptors_end_in_errors_and_harm_nobody(cluster: Cluster, hosts: list[NodeDriver]) -> None:
    bad, good = opened(hosts, 2)[0], opened(hosts, 4)
    reserved = bytearray(send(1, vp=2))
    for field, offset in DESCRIPTOR.positions():
        if field.is_reserved:
            reserved[offset // 8] |= 1 << offset % 8
    bad.post(bytes(reserved))
    bad.post(send(2, vp=3))
    bad.post(DESCRIPTOR.pack(
        kind=Kind.RDMA, p2p_op=P2pOp.PUT, source_vp=2, dest_id=1, dest_vp=2, length=64, local_addr=MEMORY_BYTES, tag=3,
    ))
    good[0].post(send(9, vp=4))
    bad.watch_completions(3)
    good[0].watch_completions(1)
    bad.ring()
    good[0].ring()
    assert cluster.run(100_000)
    outcome = [completion.status for completion in (bad.poll() for _ in range(3)) if completion is not None]
    assert outcome == [Status.BAD_DESCRIPTOR, Status.BAD_DESCRIPTOR, Status.BAD_ADDRESS]
    completion = good[0].poll()
    assert completion is not None
    assert completion.status is Status.OK
    received = good[1].receive()
    assert received is not None
    assert received.payload == (9).to_bytes(8, "little")


def test_rings_stand_where_the_nic_expects_them(cluster: Cluster, hosts: list[NodeDriver]) -> None:
    """Rings behind an allocation of 64 bytes: entries of 128 bytes are found all the same."""
    for driver in hosts:
        driver.allocate(64)
    ports = opened(hosts, 3)
    ports[0].post(send(11, vp=3))
    ports[0].watch_completions(1)
    ports[0].ring()
    assert cluster.run(100_000)
    received = ports[1].receive()
    assert received is not None
    assert received.payload == (11).to_bytes(8, "little")


def test_windows_and_gets(cluster: Cluster, hosts: list[NodeDriver]) -> None:
    """Memory of another node by GET, through a window for just that; withdrawn, it is refused."""
    reader, owner = (driver.open_port(6) for driver in hosts)
    local, far = (driver.allocate(2048) for driver in hosts)
    reader.open_window(local, local + 2048)
    owner.open_window(0, 0)
    owner.register_window(1, far, far + 1024, [Right.REMOTE_READ])
    data = bytes(range(256)) * 8
    hosts[1].store(far, data)

    def get(length: int, *, node: int = 1, **fields: int) -> Completion:
        reader.post(DESCRIPTOR.pack(**{
            "kind": Kind.RDMA, "p2p_op": P2pOp.GET, "source_vp": 6, "dest_id": node, "dest_vp": 6, "length": length,
            "local_addr": local, "remote_addr": far, **fields,
        }))
        reader.watch_completions(1)
        reader.ring()
        assert cluster.run(100_000)
        completion = reader.poll()
        assert completion is not None
        assert completion.kind is CplKind.GET
        return completion

    assert get(1000).status is Status.OK
    assert hosts[0].load(local, 1008) == data[:1000] + bytes(8)
    assert get(64, remote_addr=far + 1024 - 56).status is Status.REMOTE_ACCESS
    assert get(64, local_addr=local + 2048 - 56).status is Status.BAD_ADDRESS
    assert hosts[0].load(local, 2048) == data[:1000] + bytes(1048)
    owner.withdraw_window(1)
    refused = get(8)
    assert (refused.status, refused.detail) == (Status.REMOTE_ACCESS, far)
    with pytest.raises(HostError, match=r"^window of VP 6 must be 0 to 3 \(nic.n_windows\), not 4$"):
        owner.register_window(4, 0, 64)


def test_counters(cluster: Cluster, hosts: list[NodeDriver]) -> None:
    ports = opened(hosts, 0)
    ports[0].post(send(1, vp=0))
    ports[0].watch_completions(1)
    ports[0].ring()
    assert cluster.run(100_000)
    sender, receiver = ports[0].driver, ports[1].driver
    assert [sender.read_counter(name) for name in ("tx_packets", "rx_packets", "descriptors", "completions")] == [1] * 4
    assert receiver.read_counter("rx_packets") == 1
    assert sender.read_counter("completion_errors") == 0


def test_memory_runs_out(hosts: list[NodeDriver]) -> None:
    driver = hosts[0]
    first, second = driver.allocate(1), driver.allocate(100)
    assert (first % 64, second - first) == (0, 64)
    with pytest.raises(HostError, match=r"memory of node 0 must hold \d+ bytes, not 65536"):
        driver.allocate(MEMORY_BYTES)
    with pytest.raises(HostError, match="descriptor ring of VP 1 must hold 3 entries, not 2"):
        driver.open_port(1, dq_log2=1).post(bytes(3 * DESCRIPTOR.bytes))


class NarrowNic:
    """Registers of a NIC whose addresses have 40 bits, and a memory; nothing happens in it."""

    def __init__(self) -> None:
        self.memories = [np.zeros(MEMORY_BYTES, np.uint8)]
        self.cycle = 0
        self.registers: dict[int, int] = {}

    def answer_key(self, node: int) -> int:
        """Any."""
        return node

    def read_register(self, node: int, address: int) -> int:
        """Zero if it has not been written."""
        if address == REGISTERS["n_windows"]:
            return 4
        return self.registers.get(address, 0)

    def write_register(self, node: int, address: int, value: int, *, not_before: int = 0) -> None:
        """Of the upper half of an address 8 bits are kept."""
        upper = {REGISTERS[f"vp_{name}_hi"] for name in ("dq_base", "window_base", "window_limit")}
        self.registers[address] = value & 0xFF if address in upper else value

    def watch(self, node: int, address: int) -> None:
        """Nothing is ever written."""

    def run(self, most: int) -> bool:
        """Nothing runs."""
        return True

    def run_for(self, cycles: int) -> None:
        """Nothing runs."""

    def check_registers(self) -> None:
        """None fails."""


def test_addresses_that_there_are_not() -> None:
    """Windows up to the highest limit that can be written; what has more bits is refused, and not registered."""
    nic = NarrowNic()
    port = NodeDriver(nic, 0).open_port(1)
    port.open_window(0, (1 << 40) - 1)
    assert nic.registers[REGISTERS["vp_commit"]] == registers.CONTROL_PAGE.pack("vp_commit", enable=1)
    port.register_window(2, 1 << 39, (1 << 39) + 64)
    assert [nic.registers[REGISTERS[f"vp_window_{name}"]] for name in ("base_hi", "limit_lo")] == [1 << 7, 64]
    nic.registers[REGISTERS["vp_commit"]] = nic.registers[REGISTERS["window_commit"]] = 0
    with pytest.raises(HostError) as refused:
        port.open_window(0, 1 << 40)
    assert str(refused.value) == (
        "vp_window_limit of VP 1 must be below 2**40 (nic.address_bits), not 0x10000000000"
    )
    with pytest.raises(HostError, match=r"^vp_window_base of VP 1 must be below 2\*\*40 .*, not 0x8000000000001000$"):
        port.register_window(2, 1 << 63 | 0x1000, 0x2000)
    assert nic.registers[REGISTERS["vp_commit"]] == nic.registers[REGISTERS["window_commit"]] == 0
