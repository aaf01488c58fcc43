"""How fast clusters are simulated, by either engine, beside the same cluster as one flat design under cocotb."""

import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from firmware_models.config import load_preset
from firmware_models.golden import reference
from sim.bench.environment import environment
from sim.bench.operations import memory_bytes_of, run_all, set_up
from sim.bench.recording import Recording
from sim.bench.resting import resting_rows
from sim.bench.torus import torus
from sim.cluster import Execution, build_library
from sim.cluster.cluster import route_writes
from sim.environment.engine import Engine
from sim.operation.request import CollectiveRequest
from sim.operation.session import Posted, warm_up_cycles
from sim.report.progress import ProgressCallback
from testbench.cluster.flat_cluster import FlatCluster
from testbench.runner import BenchError, run_bench

LATENCY = 4
"""Cycles of a link; that of :class:`sim.cluster.LinkTiming`."""
_MOST_ON_A_STAR = 16
_RUNS, _RUNS_OF_MANY = 3, 1
"""Operations one after the other; of clusters of 16 nodes and more, which Verilator takes minutes for."""


def measure(
    *, presets: Sequence[str], nodes: Sequence[int], threads: Sequence[int], n_bytes: int, flat_nodes: Sequence[int],
    resting: bool, progress: ProgressCallback,
) -> dict[str, Any]:
    """Times an allreduce by recursive doubling on clusters of each preset and size, on both engines, and on flat
    designs of some.

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
    resting : bool
        Also what mostly rests (:mod:`sim.bench.resting`).

    Returns
    -------
    dict
        `rows`, each with `workload`, `preset`, `nodes`, `topology`, `threads`, `engine` ("lanes"; "lanes, all": nothing
        is left out; "verilator"; "cocotb": flat on Verilator; "icarus": flat on Icarus), `cycles`, `seconds`,
        `node_cycles_per_second`, and of clusters `evaluated_fraction`, `bytes_a_node`; `speedups`: for each workload,
        preset, number of nodes and of threads how many times as fast the lanes are as Verilator and as lanes that
        leave nothing out, and the former's least, `speedup_over_verilator`. `speedup_over_cocotb` and, where Icarus is
        installed, `speedup_over_icarus`: the least over the pairs of runs of the same cluster. `failures`: what flat
        designs failed with; minutes of other rows are not lost by that.
    """
    requests = [_request(preset, n, n_bytes) for preset in presets for n in nodes]
    flat = [request for request in requests if request.preset == presets[0] and request.nodes in flat_nodes]
    simulators = ["verilator", *(["icarus"] if shutil.which("iverilog") else [])]
    total = len(requests) + len(flat) * len(simulators) + resting
    rows: list[dict[str, Any]] = []
    failures: list[str] = []
    for number, request in enumerate(requests):
        libraries = {engine: build_library(request.hardware(), engine=engine, progress=progress) for engine in Engine}
        progress(f"{request.preset}, {request.nodes} nodes", number, total)
        rows += _rows(libraries, request, threads)
    if resting:
        progress("what mostly rests", len(requests), total)
        rows += resting_rows(threads, progress)
    for number, request in enumerate(flat):
        for simulator in simulators:
            engine = "cocotb" if simulator == "verilator" else simulator
            progress(f"{request.preset}, {request.nodes} nodes, flat, {engine}", total - len(flat) + number, total)
            try:
                rows.append(_row(request, engine, 1, _run_flat(request, simulator)))
            except BenchError as error:
                failures.append(f"{engine}, {request.preset}, {request.nodes} nodes: {error}")
    progress("clusters", total, total)
    report: dict[str, Any] = {
        "collective": "allreduce", "algorithm": "recursive-doubling", "bytes": n_bytes, "rows": rows,
        "speedups": _speedups(rows), "failures": failures,
    }
    report["speedup_over_verilator"] = min(row["over_verilator"] for row in report["speedups"])
    for engine in ("cocotb", "icarus"):
        if speedup := _speedup(rows, engine):
            report[f"speedup_over_{engine}"] = speedup
    return report


def _rows(
    libraries: dict[Engine, Path], request: CollectiveRequest, threads: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """One cluster on both engines: the same operations, one after the other, on each."""
    n_runs = _RUNS if request.nodes < _MOST_ON_A_STAR else _RUNS_OF_MANY
    ways = [*(("lanes", Engine.LANES, Execution(threads=n)) for n in threads)]
    if request.nodes <= _MOST_ON_A_STAR:
        ways.append(("lanes, all", Engine.LANES, Execution(threads=1, skip=False)))
    ways += [("verilator", Engine.VERILATOR, Execution(threads=n)) for n in threads]
    for name, engine, execution in ways:
        runs = run_all(libraries[engine], [request] * n_runs, execution)
        whole = {**runs[0], **{what: sum(one[what] for one in runs) for what in ("cycles", "seconds")}}
        yield _row(request, name, execution.n_threads, whole)


def _speedups(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How much faster the lanes are, for each cluster and number of threads."""
    key = ("workload", "preset", "nodes", "threads")
    seconds = {(*(row[name] for name in key), row["engine"]): row["seconds"] for row in rows}
    found = []
    for row in rows:
        if row["engine"] != "lanes":
            continue
        same = tuple(row[name] for name in key)
        speedup = {**dict(zip(key, same, strict=True)),
                   "over_verilator": round(seconds[*same, "verilator"] / row["seconds"], 2)}
        if all_of_it := seconds.get((*same, "lanes, all")):
            speedup["by_skipping"] = round(all_of_it / row["seconds"], 2)
        found.append(speedup)
    return found


def _request(preset: str, nodes: int, n_bytes: int) -> CollectiveRequest:
    """Up to 16 nodes stand on one switch; a larger one would take Verilator hours."""
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=nodes, size=n_bytes, config=load_preset(preset),
        preset=preset,
    )
    return request if nodes <= _MOST_ON_A_STAR else replace(request, topology=torus(nodes))


def _row(request: CollectiveRequest, engine: str, threads: int, run: dict[str, float]) -> dict[str, Any]:
    return {
        "workload": "allreduce", "preset": request.preset, "nodes": request.nodes, "topology": request.topology,
        "threads": threads, "engine": engine, **run,
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
            if (row["workload"], row["engine"]) == ("allreduce", "lanes")
            and (row["preset"], row["nodes"]) == (flat["preset"], flat["nodes"])
        ]
        ratios.append(max(same) / flat["node_cycles_per_second"])
    return round(min(ratios), 1) if ratios else None


def _run_flat(request: CollectiveRequest, simulator: str) -> dict[str, float]:
    recording = Recording(request.wired, memory_bytes=memory_bytes_of(request))
    session, (job,) = set_up(recording, [request])
    session.ring([job])
    results = [[result] for result in zip(job.result_addresses, _expected(request, job), strict=True)]
    (writes,) = route_writes(request.wired)
    config = replace(request.config, switch=replace(request.config.switch, radix=request.wired.radixes[0]))
    with tempfile.TemporaryDirectory() as folder, environment(SIM=simulator), contextlib.redirect_stdout(sys.stderr):
        path = Path(folder) / "recording.json"
        path.write_text(json.dumps(
            recording.as_json(switch=writes, warm_up=warm_up_cycles(request.config), results=results)
        ))
        found = run_bench(
            partial(FlatCluster, config, n_nodes=request.nodes, latency=LATENCY), bench="testbench.cluster.flat_bench",
            parameters={"recording": str(path)}, seed=1, model_flags=("-O1",),
            seconds=4 * 3600,
        ).report
    return {"cycles": found["cycles"], "seconds": round(found["seconds"], 4)}


def _expected(request: CollectiveRequest, job: Posted) -> list[bytes]:
    golden = reference(
        request.collective, request.algorithm, job.inputs, root=request.root, datatype=request.datatype,
        operator=request.operator,
    )
    return [np.ascontiguousarray(row).tobytes() for row in golden.results]
