"""MPICH by itself: which of its algorithms add in the order of ours, and how a program is made to take them."""

import os
import subprocess
from collections.abc import Mapping, Sequence

from sim.mpi.interposer import MpiError, tool

MPICH_ALGORITHMS = {
    ("broadcast", "binomial"): ("BCAST", "binomial"),
    ("reduce", "binomial"): ("REDUCE", "binomial"),
    ("reduce", "rabenseifner"): ("REDUCE", "reduce_scatter_gather"),
    ("allreduce", "recursive-doubling"): ("ALLREDUCE", "recursive_doubling"),
    ("allreduce", "rabenseifner"): ("ALLREDUCE", "reduce_scatter_allgather"),
    ("allreduce", "ring"): ("ALLREDUCE", "ring"),
    ("reduce-scatter", "halving"): ("REDUCE_SCATTER_BLOCK", "recursive_halving"),
    ("reduce-scatter", "pairwise"): ("REDUCE_SCATTER_BLOCK", "pairwise"),
}
"""MPICH's names of algorithms that add in the same order, and the variable that chooses them. Its scans add in orders
that none of ours has."""

_BY_TRANSPORT = {("ALLREDUCE", "ring")}

PLAIN = {"MPIR_CVAR_DEVICE_COLLECTIVES": "none", "MPIR_CVAR_COLLECTIVE_FALLBACK": "silent"}
"""MPI's own algorithms, not those of a device, and for any length the one that is asked for."""


def chosen(algorithms: Mapping[str, str]) -> dict[str, str]:
    """Variables by which MPICH takes these algorithms, by collective, as far as it has them."""
    found = [names for names in map(MPICH_ALGORITHMS.get, algorithms.items()) if names is not None]
    blocking = {f"MPIR_CVAR_{name}_INTRA_ALGORITHM": algorithm for name, algorithm in found}
    # Nonblocking collectives have variables of their own.
    others = {
        f"MPIR_CVAR_I{name}_INTRA_ALGORITHM": ("tsp_" if (name, algorithm) in _BY_TRANSPORT else "sched_") + algorithm
        for name, algorithm in found
    }
    return blocking | others


def library_path() -> dict[str, str]:
    """The variable by which programs that were linked elsewhere find MPICH's libraries, last of all folders."""
    folders = [os.environ.get("LD_LIBRARY_PATH", ""), str(tool("mpiexec").parents[1] / "lib")]
    return {"LD_LIBRARY_PATH": ":".join(filter(None, folders))}


def run_plain(command: Sequence[str], *, ranks: int, algorithms: Mapping[str, str], timeout: float = 600.0) -> str:
    """Runs a program under MPICH alone; what it prints.

    Raises
    ------
    MpiError
        If it fails, or MPICH would take another algorithm.
    """
    environment = {**os.environ, **PLAIN, **chosen(algorithms), "MPIR_CVAR_COLLECTIVE_FALLBACK": "error"}
    done = subprocess.run(
        [str(tool("mpiexec")), "-n", str(ranks), *command], env=environment, capture_output=True, text=True,
        timeout=timeout, check=False,
    )
    if done.returncode:
        raise MpiError(f"mpiexec ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout
