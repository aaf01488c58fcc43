"""The driver in C, compiled without a libc, against simulated NICs: one instance for each node."""

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import firmware_models.host
from firmware_models.abi.c_header import abi_header
from firmware_models.abi.encoding import CplKind, Datatype, Operator, Status
from firmware_models.golden import reference
from sim.cluster import Cluster
from sim.fabric.topology import parse_topology

SOURCE = Path(firmware_models.host.__file__).parent / "c"
FLAGS = ["-std=c99", "-ffreestanding", "-nostdlib", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror"]
NODES, VP, JOB = 4, 3, 5
OK, BAD_ARGUMENT, FULL, EMPTY = 0, -2, -3, -4
RINGS, WINDOW, WINDOW_BYTES = 0x1000, 0x4000, 0x8000
RESULT_AT = 0x4000
READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
IDLE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Platform(ctypes.Structure):
    """``conic_platform``."""

    _fields_ = (("read", READ), ("write", WRITE), ("idle", IDLE), ("context", ctypes.c_void_p),
                ("memory", ctypes.c_void_p), ("bus", ctypes.c_uint64))


class Port(ctypes.Structure):
    """``conic_port``."""

    _fields_ = (("platform", ctypes.c_void_p), *((name, ctypes.c_uint32) for name in (
        "vp", "dq", "cq", "dq_log2", "cq_log2", "produced", "fetched", "consumed", "pulse_bytes")))


class Request(ctypes.Structure):
    """``conic_allreduce_request``."""

    _fields_ = tuple((name, ctypes.c_uint32) for name in (
        "rank", "n_ranks", "job_id", "length", "datatype", "op", "operand", "result"))


class Result(ctypes.Structure):
    """``conic_result``."""

    _fields_ = (*((name, ctypes.c_uint32) for name in ("status", "kind", "job_id", "bytes", "tag")),
                ("detail", ctypes.c_uint64), ("timestamp", ctypes.c_uint64))


class Node:
    """The processor of one node, with its own instance of the driver's state."""

    def __init__(self, driver: ctypes.CDLL, cluster: Cluster, node: int):
        self.driver, self.node, self.memory = driver, node, cluster.memories[node]
        self.platform = Platform(
            read=READ(lambda _, address: cluster.read_register(node, address)),
            write=WRITE(lambda _, address, value: cluster.write_register(node, address, value)),
            idle=IDLE(lambda _: cluster.run_for(50)), memory=self.memory.ctypes.data,
        )
        self.port, self.result = Port(), Result()

    def start(self, *, dq_log2: int = 4) -> None:
        """The NIC, and a port of it."""
        assert self.driver.conic_start(ctypes.byref(self.platform), self.node) == OK
        rings = RINGS, WINDOW, WINDOW_BYTES
        assert self.driver.conic_open(self.address, ctypes.byref(self.platform), VP, dq_log2, 1, *rings) == OK

    def allreduce(self, operand: np.ndarray, *, slot: int = 0, n_ranks: int = NODES) -> int:
        """Posts one and rings; its outcome."""
        at = WINDOW + slot * operand.nbytes
        if n_ranks == NODES:
            self.memory[at:at + operand.nbytes] = operand.view(np.uint8)
        return self.driver.conic_allreduce(self.address, ctypes.byref(Request(
            rank=self.node, n_ranks=n_ranks, job_id=JOB, length=operand.nbytes, datatype=Datatype.FLOAT64,
            op=Operator.SUM, operand=at, result=at + RESULT_AT,
        )))

    def wait(self, attempts: int = 400) -> int:
        """The next completion into `result`."""
        return self.driver.conic_wait(self.address, ctypes.byref(self.result), attempts)

    def sum(self, n_elements: int, *, slot: int = 0) -> np.ndarray:
        """Result that has been written back."""
        at = WINDOW + RESULT_AT + slot * 8 * n_elements
        return self.memory[at:at + 8 * n_elements].view(np.float64)

    @property
    def address(self) -> object:
        """Of the port."""
        return ctypes.byref(self.port)


def compiled(folder: Path, *, planted: tuple[str, str] | None = None) -> ctypes.CDLL:
    """The driver as a library, with a text of it replaced."""
    text = (SOURCE / "conic_driver.c").read_text()
    if planted is not None:
        assert planted[0] in text, planted[0]
        text = text.replace(*planted)
    (folder / "conic_driver.c").write_text(text)
    (folder / "conic_driver.h").write_text((SOURCE / "conic_driver.h").read_text())
    (folder / "conic_abi.h").write_text(abi_header())
    library = folder / "driver.so"
    subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", folder / "conic_driver.c", "-o", library], check=True)
    return ctypes.CDLL(str(library))


@pytest.fixture
def cluster(library: Path) -> Iterator[Cluster]:
    """The NICs."""
    with Cluster(library, parse_topology(f"star:{NODES}"), memory_bytes=1 << 16) as made:
        yield made


def nodes_of(driver: ctypes.CDLL, cluster: Cluster, **sizes: int) -> list[Node]:
    """All nodes, started."""
    nodes = [Node(driver, cluster, node) for node in range(NODES)]
    for node in nodes:
        node.start(**sizes)
    return nodes


def go_around(nodes: list[Node], operations: int) -> None:
    """Operations one after the other, each compared bit by bit, through rings that wrap."""
    numbers = np.random.default_rng(1)
    for number in range(operations):
        n_elements = (1, 8, 300)[number % 3]
        rows = numbers.standard_normal((NODES, n_elements)) * 10.0 ** numbers.integers(-8, 9, (NODES, n_elements))
        golden = reference("allreduce", "recursive-doubling", rows).results
        assert [node.allreduce(row) for node, row in zip(nodes, rows, strict=True)] == [OK] * NODES
        for node, expected in zip(nodes, golden, strict=True):
            assert node.wait() == OK, f"operation {number}: no completion at node {node.node}"
            assert (node.result.status, node.result.kind) == (Status.OK, CplKind.COLLECTIVE)
            assert (node.result.job_id, node.result.bytes) == (JOB, 8 * n_elements)
            assert node.sum(n_elements).tobytes() == expected.tobytes(), f"operation {number}, node {node.node}"


def test_allreduce(cluster: Cluster, tmp_path: Path) -> None:
    """Three laps of the descriptor ring, nine of the completions'."""
    nodes = nodes_of(compiled(tmp_path), cluster)
    go_around(nodes, 18)
    assert [node.wait(2) for node in nodes] == [EMPTY] * NODES
    assert nodes[0].driver.conic_interrupt(ctypes.byref(nodes[0].platform)) == 1
    assert nodes[0].driver.conic_interrupt(ctypes.byref(nodes[0].platform)) == 0
    cluster.check_registers()


def test_no_libc(tmp_path: Path) -> None:
    """Nothing is asked of whoever links it."""
    compiled(tmp_path)
    symbols = subprocess.run(["nm", "-D", "-u", tmp_path / "driver.so"], check=True, capture_output=True, text=True)
    assert symbols.stdout == ""


def test_page(tmp_path: Path) -> None:
    """The code that the page for bare metal shows compiles against the driver's header."""
    compiled(tmp_path)
    page = (Path(__file__).resolve().parents[3] / "docs" / "integration.md").read_text()
    (tmp_path / "page.c").write_text(page.partition("```c\n")[2].partition("```")[0])
    subprocess.run(["gcc", *FLAGS, "-fsyntax-only", tmp_path / "page.c"], check=True)


def test_refusals(cluster: Cluster, tmp_path: Path) -> None:
    """A ring that is full to the brim, ranks that are no power of two, a NIC that is none."""
    nodes = nodes_of(compiled(tmp_path), cluster, dq_log2=3)
    row = np.ones(4)
    # Three descriptors each: two operations fit in eight places, a third does not, and nothing is written then.
    assert [nodes[0].allreduce(row, slot=slot) for slot in range(2)] == [OK, OK]
    ring = nodes[0].memory[RINGS:RINGS + 8 * 128].copy()
    assert nodes[0].allreduce(row, slot=2) == FULL
    assert (nodes[0].memory[RINGS:RINGS + 8 * 128] == ring).all()
    for node in nodes[1:]:
        assert [node.allreduce(row, slot=slot) for slot in range(2)] == [OK, OK]
    assert nodes[0].wait() == OK
    assert nodes[0].allreduce(row, slot=2) == OK
    for n_ranks in (0, 1, 3, 5):
        assert nodes[1].allreduce(row, n_ranks=n_ranks) == BAD_ARGUMENT
    node = nodes[2]
    node.platform.read = READ(lambda _, address: 0)
    assert node.driver.conic_start(ctypes.byref(node.platform), 2) == -1


@pytest.mark.parametrize("planted", [
    ("CONIC_VP_DQ_PROD, port->produced)", "CONIC_VP_DQ_PROD, port->produced - 1)"),
    ("if (conic_completion_get_phase(&entry) != phase)", "if (phase > 1)"),
    ("(port->consumed + 1) % INDEXES", "(port->consumed + 1) % ((1u << port->cq_log2) + 1)"),
    ("(port->produced + number) % size", "(port->produced + number) % (size + 1)"),
    ("port->fetched = result->tag % INDEXES", "(void)ahead"),
], ids=["doorbell one short", "phase ignored", "completions wrap late", "descriptors wrap late", "never fetched"])
def test_planted(cluster: Cluster, tmp_path: Path, planted: tuple[str, str]) -> None:
    nodes = nodes_of(compiled(tmp_path, planted=planted), cluster)
    with pytest.raises(AssertionError):
        go_around(nodes, 18)
