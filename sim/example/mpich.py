"""Runs the example under MPICH, with the algorithm that its allreduce has to take."""

import json
import os
import subprocess
import sys
from pathlib import Path

MPIEXEC = Path(sys.executable).with_name("mpiexec")
"""Of the package `mpich`, which comes with the extra `dev`."""

ALGORITHMS = {"recursive-doubling": "recursive_doubling", "ring": "ring"}
"""Allreduce algorithms that MPICH has for messages of any size, by our names."""


class MpichError(RuntimeError):
    """MPICH is not there or has failed; the message says which."""


def mpich_histories(*, side: int, ranks: int, algorithm: str) -> list[list[float]]:
    """The residual history of every rank.

    Raises
    ------
    MpichError
        If it does not run, or took another algorithm.
    """
    if not MPIEXEC.exists():
        raise MpichError(f"mpiexec must be at {MPIEXEC}: the extra dev installs it")
    environment = os.environ | {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": ALGORITHMS[algorithm], "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE": "0",
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
        # Without this it would silently take another algorithm.
        "MPIR_CVAR_COLLECTIVE_FALLBACK": "error", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, "-m", "sim.example.mpi_program", str(side)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise MpichError(f"mpiexec ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
    return [[float.fromhex(value) for value in history] for history in json.loads(done.stdout)]
