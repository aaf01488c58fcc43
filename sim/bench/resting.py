"""Measures workloads that mostly rest, on both engines: a barrier of many nodes, hosts, an MPI program."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from sim.bench.environment import environment
from sim.bench.operations import BenchmarkError, run
from sim.bench.torus import torus
from sim.cluster import Execution, build_library
from sim.collective import run_collective
from sim.environment.engine import ENVIRONMENT, Engine
from sim.environment.threads import VARIABLE
from sim.host import load_host
from sim.operation.request import CollectiveRequest
from sim.report.progress import ProgressCallback

_NODES = 1024
_RANKS = 4
_RUNS = 3
_PROGRAM = """
import time
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
for elements, count in ((1, 40), (512, 10), (8192, 2)):
    mine = np.random.default_rng(comm.rank).standard_normal(elements)
    for _ in range(count):
        total = np.empty_like(mine)
        comm.Allreduce(mine, total)
"""


def resting_rows(threads: Sequence[int], progress: ProgressCallback) -> Iterator[dict[str, Any]]:
    """Rows as those of :func:`sim.bench.simulator.measure`: the barrier once, the others the best of three runs.

    `seconds` of the barrier is simulation alone; of hosts and of the MPI program it is all that the run takes but the
    build, start and golden model included.
    """
    yield from _barrier(threads, progress)
    yield from _hosts(threads, progress)
    yield from _program(threads, progress)


def _row(
    workload: str, nodes: int, topology: str, n_threads: int, engine: Engine, run: dict[str, Any]
) -> dict[str, Any]:
    row = {"workload": workload, "preset": "small", "nodes": nodes, "topology": topology, "threads": n_threads,
           "engine": engine.value, **run}
    if "cycles" in run:
        row["node_cycles_per_second"] = round(nodes * run["cycles"] / run["seconds"])
    return row


def _barrier(threads: Sequence[int], progress: ProgressCallback) -> Iterator[dict[str, Any]]:
    request = CollectiveRequest(
        collective="barrier", algorithm="dissemination", nodes=_NODES, size=0, config=load_preset("small"),
        preset="small", topology=torus(_NODES),
    )
    for engine in Engine:
        library = build_library(request.hardware(), engine=engine, progress=progress)
        for n in threads:
            once = run(library, request, Execution(threads=n))
            yield _row(f"barrier of {_NODES:,} nodes", _NODES, torus(_NODES), n, engine, once)


def _hosts(threads: Sequence[int], progress: ProgressCallback) -> Iterator[dict[str, Any]]:
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=8, size=256, config=load_preset("small"),
        preset="small", host=load_host("paper"), host_based=True,
    )
    for engine in Engine:
        with environment(**{ENVIRONMENT: engine.value}):
            build_library(request.hardware(), progress=progress)
            for n in threads:
                best: dict[str, Any] = {}
                for _ in range(_RUNS):
                    began = time.perf_counter()
                    result = run_collective(request, execution=Execution(threads=n), keeps_events=False)
                    seconds = round(time.perf_counter() - began, 4)
                    if not best or seconds < best["seconds"]:
                        best = {"cycles": result.last_cycle, "seconds": seconds}
                yield _row("allreduce by hosts", request.nodes, f"star:{request.nodes}", n, engine, best)


def _program(threads: Sequence[int], progress: ProgressCallback) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(_PROGRAM)
        for engine in Engine:
            with environment(**{ENVIRONMENT: engine.value}):
                _mpiexec(program)  # what has to be built is built
                for n in threads:
                    os.environ[VARIABLE] = str(n)
                    progress(f"MPI program, {engine.value}, {n} threads", 0, 1)
                    seconds = min(_mpiexec(program) for _ in range(_RUNS))
                    yield _row("MPI program", _RANKS, f"star:{_RANKS}", n, engine, {"seconds": round(seconds, 3)})


def _mpiexec(program: Path) -> float:
    """Seconds of the program on the NICs. Raises :class:`BenchmarkError` if it fails."""
    conic = [sys.executable, "-m", "sim.cli.main", "mpiexec", "-n", str(_RANKS), sys.executable, str(program)]
    began = time.perf_counter()
    outcome = subprocess.run(conic, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise BenchmarkError(f"an MPI program ended with {outcome.returncode}:\n{outcome.stderr[-2000:]}")
    return time.perf_counter() - began
