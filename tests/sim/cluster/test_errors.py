"""Every error that a host can provoke through the host library, on the RTL of a cluster: one test each.

``docs/errors.md`` lists them, with those that need damaged packets or memories and stand beside the units. In most
tests another port of the same NIC works on: errors hit only who caused them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_models.abi.encoding import CplKind, Kind, Operand, Operator, P2pOp, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import Config
from firmware_models.host import Completion, NodeDriver, Port
from sim.cluster import Cluster
from sim.fabric.topology import parse_topology

MEMORY_BYTES = 1 << 17
BAD_VP, GOOD_VP, CLOSED_VP = 2, 4, 7
LENGTH = 64
JOB = 6


class Hosts:
    """Two nodes; each has a port that errs, and one that goes on."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.drivers = [NodeDriver(cluster, node) for node in range(2)]
        self.ports: dict[tuple[int, int], Port] = {}
        self.windows: dict[tuple[int, int], int] = {}
        for driver in self.drivers:
            driver.start()
            driver.set_watchdog(2_000)
            for vp in (BAD_VP, GOOD_VP):
                port = driver.open_port(vp, dq_log2=4, cq_log2=4, rq_log2=1)
                window = driver.allocate(4 * LENGTH)
                port.open_window(window, window + 4 * LENGTH)
                self.ports[driver.node, vp], self.windows[driver.node, vp] = port, window
        assert cluster.run(1_000_000)
        cluster.run_for(6_000)

    def collective(self, vp: int = BAD_VP, node: int = 0, **fields: int) -> dict[str, int]:
        """A sequence of one descriptor that writes the operand to the result."""
        window = self.windows[node, vp]
        return {
            "kind": Kind.RDMA, "c": 1, "ch": 1, "ct": 1, "job_id": JOB, "source_vp": vp, "length": LENGTH,
            "pulse_bytes": 64, "operand": Operand.MEMORY, "local_addr": window, "result_addr": window + LENGTH,
            "write_back": 1, **fields,
        }

    def put(self, **fields: int) -> dict[str, int]:
        """A put of node 0 to node 1."""
        return {
            "kind": Kind.RDMA, "p2p_op": P2pOp.PUT, "source_vp": BAD_VP, "dest_id": 1, "dest_vp": BAD_VP,
            "length": LENGTH, "local_addr": self.windows[0, BAD_VP], "remote_addr": self.windows[1, BAD_VP], **fields,
        }

    def send(self, **fields: int) -> dict[str, int]:
        """A mini packet of node 0 to node 1."""
        return {
            "kind": Kind.MP, "p2p_op": P2pOp.SEND, "source_vp": BAD_VP, "dest_id": 1, "dest_vp": BAD_VP, "length": 8,
            "payload": 1, **fields,
        }

    def post(self, node: int, vp: int, *descriptors: dict[str, int]) -> None:
        """Rings for some descriptors."""
        port = self.ports[node, vp]
        port.post(b"".join(DESCRIPTOR.pack(**fields) for fields in descriptors))
        port.ring()

    def outcome(self, *descriptors: dict[str, int], cycles: int = 10_000) -> Completion:
        """The one completion of some descriptors of node 0, while its other port works on."""
        self.post(0, BAD_VP, *descriptors)
        self.post(0, GOOD_VP, self.collective(GOOD_VP, job_id=JOB + 1))
        self.cluster.run_for(cycles)
        good, bad = self.ports[0, GOOD_VP].poll(), self.ports[0, BAD_VP].poll()
        assert good is not None
        assert good.status is Status.OK
        assert bad is not None
        assert self.ports[0, BAD_VP].poll() is None
        assert self.drivers[0].read_counter("completion_errors") == 1
        return bad


@pytest.fixture
def hosts(library: Path) -> Iterator[Hosts]:
    """Both nodes, up."""
    with Cluster(library, parse_topology("star:2"), memory_bytes=MEMORY_BYTES, seed=3) as cluster:
        yield Hosts(cluster)


def test_bad_descriptor(hosts: Hosts) -> None:
    """A descriptor in the name of another VP."""
    completion = hosts.outcome(hosts.send(source_vp=GOOD_VP))
    assert completion.status is Status.BAD_DESCRIPTOR


def test_bad_sequence(hosts: Hosts) -> None:
    """Another job inside of a sequence; `detail` is the place of the descriptor at fault."""
    completion = hosts.outcome(hosts.collective(ct=0), hosts.collective(ch=0, job_id=JOB + 2))
    assert (completion.status, completion.detail) == (Status.BAD_SEQUENCE, 1)


def test_bad_address(hosts: Hosts) -> None:
    """An operand that ends behind the window."""
    completion = hosts.outcome(hosts.collective(local_addr=hosts.windows[0, BAD_VP] + 4 * LENGTH - 8))
    assert completion.status is Status.BAD_ADDRESS
    assert not any(hosts.drivers[0].load(hosts.windows[0, BAD_VP] + LENGTH, LENGTH))


def test_bad_length(hosts: Hosts) -> None:
    """A mini packet of 65 bytes."""
    completion = hosts.outcome(hosts.send(length=65))
    assert completion.status is Status.BAD_LENGTH


def test_unsupported(hosts: Hosts) -> None:
    """Doubles have no exclusive or."""
    completion = hosts.outcome(hosts.collective(cp_count=1, reduce_flag=1, operator=Operator.XOR))
    assert completion.status is Status.UNSUPPORTED


def test_memory_error(hosts: Hosts) -> None:
    """A window that reaches beyond the host's memory, and an operand there."""
    hosts.ports[0, BAD_VP].open_window(0, 1 << 40)
    completion = hosts.outcome(hosts.collective(local_addr=MEMORY_BYTES, result_addr=hosts.windows[0, BAD_VP]))
    assert (completion.status, completion.kind) == (Status.MEMORY_ERROR, CplKind.COLLECTIVE)


def test_remote_access(hosts: Hosts) -> None:
    """A put behind the window of the other side; its memory is not touched, and `detail` says where."""
    behind = hosts.windows[1, BAD_VP] + 4 * LENGTH
    before = hosts.drivers[1].load(behind, LENGTH)
    hosts.drivers[0].store(hosts.windows[0, BAD_VP], b"\xa5" * LENGTH)
    completion = hosts.outcome(hosts.put(remote_addr=behind))
    assert (completion.status, completion.detail) == (Status.REMOTE_ACCESS, behind)
    assert hosts.drivers[1].load(behind, LENGTH) == before


def test_receiver_not_ready(hosts: Hosts) -> None:
    """A mini packet for a VP that nobody has opened."""
    completion = hosts.outcome(hosts.send(dest_vp=CLOSED_VP))
    assert (completion.status, completion.kind) == (Status.RECEIVER_NOT_READY, CplKind.SEND)


def test_length_mismatch(hosts: Hosts) -> None:
    """A sender with half the message; `detail`: SeqID, pulse, and the packet's length. The data are not used."""
    hosts.drivers[0].store(hosts.windows[0, BAD_VP], b"\x3f" * LENGTH)
    hosts.post(1, BAD_VP, hosts.collective(node=1, length=LENGTH // 2, cp=1, dest_id=0, dest_vp=BAD_VP, write_back=0))
    completion = hosts.outcome(hosts.collective(cp_count=1, reduce_flag=1))
    assert (completion.status, completion.detail) == (Status.LENGTH_MISMATCH, LENGTH // 2 << 32)
    assert hosts.drivers[0].load(hosts.windows[0, BAD_VP] + LENGTH, LENGTH) == b"\x3f" * LENGTH


def test_timeout(hosts: Hosts) -> None:
    """Two packets wanted, one sent; `detail`: one consumed, pulse 0, SeqID 1 missing. The next operation is served."""
    hosts.post(1, BAD_VP, hosts.collective(node=1, cp=1, dest_id=0, dest_vp=BAD_VP, write_back=0))
    completion = hosts.outcome(hosts.collective(cp_count=2, reduce_flag=1))
    assert (completion.status, completion.detail) == (Status.TIMEOUT, 1 | 1 << 32 + 1)
    hosts.post(0, BAD_VP, hosts.collective())
    hosts.cluster.run_for(5_000)
    following = hosts.ports[0, BAD_VP].poll()
    assert following is not None
    assert following.status is Status.OK


def test_no_place(hosts: Hosts, small: Config) -> None:
    """As many operations as the offload units have places for wait for packets; one more ends, those go on."""
    driver, places = hosts.drivers[0], small.nic.n_cous * small.cou.n_jobs
    for node in hosts.drivers:
        node.set_watchdog(0)
    driver.set_retry_limit(1_000)
    waiting = [driver.open_port(CLOSED_VP + number, dq_log2=2, cq_log2=2, rq_log2=1) for number in range(places)]
    for number, port in enumerate(waiting):
        window = driver.allocate(2 * LENGTH)
        port.open_window(window, window + 2 * LENGTH)
        port.post(DESCRIPTOR.pack(**hosts.collective() | {
            "source_vp": port.vp, "job_id": 100 + number, "local_addr": window, "result_addr": window + LENGTH,
            "cp_count": 1,
        }))
        port.ring()
    hosts.cluster.run_for(5_000)
    begin = hosts.cluster.cycle
    hosts.post(0, BAD_VP, hosts.collective())
    hosts.cluster.run_for(5_000)
    completion = hosts.ports[0, BAD_VP].poll()
    assert completion is not None
    assert (completion.status, completion.kind, completion.detail) == (Status.NO_PLACE, CplKind.COLLECTIVE, 0)
    assert 900 <= completion.timestamp - begin <= 2_000  # the NIC counts from its reset on, the cluster from before
    assert [port.poll() for port in waiting] == [None] * places


def test_timeout_of_a_message(hosts: Hosts) -> None:
    """A peer that is gone: a mini packet that nobody answers; `detail` counts fragments without answer."""
    hosts.drivers[1].set_node_id(5)
    completion = hosts.outcome(hosts.send(), cycles=20_000)
    assert (completion.status, completion.kind, completion.detail) == (Status.TIMEOUT, CplKind.SEND, 1)


def test_rx_wrong_node(hosts: Hosts) -> None:
    """A packet that the switch brings to a NIC of another name."""
    hosts.drivers[1].set_node_id(5)
    hosts.outcome(hosts.send(), cycles=20_000)
    assert hosts.drivers[1].read_counter("rx_wrong_node") == 1
    assert hosts.ports[1, BAD_VP].receive() is None


def test_rx_duplicates(hosts: Hosts) -> None:
    """Two packets with one key: the second is dropped, and the first is what is added."""
    window = hosts.windows[1, BAD_VP]
    hosts.drivers[1].store(window, b"\x3f" * LENGTH + b"\x40" * LENGTH)
    one = hosts.collective(node=1, cp=1, dest_id=0, dest_vp=BAD_VP, write_back=0)
    hosts.post(1, BAD_VP, one | {"ct": 0}, one | {"ch": 0, "local_addr": window + LENGTH})
    hosts.cluster.run_for(2_000)
    assert hosts.drivers[0].read_counter("rx_duplicates") == 1
    hosts.post(0, BAD_VP, hosts.collective(cp_count=1, reduce_flag=1))
    hosts.cluster.run_for(5_000)
    completion = hosts.ports[0, BAD_VP].poll()
    assert completion is not None
    assert completion.status is Status.OK
    assert hosts.drivers[0].load(hosts.windows[0, BAD_VP] + LENGTH, LENGTH) == b"\x3f" * LENGTH


def test_completion_errors(hosts: Hosts) -> None:
    """Counted once for each operation that ends in an error, and for no other."""
    hosts.outcome(hosts.send(length=65))
    hosts.post(0, BAD_VP, hosts.send(length=65), hosts.send(), hosts.collective(local_addr=0))
    hosts.cluster.run_for(5_000)
    assert hosts.drivers[0].read_counter("completions") == 5
    assert hosts.drivers[0].read_counter("completion_errors") == 3
