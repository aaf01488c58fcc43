"""Every flag of the paper's descriptor (figure 2), on the RTL of a cluster: what it does, and that it is the flag.

Each test runs a scenario with the flag and without it, all else equal. ``docs/errors.md`` lists them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from firmware_models.abi.encoding import CplKind, Kind, Operand, P2pOp, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.host import Completion, NodeDriver, Port
from sim.cluster import Cluster
from sim.fabric.topology import parse_topology

MEMORY_BYTES = 1 << 17
LENGTH = 16
JOB = 9
VPS = (3, 5, 6)
OWN = {node: np.array([1.5 + node, -2.0**node]) for node in range(3)}
"""Operands; all sums of them are exact."""
Fields = dict[str, int]


@dataclass
class Ring:
    """A port, and where its data lie."""

    port: Port
    local: int
    result: int
    other: int

    def read(self, address: int) -> list[float]:
        """The two doubles at `address`."""
        return np.frombuffer(self.port.driver.load(address, LENGTH)).tolist()


class Nodes:
    """Three nodes with three ports each."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.drivers = [NodeDriver(cluster, node) for node in range(3)]
        self.rings: dict[tuple[int, int], Ring] = {}
        for driver in self.drivers:
            driver.start()
            driver.set_watchdog(3_000)
            for vp in VPS:
                port = driver.open_port(vp, dq_log2=4, cq_log2=4)
                local, result, other = (driver.allocate(64) for _ in range(3))
                driver.store(local, OWN[driver.node].tobytes())
                port.open_window(local, other + 64)
                self.rings[driver.node, vp] = Ring(port, local, result, other)
        assert cluster.run(1_000_000)
        cluster.run_for(6_000)

    def ring(self, node: int, vp: int = VPS[0]) -> Ring:
        """A port with its data."""
        return self.rings[node, vp]

    def descriptor(self, node: int, vp: int = VPS[0], **fields: int) -> Fields:
        """A collective descriptor that takes the node's operand, and does nothing with it."""
        ring = self.ring(node, vp)
        return {
            "kind": Kind.RDMA, "c": 1, "job_id": JOB, "source_vp": vp, "length": LENGTH, "pulse_bytes": 64,
            "operand": Operand.MEMORY, "local_addr": ring.local, "result_addr": ring.result, **fields,
        }

    def post(self, node: int, *descriptors: Fields, vp: int = VPS[0]) -> None:
        """Puts descriptors into the ring of a port and rings the doorbell."""
        port = self.ring(node, vp).port
        port.post(b"".join(DESCRIPTOR.pack(**fields) for fields in descriptors))
        port.ring()

    def completions(self, node: int, vp: int = VPS[0], *, cycles: int = 10_000) -> list[Completion]:
        """Completions of a port after some time."""
        self.cluster.run_for(cycles)
        port = self.ring(node, vp).port
        found = []
        while (completion := port.poll()) is not None:
            found.append(completion)
        return found

    def statuses(self, node: int, vp: int = VPS[0], *, cycles: int = 10_000) -> list[Status]:
        """How they ended."""
        return [completion.status for completion in self.completions(node, vp, cycles=cycles)]

    def sent(self, node: int) -> int:
        """Packets of a node, but those that return a shared credit that it had no use for."""
        returned = sum(driver.read_counter("loans_unused") for driver in self.drivers)
        return self.drivers[node].read_counter("tx_packets") - returned


@pytest.fixture
def clusters(library: Path) -> Iterator["Maker"]:
    """Makes clusters, one for each scenario, and closes them."""
    maker = Maker(library)
    yield maker
    for cluster in maker.made:
        cluster.close()


class Maker:
    """Makes clusters of three nodes."""

    def __init__(self, library: Path):
        self.library = library
        self.made: list[Cluster] = []

    def __call__(self) -> Nodes:
        self.made.append(Cluster(self.library, parse_topology("star:3"), memory_bytes=MEMORY_BYTES, seed=7))
        return Nodes(self.made[-1])


def one(nodes: Nodes, node: int, **fields: int) -> Fields:
    """A whole sequence in one descriptor."""
    return nodes.descriptor(node, ch=1, ct=1, **fields)


def sender(nodes: Nodes, node: int, to: int = 0, **fields: int) -> Fields:
    """A sequence that sends the node's operand."""
    return one(nodes, node, cp=1, dest_id=to, dest_vp=VPS[0], **fields)


def plus(*operands: int) -> list[float]:
    """The sum of some nodes' operands."""
    return np.sum([OWN[node] for node in operands], axis=0).tolist()


def received(clusters: Maker, sends: Fields, takes: Fields) -> tuple[list[float], list[float]]:
    """Data that node 0 has at its result and at its other place, after node 1 has sent it a packet."""
    nodes = clusters()
    place = nodes.ring(0)
    if "remote_addr" in sends:
        sends = sends | {"remote_addr": place.other}
    nodes.post(0, one(nodes, 0, cp_count=1, write_back=1, **takes))
    nodes.post(1, sender(nodes, 1, **sends))
    assert nodes.statuses(0) == nodes.statuses(1, cycles=0) == [Status.OK]
    return place.read(place.result), place.read(place.other)


def test_c(clusters: Maker) -> None:
    """C: the descriptor is collective; without it the same one is a mini packet."""
    nodes = clusters()
    payload = int.from_bytes(OWN[2].tobytes(), "little")
    fields = nodes.descriptor(0) | {
        "kind": Kind.MP, "p2p_op": P2pOp.SEND, "payload": payload, "local_addr": 0, "dest_id": 1, "dest_vp": VPS[1],
        "operand": Operand.PAYLOAD, "write_back": 1,
    }
    nodes.post(0, fields | {"ch": 1, "ct": 1})
    assert [(each.kind, each.status) for each in nodes.completions(0)] == [(CplKind.COLLECTIVE, Status.OK)]
    assert nodes.ring(0).read(nodes.ring(0).result) == OWN[2].tolist()
    assert nodes.ring(1, VPS[1]).port.receive() is None

    nodes.drivers[0].store(nodes.ring(0).result, bytes(LENGTH))
    nodes.post(0, fields | {"c": 0})
    assert [(each.kind, each.status) for each in nodes.completions(0)] == [(CplKind.SEND, Status.OK)]
    assert nodes.ring(0).read(nodes.ring(0).result) == [0, 0]
    message = nodes.ring(1, VPS[1]).port.receive()
    assert message is not None
    assert message.payload == OWN[2].tobytes()


@pytest.mark.parametrize(("marks", "expected"), [
    (((1, 0), (0, 1)), [Status.OK]),
    (((0, 0), (0, 1)), [Status.BAD_SEQUENCE]),
    (((1, 1), (1, 1)), [Status.OK, Status.OK]),
    (((1, 0), (1, 1)), [Status.BAD_SEQUENCE, Status.OK]),
])
def test_ch(clusters: Maker, marks: Sequence[tuple[int, int]], expected: list[Status]) -> None:
    """CH: a sequence begins; not without it, and where one stands a new one does."""
    nodes = clusters()
    nodes.post(0, *(nodes.descriptor(0, ch=ch, ct=ct, write_back=ct) for ch, ct in marks))
    assert nodes.statuses(0) == expected
    done = nodes.ring(0).read(nodes.ring(0).result) == plus(0)
    assert done == (Status.OK in expected)


@pytest.mark.parametrize(("ct", "expected"), [(1, [Status.OK]), (0, [Status.BAD_SEQUENCE])])
def test_ct(clusters: Maker, ct: int, expected: list[Status]) -> None:
    """CT: the sequence ends, and with it the operation; without it the doorbell's end refuses what was begun."""
    nodes = clusters()
    nodes.post(0, nodes.descriptor(0, ch=1), nodes.descriptor(0, ct=ct, write_back=1))
    found = nodes.completions(0)
    assert [completion.status for completion in found] == expected
    assert nodes.ring(0).read(nodes.ring(0).result) == (plus(0) if ct else [0, 0])


@pytest.mark.parametrize("cp", [1, 0])
def test_cp(clusters: Maker, cp: int) -> None:
    """CP: the result is sent, and triggers at the destination; without it nothing leaves, and that waits in vain."""
    nodes = clusters()
    nodes.post(0, one(nodes, 0, cp_count=1, reduce_flag=1, write_back=1))
    nodes.post(1, sender(nodes, 1) | {"cp": cp})
    assert nodes.statuses(0) == [Status.OK if cp else Status.TIMEOUT]
    assert nodes.statuses(1) == [Status.OK]
    assert nodes.sent(1) == cp
    assert nodes.ring(0).read(nodes.ring(0).result) == (plus(0, 1) if cp else [0, 0])


def test_cp_count(clusters: Maker) -> None:
    """CPCount: with 2 one packet is not enough, whichever it is; a descriptor with the same count needs no more."""
    nodes = clusters()
    ring = nodes.ring(0)
    last = nodes.descriptor(0, ct=1, cp_count=2, operand=Operand.INTERMEDIATE, write_back=1, local_addr=0)
    nodes.post(0, nodes.descriptor(0, ch=1, cp_count=2, reduce_flag=1), last | {"result_addr": ring.other})
    nodes.post(2, sender(nodes, 2, out_seq_id=1))
    assert nodes.statuses(0, cycles=2_000) == []
    nodes.post(1, sender(nodes, 1, out_seq_id=0))
    assert nodes.statuses(0) == [Status.OK]
    assert ring.read(ring.other) == plus(0, 1, 2)

    nodes.post(0, one(nodes, 0, cp_count=1, reduce_flag=1, write_back=1))
    nodes.post(2, sender(nodes, 2, out_seq_id=0))
    assert nodes.statuses(0) == [Status.OK]
    assert ring.read(ring.result) == plus(0, 2)


@pytest.mark.parametrize(("takes", "expected"), [
    ({"swap_local_data": 1}, plus(1)), ({}, plus(0)), ({"reduce_flag": 1}, plus(0, 1)),
])
def test_swap_local_data(clusters: Maker, takes: Fields, expected: list[float]) -> None:
    """SwapLocalData: the packet's data replace the descriptor's; without it they are ignored, or added."""
    assert received(clusters, {}, takes) == (expected, [0, 0])


@pytest.mark.parametrize(("flag", "expected"), [(1, Status.OK), (0, Status.TIMEOUT)])
def test_swap_local_vp(clusters: Maker, flag: int, expected: Status) -> None:
    """SwapLocalVP: the answer goes to the VP that the packet came from; without it to DestVP."""
    asking, named = VPS[1:]
    nodes = clusters()
    nodes.post(0, one(nodes, 0, cp_count=1, cp=1, swap_local_vp=flag, dest_id=1, dest_vp=named))
    ask = nodes.descriptor(1, asking, ch=1, cp=1, dest_id=0, dest_vp=VPS[0])
    wait = nodes.descriptor(1, asking, ct=1, cp_count=1, swap_local_data=1, write_back=1, operand=Operand.NONE)
    nodes.post(1, ask, wait, vp=asking)
    assert nodes.statuses(1, asking) == [expected]
    ring = nodes.ring(1, asking)
    assert ring.read(ring.result) == (plus(0) if flag else [0, 0])


@pytest.mark.parametrize(("flag", "expected"), [(1, plus(1)), (0, plus(0, 1))])
def test_swap_remote_data(clusters: Maker, flag: int, expected: list[float]) -> None:
    """SwapRemoteData: the sender has its data replace the receiver's, which would have added them."""
    assert received(clusters, {"swap_remote_data": flag}, {"reduce_flag": 1}) == (expected, [0, 0])


@pytest.mark.parametrize(("flag", "expected"), [(1, ([0, 0], plus(0, 1))), (0, (plus(0, 1), [0, 0]))])
def test_swap_remote_addr(clusters: Maker, flag: int, expected: tuple[list[float], list[float]]) -> None:
    """SwapRemoteAddr: the sender says where the receiver's result goes."""
    assert received(clusters, {"swap_remote_addr": flag, "remote_addr": 1}, {"reduce_flag": 1}) == expected


@pytest.mark.parametrize(("flag", "expected"), [(1, plus(0, 1)), (0, plus(0))])
def test_reduce_flag(clusters: Maker, flag: int, expected: list[float]) -> None:
    """ReduceFlag: the packet's data are combined with the descriptor's; without it it only triggers."""
    assert received(clusters, {}, {"reduce_flag": flag}) == (expected, [0, 0])


@pytest.mark.parametrize("flag", [1, 0])
def test_coll_end_flag(clusters: Maker, flag: int) -> None:
    """CollEndFlag: the collective ends where the packet is consumed, its result is written, nothing goes on."""
    nodes = clusters()
    nodes.post(
        0, nodes.descriptor(0, ch=1, cp_count=1, reduce_flag=1, cp=1, dest_id=2, dest_vp=VPS[0]),
        nodes.descriptor(0, ct=1, cp_count=2, reduce_flag=1, operand=Operand.INTERMEDIATE, local_addr=0),
    )
    nodes.post(2, one(nodes, 2, cp_count=1, reduce_flag=1, write_back=1))
    nodes.post(1, sender(nodes, 1, coll_end_flag=flag))
    assert nodes.statuses(0) == [Status.OK if flag else Status.TIMEOUT]
    assert nodes.ring(0).read(nodes.ring(0).result) == (plus(0, 1) if flag else [0, 0])
    assert nodes.statuses(2) == [Status.TIMEOUT if flag else Status.OK]
    assert nodes.ring(2).read(nodes.ring(2).result) == ([0, 0] if flag else plus(0, 1, 2))
