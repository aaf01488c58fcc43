"""How fast clusters are simulated, beside the same cluster as one flat design under cocotb."""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from firmware_models.config import load_preset
from firmware_models.golden import reference
from sim.bench.recording import Recording
from sim.cluster import Cluster, Execution, build_library
from sim.cluster.cluster import route_writes
from sim.report.progress import ProgressCallback
from sim.request import CollectiveRequest
from sim.session import CollectiveError, Posted, Session, warm_up_cycles
from testbench.cluster.flat_cluster import FlatCluster
from testbench.runner import run_bench

LATENCY = 4
"""Cycles of a link; that of :class:`sim.cluster.LinkTiming`."""


class BenchmarkError(RuntimeError):
    """An operation did not end in a run that was to be timed."""


def measure(
    *, presets: Sequence[str], nodes: Sequence[int], threads: Sequence[int], n_bytes: int, flat_nodes: Sequence[int],
    progress: ProgressCallback,
) -> dict[str, Any]:
    """Times an allreduce by recursive doubling on clusters of each preset and size, and on flat designs of some.

    Parameters
    ----------
    presets : sequence of str
        Presets.
    nodes, threads : sequence of int
        Sizes of clusters; threads of the simulator.
    n_bytes : int
        Message.
    flat_nodes : sequence of int
        Sizes that are simulated flat as well, with the first preset; they are among `nodes`.

    Returns
    -------
    dict
        `rows`, each with `preset`, `nodes`, `threads`, `engine` ("cluster"; "lockstep": one thread, nothing left out;
        "cocotb": flat on Verilator; "icarus": flat on Icarus), `cycles`, `seconds`, `node_cycles_per_second`,
        `evaluated_fraction`, `bytes_a_node`. `speedup_over_cocotb` and, where Icarus is installed,
        `speedup_over_icarus`: the least over the pairs of runs of the same cluster.
    """
    requests = [_request(preset, n, n_bytes) for preset in presets for n in nodes]
    flat = [request for request in requests if request.preset == presets[0] and request.nodes in flat_nodes]
    simulators = ["verilator", *(["icarus"] if shutil.which("iverilog") else [])]
    executions = [
        ("lockstep", Execution(threads=1, skip=False, lockstep=True)),
        *(("cluster", Execution(threads=n)) for n in threads),
    ]
    total = len(requests) * len(executions) + len(flat) * len(simulators)
    rows: list[dict[str, Any]] = []
    for request in requests:
        library = build_library(request.hardware(), progress=progress)
        for engine, execution in executions:
            progress(f"{request.preset}, {request.nodes} nodes, {engine}", len(rows), total)
            rows.append(_row(request, engine, execution.n_threads, run(library, request, execution)))
    for request in flat:
        for simulator in simulators:
            engine = "cocotb" if simulator == "verilator" else simulator
            progress(f"{request.preset}, {request.nodes} nodes, flat, {engine}", len(rows), total)
            rows.append(_row(request, engine, 1, _run_flat(request, simulator)))
    progress("clusters", total, total)
    report: dict[str, Any] = {
        "collective": "allreduce", "algorithm": "recursive-doubling", "bytes": n_bytes, "rows": rows,
    }
    for engine in ("cocotb", "icarus"):
        if speedup := _speedup(rows, engine):
            report[f"speedup_over_{engine}"] = speedup
    return report


def _request(preset: str, nodes: int, n_bytes: int) -> CollectiveRequest:
    return CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=nodes, size=n_bytes, config=load_preset(preset),
        preset=preset,
    )


def _row(request: CollectiveRequest, engine: str, threads: int, run: dict[str, float]) -> dict[str, Any]:
    return {
        "preset": request.preset, "nodes": request.nodes, "threads": threads, "engine": engine, **run,
        "node_cycles_per_second": round(request.nodes * run["cycles"] / run["seconds"]),
    }


def _speedup(rows: list[dict[str, Any]], engine: str) -> float | None:
    """Least ratio over the clusters that `engine` has simulated, each against the fastest number of threads."""
    ratios = []
    for flat in rows:
        if flat["engine"] != engine:
            continue
        same = [
            row["node_cycles_per_second"] for row in rows
            if row["engine"] == "cluster" and (row["preset"], row["nodes"]) == (flat["preset"], flat["nodes"])
        ]
        ratios.append(max(same) / flat["node_cycles_per_second"])
    return round(min(ratios), 1) if ratios else None


def _memory_bytes(request: CollectiveRequest) -> int:
    return 1 << (2 * request.size + (1 << 16)).bit_length()


def run(library: Path, request: CollectiveRequest, execution: Execution) -> dict[str, float]:
    """Carries out an operation once, on a cluster that has been up for a while: :func:`run_all` for one."""
    return run_all(library, [request], execution)[0]


def run_all(library: Path, requests: Sequence[CollectiveRequest], execution: Execution) -> list[dict[str, float]]:
    """Carries out operations one after the other, on a cluster that has been up for a while.

    Parameters
    ----------
    library : Path
        Of the hardware of all of them.
    requests : sequence of CollectiveRequest
        On the same nodes of the same topology; each is a job of its own.
    execution : Execution
        How.

    Returns
    -------
    list of dict
        Of each operation `cycles` and `seconds` from the first doorbell to the last completion, `evaluated_fraction` of
        all cycles of all models, `bytes_a_node` of the models.

    Raises
    ------
    BenchmarkError
        If one does not end, or a bit of a result is wrong.
    """
    first = requests[0]
    memory_bytes = sum(map(_memory_bytes, requests))
    rows = []
    with Cluster(library, first.wired, memory_bytes=memory_bytes, seed=1, execution=execution) as cluster:
        session, jobs = _set_up(cluster, requests)
        session.warm_up()
        for request, job in zip(requests, jobs, strict=True):
            session.ring([job])
            begin, evaluated, began = cluster.cycle, cluster.evaluated, time.perf_counter()
            ended = cluster.run(10_000_000)
            seconds = time.perf_counter() - began
            cycles = cluster.settled_cycle - begin
            what = f"{request.collective}, {request.preset}, {request.nodes} nodes"
            if not ended:
                raise BenchmarkError(f"{what}: did not end in {cycles} cycles")
            if mismatched := session.compare(request, [job])[1]:
                raise BenchmarkError(f"{what}: {mismatched} bits differ")
            stations = request.nodes + len(request.wired.radixes)
            rows.append({
                "cycles": cycles, "seconds": round(seconds, 4),
                "evaluated_fraction": round((cluster.evaluated - evaluated) / (stations * cycles), 3),
                "bytes_a_node": cluster.bytes_a_node,
            })
    return rows


def _run_flat(request: CollectiveRequest, simulator: str) -> dict[str, float]:
    recording = Recording(request.wired, memory_bytes=_memory_bytes(request))
    session, (job,) = _set_up(recording, [request])
    session.ring([job])
    results = [[result] for result in zip(job.result_addresses, _expected(request, job), strict=True)]
    (writes,) = route_writes(request.wired)
    config = replace(request.config, switch=replace(request.config.switch, radix=request.wired.radixes[0]))
    with tempfile.TemporaryDirectory() as folder, _environment(SIM=simulator), contextlib.redirect_stdout(sys.stderr):
        path = Path(folder) / "recording.json"
        path.write_text(json.dumps(
            recording.as_json(switch=writes, warm_up=warm_up_cycles(request.config), results=results)
        ))
        found = run_bench(
            partial(FlatCluster, config, n_nodes=request.nodes, latency=LATENCY), bench="testbench.cluster.flat_bench",
            parameters={"recording": str(path)}, seed=1, model_flags=("-O1",),
        ).report
    return {"cycles": found["cycles"], "seconds": round(found["seconds"], 4)}


def _set_up(transport: Any, requests: Sequence[CollectiveRequest]) -> tuple[Session, list[Posted]]:
    session = Session(transport, requests[0].config, nodes=requests[0].nodes)
    jobs = [session.post(request, number) for number, request in enumerate(requests)]
    try:
        session.configure()
    except CollectiveError as error:
        raise BenchmarkError(str(error)) from None
    return session, jobs


def _expected(request: CollectiveRequest, job: Posted) -> list[bytes]:
    golden = reference(
        request.collective, request.algorithm, job.inputs, root=request.root, datatype=request.datatype,
        operator=request.operator,
    )
    return [np.ascontiguousarray(row).tobytes() for row in golden.results]


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
