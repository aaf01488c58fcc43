"""The interposer: C, compiled against the MPI that is there, once for each state of its sources."""

import hashlib
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

from testbench.toolchain import cache_folder

_SOURCES = Path(str(resources.files("sim.mpi"))) / "interposer"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC")


class MpiError(RuntimeError):
    """There is no MPI, or it does not compile what it should."""


def tool(name: str) -> Path:
    """A program of the package ``mpich``. Raises :class:`MpiError` if it is not there."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        raise MpiError(f"{name} must be at {path}: the package mpich brings it (extra dev)")
    return path


def build_interposer() -> Path:
    """The shared library, built if need be.

    Raises
    ------
    MpiError
        If there is no MPI, or the compiler refuses something.
    """
    compiler = tool("mpicc")
    sources = sorted(_SOURCES.glob("*.c"))
    # Which MPI: its header says what handles are.
    parts = [*sources, *sorted(_SOURCES.glob("*.h")), compiler, compiler.parents[1] / "include" / "mpi.h"]
    digest = hashlib.sha256(repr(_FLAGS).encode())
    for part in parts:
        digest.update(part.name.encode() + b"\0" + part.read_bytes())
    folder = cache_folder() / "interposers" / digest.hexdigest()[:20]
    library = folder / "libconic_mpi.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f".{os.getpid()}.so"
    done = subprocess.run(
        [compiler, *_FLAGS, "-o", made, *sources, "-lpthread"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MpiError(f"mpicc does not compile the interposer: {done.stderr.strip()}")
    made.replace(library)
    return library
