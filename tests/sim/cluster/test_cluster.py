"""A cluster as Python drives it: registers, memory, time, events, and that a seed repeats a run exactly."""

import re
from pathlib import Path

import numpy as np
import pytest

from firmware_models.abi import registers
from firmware_models.abi.encoding import PacketType
from firmware_models.abi.formats import DESCRIPTOR, PACKET_HEADER
from firmware_models.config import Config
from firmware_models.host import NodeDriver
from sim import cluster as cluster_module
from sim.cluster import Cluster, EventKind, LinkTiming, MemoryTiming, RegisterAccessError, SimulationFaultError
from sim.fabric.topology import parse_topology

REGISTER = {register.name: register.offset for register in registers.CONTROL_PAGE}
MEMORY_BYTES = 1 << 16


def test_registers(library: Path, small: Config) -> None:
    with Cluster(library, parse_topology("star:3"), memory_bytes=MEMORY_BYTES) as cluster:
        assert cluster.read_register(2, REGISTER["id"]) == registers.ID_VALUE
        assert cluster.read_register(1, REGISTER["n_vps"]) == small.nic.n_vps
        for node in range(3):
            cluster.write_register(node, REGISTER["node_id"], 0x1000 + node)
        later = cluster.cycle + 500
        cluster.write_register(0, REGISTER["watchdog"], 77, not_before=later)
        assert cluster.run(10_000)
        assert later < cluster.cycle < later + 50
        assert [cluster.read_register(node, REGISTER["node_id"]) for node in range(3)] == [0x1000, 0x1001, 0x1002]
        assert cluster.read_register(0, REGISTER["watchdog"]) == 77
        with pytest.raises(RegisterAccessError, match="register 0xffc of node 1 was answered with an error"):
            cluster.read_register(1, 0xFFC)
        with pytest.raises(RegisterAccessError, match="node 1: 1 accesses failed"):
            cluster.check_registers()


def test_nodes_that_are_not_there(library: Path) -> None:
    """No exception of C++ leaves the library: Python raises what says which node there is not."""
    with Cluster(library, parse_topology("star:3"), memory_bytes=MEMORY_BYTES) as cluster:
        for call in (
            lambda: cluster.watch(3, 0), lambda: cluster.was_written(3, 0), lambda: cluster.write_register(3, 0, 1),
            lambda: cluster.read_register(3, 0),
        ):
            with pytest.raises(SimulationFaultError, match="node must be below 3, not 3"):
                call()
        with pytest.raises(SimulationFaultError, match="switch must be below 1, not 1"):
            cluster.write_switch_register(1, 0, 1)


def test_library_guards_what_can_throw() -> None:
    """Every function of the C interface that takes a cluster is guarded."""
    text = (Path(cluster_module.__file__).parent / "library.cpp").read_text().partition('extern "C" {')[2]
    function = re.compile(r"^[\w* ]+?\b(conic_\w+)\(Cluster\* cluster[^{]*\{(.*?)\n?\}$", re.MULTILINE | re.DOTALL)
    functions = dict(function.findall(text))
    assert len(functions) > 20
    assert not {name for name, body in functions.items() if "guarded" not in body}


def test_time(library: Path) -> None:
    with Cluster(library, parse_topology("star:2"), memory_bytes=MEMORY_BYTES) as cluster:
        before = cluster.cycle
        cluster.run_for(123)
        assert cluster.cycle == before + 123
        cluster.watch(0, 0x1000)
        assert not cluster.run(50)
        assert not cluster.was_written(0, 0x1000)
        assert cluster.cycle == before + 173


def send_and_put(library: Path, seed: int, *, stalled: bool) -> tuple[int, bytes, list[bytes]]:
    """Node 0 puts 1,000 bytes into memory of node 1: cycles, event log, memories."""
    stall, jitter = (1.0, 100) if stalled else (0.0, 0)
    with Cluster(
        library, parse_topology("star:2"), memory_bytes=MEMORY_BYTES, memory=MemoryTiming(jitter=jitter, stall=stall),
        links=LinkTiming(jitter=jitter, stall=stall), seed=seed, check_boundary=True,
    ) as cluster:
        drivers = [NodeDriver(cluster, node) for node in range(2)]
        ports = []
        for driver in drivers:
            driver.start()
            ports.append(driver.open_port(3))
            ports[-1].open_window(0, MEMORY_BYTES)
        source, target = drivers[0].allocate(1000), drivers[1].allocate(1000)
        data = np.random.default_rng(5).bytes(1000)
        drivers[0].store(source, data)
        assert cluster.run(100_000)
        cluster.log_events(True)
        begin = cluster.cycle
        ports[0].post(DESCRIPTOR.pack(
            kind=1, p2p_op=1, source_vp=3, dest_id=1, dest_vp=3, length=1000, local_addr=source, remote_addr=target,
        ))
        (done,) = ports[0].watch_completions(1)
        ports[0].ring()
        assert cluster.run(100_000)
        assert cluster.was_written(0, done)
        assert drivers[1].load(target, 1000) == data
        return cluster.cycle - begin, cluster.events().tobytes(), [memory.tobytes() for memory in cluster.memories]


@pytest.mark.parametrize("stalled", [False, True], ids=["quiet", "stalled"])
def test_a_seed_repeats_a_run_exactly(library: Path, stalled: bool) -> None:
    assert send_and_put(library, 11, stalled=stalled) == send_and_put(library, 11, stalled=stalled)


def test_seeds_differ_where_something_is_random(library: Path) -> None:
    assert send_and_put(library, 11, stalled=True)[0] != send_and_put(library, 12, stalled=True)[0]
    assert send_and_put(library, 11, stalled=False)[0] == send_and_put(library, 12, stalled=False)[0]


def test_events(library: Path) -> None:
    with Cluster(library, parse_topology("star:2"), memory_bytes=MEMORY_BYTES, links=LinkTiming(latency=9)) as cluster:
        drivers = [NodeDriver(cluster, node) for node in range(2)]
        ports = [driver.open_port(0) for driver in drivers]
        for driver, port in zip(drivers, ports, strict=True):
            driver.start()
            port.open_window(0, MEMORY_BYTES)
        assert cluster.run(100_000)
        assert len(cluster.events()) == 0
        cluster.log_events(True)
        ports[1].post(DESCRIPTOR.pack(kind=0, p2p_op=0, source_vp=0, dest_id=0, dest_vp=0, length=8, payload=99, tag=4))
        ports[1].watch_completions(1)
        ports[1].ring()
        assert cluster.run(100_000)
        events = cluster.events()
        assert (np.diff(events["cycle"].astype(np.int64)) >= 0).all()
        packets = []
        for event in events:
            if event["kind"] in (EventKind.TRANSMIT, EventKind.RECEIVE):
                header = PACKET_HEADER.unpack(event["data"].tobytes()[:PACKET_HEADER.bytes])
                packets.append((int(event["node"]), EventKind(event["kind"]), PacketType(header["type"])))
        assert packets == [
            (1, EventKind.TRANSMIT, PacketType.SEND), (0, EventKind.RECEIVE, PacketType.SEND),
            (0, EventKind.TRANSMIT, PacketType.ACK), (1, EventKind.RECEIVE, PacketType.ACK),
        ]
        sent, received = (
            int(events["cycle"][events["kind"] == kind][0]) for kind in (EventKind.TRANSMIT, EventKind.RECEIVE)
        )
        assert received - sent > 2 * 9
        assert (events["kind"] == EventKind.WATCH).sum() == 1


def test_memory_that_is_not_there(library: Path) -> None:
    """A ring beyond the end of memory is answered with DECERR: the run goes on, and the other port is served."""
    with Cluster(library, parse_topology("star:2"), memory_bytes=MEMORY_BYTES) as cluster:
        driver = NodeDriver(cluster, 0)
        driver.start()
        port = driver.open_port(1)
        port.open_window(0, 1 << 40)
        far = DESCRIPTOR.pack(
            kind=1, p2p_op=1, source_vp=1, dest_id=1, dest_vp=1, length=64, local_addr=MEMORY_BYTES, remote_addr=0,
        )
        port.post(far)
        port.watch_completions(1)
        port.ring()
        assert cluster.run(100_000)
        completion = port.poll()
        assert completion is not None
        assert completion.status.name == "MEMORY_ERROR"


def test_event_layout() -> None:
    """Python reads the kinds that C++ writes, in the same order."""
    source = (Path(__file__).parents[3] / "sim" / "cluster" / "event.h").read_text()
    kinds = re.findall(r"^\s+k(\w+) = (\d+),", source, re.MULTILINE)
    assert [(name.lower(), int(number)) for name, number in kinds] == [
        (kind.name.lower().replace("_", ""), int(kind)) for kind in EventKind
    ]
