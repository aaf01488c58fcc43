"""How long it takes from nothing to the first cycle, and how fast clusters are with other instructions."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from firmware_models.config import load_preset
from sim.bench.environment import environment
from sim.bench.operations import BenchmarkError, run_all
from sim.cluster import Execution, build_library
from sim.cluster.lanes.machine import ENVIRONMENT, isas_of_this_machine
from sim.environment.engine import Engine
from sim.operation.request import CollectiveRequest
from sim.report.progress import ProgressCallback
from testbench.toolchain import CACHE_VARIABLE

CASES = (("small", "star:4"), ("paper", "star:4"), ("small", "star:33"), ("small", "star:64"))
"""Presets and topologies; four nodes each."""
_NODES, _ELEMENT = 4, 8
_FASTER_NODES, _FASTER_BYTES, _RUNS, _TURNS = 8, 4096, 3, 3


def measure(engines: Sequence[Engine], progress: ProgressCallback) -> dict[str, Any]:
    """Builds clusters with an empty cache and carries out an allreduce of one element; then times one of 4 KiB on eight
    nodes of `small` by one thread, for all instructions that the machine has.

    Returns
    -------
    dict
        `builds`, each with `preset`, `topology`, `engine` and `seconds` from the start of a process to its end;
        `instructions`, best first, each with `isa`, `cycles`, and `node_cycles_per_second` of the best of three turns.

    Raises
    ------
    BenchmarkError
        If an operation does not end well, or a bit of a result is wrong.
    """
    builds = []
    cases = [(engine, *case) for engine in engines for case in CASES if engine is Engine.LANES or case[1] == "star:4"]
    for number, (engine, preset, topology) in enumerate(cases):
        progress(f"{preset} on {topology}, {engine.value}", number, len(cases))
        builds.append({
            "preset": preset, "topology": topology, "engine": engine.value,
            "seconds": round(_from_nothing(engine, preset, topology), 1),
        })
    progress("builds", len(cases), len(cases))
    return {"builds": builds, "instructions": list(_instructions(progress))}


def _from_nothing(engine: Engine, preset: str, topology: str) -> float:
    conic = [
        sys.executable, "-m", "sim.cli.main", "run", "allreduce", "--algorithm", "recursive-doubling", "--nodes",
        str(_NODES), "--topology", topology, "--preset", preset, "--size", str(_ELEMENT), "--engine", engine.value,
        "--json",
    ]
    with tempfile.TemporaryDirectory() as cache, environment(**{CACHE_VARIABLE: cache}):
        began = time.perf_counter()
        outcome = subprocess.run(conic, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - began
    if outcome.returncode or json.loads(outcome.stdout)["mismatched_bits"]:
        raise BenchmarkError(f"{preset} on {topology} ended with {outcome.returncode}:\n{outcome.stderr[-2000:]}")
    return seconds


def _instructions(progress: ProgressCallback) -> Iterator[dict[str, Any]]:
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=_FASTER_NODES, size=_FASTER_BYTES,
        config=load_preset("small"), preset="small",
    )
    libraries = {}
    for isa in isas_of_this_machine():
        with environment(**{ENVIRONMENT: isa.name}):
            libraries[isa.name] = build_library(request.hardware(), engine=Engine.LANES, progress=progress)
    best: dict[str, dict[str, Any]] = {}
    for _ in range(_TURNS):
        for name, library in libraries.items():
            runs = run_all(library, [request] * _RUNS, Execution(threads=1))
            cycles, seconds = (sum(run[what] for run in runs) for what in ("cycles", "seconds"))
            rate = round(request.nodes * cycles / seconds)
            if name not in best or rate > best[name]["node_cycles_per_second"]:
                best[name] = {"isa": name, "cycles": cycles, "node_cycles_per_second": rate}
    yield from best.values()
