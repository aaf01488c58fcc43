"""Measures one point of the NIC paper's experiments on the RTL.

A cluster of the paper's NICs takes longer to start (its memories are swept, in each NIC for itself) than many an
operation. So a process starts one, and each point is measured in a copy of that process: all begin at the same state,
and no point can change another.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firmware_models.abi.encoding import Kind, P2pOp
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.config import Config, load_preset
from firmware_models.golden import sha256
from sim.cluster import Cluster, Execution, build_library
from sim.host import Host
from sim.operation.request import CollectiveRequest
from sim.operation.session import Session
from sim.process.run import HostedRun, memory_timing
from sim.study.grid.crew import end_with_parent

Row = dict[str, Any]
_MOST_CYCLES = 1 << 40
_PROBE_BYTES = 8


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Setting that all points of a study share.

    Members
    -------
    collective, algorithm, preset, topology : str
        As on the command line.
    nodes, seed : int
        Nodes; seed of the data.
    host : Host
        What hosts take.
    memory_bytes : int
        Memory of a node that is enough for every point.
    other : Config, optional
        The hardware, if it is not quite that of the preset.
    """

    collective: str
    algorithm: str
    preset: str
    topology: str
    nodes: int
    seed: int
    host: Host
    memory_bytes: int
    other: Config | None = None

    def request(
        self, *, jobs: int, size: int, way: str, host: Host | None = None, pulse_bytes: int | None = None,
    ) -> CollectiveRequest:
        """One operation."""
        return CollectiveRequest(
            collective=self.collective, algorithm=self.algorithm, nodes=self.nodes, size=size, jobs=jobs,
            config=self.other or load_preset(self.preset), preset=self.preset, topology=self.topology, seed=self.seed,
            host=host or self.host, host_based=way == "host-based", pulse_bytes=pulse_bytes,
        )


@dataclass
class _Started:
    setting: Setting
    cluster: Cluster
    session: Session


_started: _Started | None = None


def measure(setting: Setting, jobs: int, size: int, way: str, change: dict[str, float]) -> Row:
    """One operation, with a host that :func:`changed`."""
    return measure_with(setting, jobs, size, way, changed(setting.host, change))


def measure_with(
    setting: Setting, jobs: int, size: int, way: str, host: Host, pulse_bytes: int | None = None,
) -> Row:
    """One operation: cycles, time, whether every bit is right, and how full the packet buffers of the root were."""
    begin = time.monotonic()
    # The cluster fixes the distance from NIC to host memory, so a host at another distance needs its own cluster.
    started = _start(setting if host.pcie == setting.host.pcie else replace(setting, host=host))
    request = setting.request(jobs=jobs, size=size, way=way, host=host, pulse_bytes=pulse_bytes)
    row = _in_a_copy(lambda: _operation(started, request, host))
    return row | {"seconds": round(time.monotonic() - begin, 2)}


def measure_message(setting: Setting) -> Row:
    """Measures the cycles that the network adds to a mini packet: from the NIC that has its descriptor to the bus of
    the other's host."""
    begin = time.monotonic()
    started = _start(setting)
    row = _in_a_copy(lambda: _message(started, setting.host))
    return row | {"seconds": round(time.monotonic() - begin, 2)}


def changed(host: Host, change: dict[str, float]) -> Host:
    """The host with other software times, another time to combine, another way to send, other memory, another PCIe."""
    software, mpi = change.get("software", 1.0), {
        name: int(change[name]) for name in ("eager_bytes", "segment_bytes", "operand_copies") if name in change
    }
    cpu, library = host.cpu, host.mpi
    return replace(
        host,
        pcie=replace(
            host.pcie, one_way_ns=host.pcie.one_way_ns * change.get("pcie", 1.0),
            gbits=change.get("pcie_gbits", host.pcie.gbits),
        ),
        cpu=replace(
            cpu, post_ns=cpu.post_ns * software, doorbell_ns=cpu.doorbell_ns * software,
            poll_ns=max(1.0, cpu.poll_ns * software), take_ns=cpu.take_ns * software,
            reduce_ns=cpu.reduce_ns * change.get("reduction", 1.0),
        ),
        memory=replace(host.memory, gbytes=host.memory.gbytes * change.get("memory", 1.0)),
        mpi=replace(library, call_ns=library.call_ns * software, match_ns=library.match_ns * software, **mpi),
    )


def _start(setting: Setting) -> _Started:
    """The cluster of this process, started and warm."""
    global _started
    if _started is None or _started.setting != setting:
        request = setting.request(jobs=1, size=64, way="offloaded")
        cluster = Cluster(
            build_library(request.hardware()), request.wired, memory_bytes=setting.memory_bytes,
            memory=memory_timing(request), seed=setting.seed, execution=Execution(threads=1),
        )
        session = Session(cluster, request.config, nodes=setting.nodes)
        session.configure()
        session.warm_up()
        _started = _Started(setting, cluster, session)
    return _started


def _in_a_copy(call: Callable[[], Row]) -> Row:
    """Returns the result of `call` in a copy of this process, which is left as it is. Raises the error that occurred
    there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # Nothing of this process may run to its end twice: exit handlers, buffers, the pool's.
        code = 1
        try:
            end_with_parent()
            os.close(reading)
            try:
                answer: Row = {"row": call()}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            with os.fdopen(writing, "w") as pipe:
                json.dump(answer, pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status or not text:
        raise RuntimeError(f"the process of a measurement ended with status {status}")
    found: Row = json.loads(text)
    if "error" in found:
        raise RuntimeError(found["error"])
    row: Row = found["row"]
    return row


def _operation(started: _Started, request: CollectiveRequest, host: Host) -> Row:
    cluster, session = started.cluster, started.session
    run = HostedRun(cluster, session, request, host, ())
    session.configure()
    root, units = session.drivers[0], range(request.config.nic.n_cous)
    before, since, evaluated = [root.read_buffer(cou).mean for cou in units], cluster.cycle, cluster.evaluated
    cycles = run.run([[0] * request.nodes for _ in run.posted], most=_MOST_CYCLES).cycles
    figures, now = [root.read_buffer(cou) for cou in units], cluster.cycle
    outputs, mismatched = session.compare(request, run.posted)
    return {
        "cycles": cycles, "microseconds": round(host.microseconds(cycles), 3), "mismatched_bits": mismatched,
        "sha256": sha256(np.stack(outputs)),
        "occupancy": [
            round((late.mean * now - early * since) / (now - since), 6)
            for early, late in zip(before, figures, strict=True)
        ],
        "peak": [round(each.peak, 6) for each in figures],
        "evaluated": cluster.evaluated - evaluated,
    }


def _message(started: _Started, host: Host) -> Row:
    cluster, drivers = started.cluster, started.session.drivers
    ports = [driver.open_port(0) for driver in drivers[:2]]
    for driver, port in zip(drivers, ports, strict=False):
        at = driver.allocate(_PROBE_BYTES)
        port.open_window(at, at + 64)
    started.session.configure()
    ring = ports[1].steps.received
    cluster.observe(1, ring.base, ring.base + ring.size * ring.entry.bytes)
    begin = cluster.cycle
    ports[0].post(DESCRIPTOR.pack(
        kind=Kind.MP, p2p_op=P2pOp.SEND, source_vp=0, dest_id=1, dest_vp=0, length=_PROBE_BYTES, payload=1,
    ))
    ports[0].ring(not_before=begin)
    landed: list[tuple[int, int, int]] = []
    while not landed:
        cluster.run_for(64)
        landed = cluster.landed()
    cycles = landed[0][0] - begin - host.read_cycles()
    return {"network_cycles": cycles, "network_ns": round(1000 * host.microseconds(cycles), 1)}
