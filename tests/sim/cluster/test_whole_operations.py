"""A PUT or GET that one memory window does not hold as a whole moves nothing, however much of it lies inside."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from firmware_models.abi.encoding import Kind, P2pOp, Right, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import Config
from firmware_models.host import Port
from sim.cluster import Cluster, Execution, build_library
from sim.fabric.topology import parse_topology
from sim.operation.session import Session

VP, SIZE, FLIT = 1, 1 << 16, 8
LOW, MIDDLE, HIGH = 1 << 12, 1 << 15, 1 << 15 | 1 << 14
"""Two windows side by side in the memory of the far side: [LOW, MIDDLE) and [MIDDLE, HIGH)."""
NEAR, FAR = 0x11, 0x22
"""Bytes that fill the memory of the side that asks, and of the other one."""
BOTH = pytest.mark.parametrize("op", [P2pOp.PUT, P2pOp.GET], ids=lambda op: op.name)


@dataclass
class Pair:
    """Two nodes: the first one asks, memory of the second one is in two windows.

    Members
    -------
    near, far : Port
        Ports of both nodes.
    base, there : int
        Their memory, `SIZE` bytes each.
    """

    cluster: Cluster
    near: Port
    far: Port
    base: int
    there: int

    def begin(self, op: P2pOp, remote: int, length: int) -> None:
        """Fills both memories and posts an operation at `remote`, any address of the other node."""
        for port, base, byte in ((self.near, self.base, NEAR), (self.far, self.there, FAR)):
            port.driver.store(base, bytes([byte]) * SIZE)
        self.near.watch_completions(1)
        self.near.post(DESCRIPTOR.pack(
            kind=Kind.RDMA, p2p_op=op, source_vp=VP, dest_vp=VP, dest_id=1, length=length, local_addr=self.base,
            remote_addr=remote % (1 << 64),
        ))
        self.near.ring()

    def end(self, op: P2pOp) -> tuple[Status, int, int]:
        """Status and detail of the operation, and bytes that it has moved."""
        assert self.cluster.run(1_000_000)
        completion = self.near.poll()
        assert completion is not None
        self.cluster.run_for(10_000)
        moved = (
            self.far.driver.load(self.there, SIZE).count(NEAR) if op == P2pOp.PUT
            else self.near.driver.load(self.base, SIZE).count(FAR)
        )
        return completion.status, completion.detail, moved

    def settle(self) -> None:
        """Lets the NICs take what has been written to their registers."""
        self.cluster.run_for(2_000)


@pytest.fixture(scope="module")
def pair(small: Config) -> Iterator[Pair]:
    """Both nodes, ready."""
    with Cluster(
        build_library(small), parse_topology("star:2"), memory_bytes=1 << 18, execution=Execution(threads=1),
    ) as cluster:
        session = Session(cluster, small, nodes=2)
        near, far = (driver.open_port(VP) for driver in session.drivers)
        base, there = (driver.allocate(SIZE, alignment=4096) for driver in session.drivers)
        near.open_window(base, base + SIZE)
        far.open_window(there + LOW, there + MIDDLE)
        far.register_window(1, there + MIDDLE, there + HIGH)
        session.configure()
        session.warm_up()
        yield Pair(cluster, near, far, base, there)


def lengths(config: Config) -> list[int]:
    """Lengths of several fragments: at the boundaries of those of PUT and of GET."""
    mtu = config.datapath.mtu
    part = mtu - config.datapath.flit_bytes
    return [mtu + 1, 2 * part - 1, 2 * part, 2 * part + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1]


@BOTH
@pytest.mark.parametrize("where", ["before", "far-before", "behind", "across", "around-the-top", "from-the-top"])
def test_outside_in_part(pair: Pair, small: Config, op: P2pOp, where: str) -> None:
    for length in lengths(small):
        whole = -(-length // FLIT) * FLIT
        remote = {
            "before": pair.there + LOW - FLIT, "far-before": pair.there + LOW - whole + FLIT,
            "behind": pair.there + HIGH - whole + FLIT, "across": pair.there + MIDDLE - whole // 2 // FLIT * FLIT,
            "around-the-top": -(whole // 2 // FLIT) * FLIT, "from-the-top": -FLIT,
        }[where]
        pair.begin(op, remote, length)
        assert pair.end(op) == (Status.REMOTE_ACCESS, remote % (1 << 64), 0), length


@BOTH
def test_inside(pair: Pair, small: Config, op: P2pOp) -> None:
    """An operation that one window holds whole is moved whole: at both ends of a window, and all of it."""
    for length in lengths(small):
        for remote in (pair.there + LOW, pair.there + MIDDLE - -(-length // FLIT) * FLIT, pair.there + MIDDLE):
            pair.begin(op, remote, length)
            assert pair.end(op) == (Status.OK, 0, length), length
    for remote, limit in ((LOW, MIDDLE), (MIDDLE, HIGH)):
        pair.begin(op, pair.there + remote, limit - remote)
        assert pair.end(op) == (Status.OK, 0, limit - remote)


@BOTH
def test_a_flit_short(pair: Pair, small: Config, op: P2pOp) -> None:
    """A window that lacks a flit at either end is none for the operation; one that lacks nothing is."""
    for length in lengths(small):
        first, last = pair.there + MIDDLE, pair.there + MIDDLE + -(-length // FLIT) * FLIT
        for base, limit, status in ((first + FLIT, last, Status.REMOTE_ACCESS), (first, last, Status.OK),
                                    (first, first + length - 1, Status.REMOTE_ACCESS)):
            pair.far.register_window(1, base, limit)
            pair.settle()
            pair.begin(op, first, length)
            found, _, moved = pair.end(op)
            assert (found, moved) == (status, length * (status is Status.OK)), length
    pair.far.register_window(1, pair.there + MIDDLE, pair.there + HIGH)
    pair.settle()


@BOTH
def test_no_right(pair: Pair, op: P2pOp) -> None:
    """Of two windows side by side the second one lacks the right, then it is withdrawn between two operations."""
    length, remote = HIGH - MIDDLE, pair.there + MIDDLE
    wanted = Right.REMOTE_WRITE if op == P2pOp.PUT else Right.REMOTE_READ
    pair.far.register_window(1, remote, pair.there + HIGH, [right for right in Right if right != wanted])
    pair.settle()
    pair.begin(op, remote, length)
    assert pair.end(op) == (Status.REMOTE_ACCESS, remote, 0)
    pair.far.register_window(1, remote, pair.there + HIGH, [wanted])
    pair.settle()
    pair.begin(op, remote, length)
    assert pair.end(op) == (Status.OK, 0, length)
    pair.far.withdraw_window(1)
    pair.settle()
    pair.begin(op, remote, length)
    assert pair.end(op) == (Status.REMOTE_ACCESS, remote, 0)
    pair.far.register_window(1, remote, pair.there + HIGH)
    pair.settle()


@BOTH
def test_withdrawn_meanwhile(pair: Pair, op: P2pOp) -> None:
    """A window that is withdrawn while an operation goes on: fragments before are there, none behind them."""
    length, remote = MIDDLE - LOW, pair.there + LOW
    pair.begin(op, remote, length)
    pair.cluster.run_for(2_000)
    pair.far.withdraw_window(0)
    status, detail, moved = pair.end(op)
    assert status is Status.REMOTE_ACCESS
    assert 0 < moved < length
    assert detail == remote + moved
    pair.far.register_window(0, remote, pair.there + MIDDLE)
    pair.settle()
    pair.begin(op, remote, length)
    assert pair.end(op) == (Status.OK, 0, length)
