"""Runs the worked example, a plain MPI program, on the simulated NICs and under MPICH."""

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firmware_models.config import Config
from sim.cluster.stalls import StallProfile, random_stalls
from sim.mpi.mpich import run_plain
from sim.mpi.policy import Policy
from sim.mpi.run import Program, run_program
from sim.mpi.sections import Section
from sim.report.progress import ProgressCallback

PROGRAM = Path(__file__).with_name("cg.py")
"""The program; it knows nothing of this project."""
ALGORITHMS = ("recursive-doubling", "ring")
"""Of allreduce: those that MPICH has for messages of any size."""


class ExampleError(RuntimeError):
    """The program failed; the message says how."""


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Result of the program: norms of the residual at every rank, and the report of the NICs' activity."""

    histories: list[list[float]]
    report: Mapping[str, Any]


def on_nics(
    *, side: int, ranks: int, algorithm: str, config: Config, disturbance: int | None = None,
    progress: ProgressCallback | None = None,
) -> Solution:
    """Runs it with a simulated NIC for each rank.

    Parameters
    ----------
    side, ranks, algorithm, config
        Points of the grid each way, processes, algorithm of the allreduces, hardware.
    disturbance : int, optional
        Memories, links and starts are disturbed, in a way drawn from this seed.

    Raises
    ------
    ExampleError
        If it does not end well.
    """
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / "history.json"
        result = run_program(
            Program(
                sections=[Section(ranks, _command(side, history))], config=config, topology=f"star:{ranks}", quiet=True,
                policy=Policy(algorithms={"allreduce": algorithm}), seed=disturbance or 0,
                stalls=StallProfile() if disturbance is None else random_stalls(disturbance),
            ),
            progress=progress,
        )
        if result.error or result.code:
            raise ExampleError(result.error or f"the program ended with {result.code}")
        return Solution(histories=_read(history), report=result.report)


def under_mpich(*, side: int, ranks: int, algorithm: str) -> list[list[float]]:
    """Its norms of the residual at every rank under MPICH alone. Raises :class:`sim.mpi.interposer.MpiError`."""
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / "history.json"
        run_plain(_command(side, history), ranks=ranks, algorithms={"allreduce": algorithm})
        return _read(history)


def _command(side: int, history: Path) -> list[str]:
    return [sys.executable, str(PROGRAM), "--side", str(side), "--history", str(history)]


def _read(path: Path) -> list[list[float]]:
    return [[float.fromhex(norm) for norm in history] for history in json.loads(path.read_text())]
