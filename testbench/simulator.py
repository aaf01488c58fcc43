"""Builds the simulation of a Verilog file, once for equal content."""

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from cocotb_tools.runner import Runner, get_runner

from testbench.toolchain import build_folder, discard_precompiled_headers, environment, verilator_version

_fst = Path(__file__).with_name("fst")

_verilator_args = (
    "--assert",
    "--no-timing",
    # All other warnings are errors. These say nothing about generated Verilog: its widths are right by construction,
    # signals of no width are printed as ranges, parameters make comparisons constant, a value is assigned before
    # each case, and a real combinational loop (unlike one through parts of a vector) does not converge, which is fatal.
    "-Wno-WIDTHTRUNC",
    "-Wno-WIDTHEXPAND",
    "-Wno-ASCRANGE",
    "-Wno-CASEINCOMPLETE",
    "-Wno-UNOPTFLAT",
    "-Wno-UNSIGNED",
    "-Wno-CMPCONST",
)


class BuildError(RuntimeError):
    """The simulator refused the Verilog; the message holds its output."""


def simulator_name() -> str:
    """The simulator in use: SIM of the environment, `verilator` if it is not set."""
    name = os.environ.get("SIM", "verilator")
    if name not in ("verilator", "icarus"):
        raise ValueError(f"SIM must be verilator or icarus, not {name!r}")
    return name


@contextmanager
def tool_environment() -> Iterator[None]:
    """Runs its body with the environment of the tools in `os.environ`, where cocotb's runner looks for it."""
    before = dict(os.environ)
    if simulator_name() == "verilator":
        os.environ.update(environment())
        # A bench spends its time in Python: optimised code would cost more to compile than it saves.
        os.environ["MAKEFLAGS"] += " OPT_FAST=-O0 OPT_SLOW=-O0"
    # cocotb's runner behaves differently, and ends the process, if it thinks that pytest is its caller.
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def build(verilog: str, *, top: str, waves: bool = False) -> tuple[Runner, Path]:
    """Builds the simulation of `verilog` in a folder named by the hash of all that goes into it.

    A folder that was built before is used as it is. Processes that want the same one wait for each other.

    Returns
    -------
    tuple of Runner and Path
        cocotb's runner, ready for ``test``, and the folder.

    Raises
    ------
    BuildError
        If the simulator or the compiler reports an error or a warning.
    """
    simulator = simulator_name()
    args = _build_args(simulator, waves=waves)
    folder = build_folder() / "benches" / _content_hash(simulator, top, verilog, [*args, f"waves={waves}"])
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "done"
    with tool_environment(), (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        runner = get_runner(simulator)
        runner.log.setLevel("ERROR")
        if done.exists():
            runner.build_dir = folder
            return runner, folder
        source = folder / f"{top}.v"
        source.write_text(verilog)
        log = folder / "build.log"
        try:
            runner.build(
                sources=[source], hdl_toplevel=top, build_args=args, build_dir=folder, always=True,
                waves=waves, timescale=("1ns", "1ps"), log_file=log,
            )
        except RuntimeError:
            raise BuildError(f"{simulator} refused {source}:\n{log.read_text()}") from None
        discard_precompiled_headers(folder)
        done.touch()
        return runner, folder


def _build_args(simulator: str, *, waves: bool) -> list[str]:
    if simulator == "icarus":
        return ["-g2012"]
    args = list(_verilator_args)
    if waves:
        # The makefile links libraries that testbench/fst replaces: empty archives of their names satisfy it.
        libraries = build_folder() / "fst"
        libraries.mkdir(parents=True, exist_ok=True)
        for name in ("liblz4.a", "libz.a"):
            (libraries / name).write_bytes(b"!<arch>\n")
        args += ["--trace-fst", "--trace-structs", "-CFLAGS", f"-I{_fst}", "-LDFLAGS", f"-L{libraries}"]
    return args


def _content_hash(simulator: str, top: str, verilog: str, args: list[str]) -> str:
    tools: Mapping[str, str] = {
        "cocotb": version("cocotb"),
        "simulator": verilator_version() if simulator == "verilator" else "",
    }
    key = "\0".join([simulator, top, *args, *(f"{name}={value}" for name, value in tools.items()), verilog])
    return hashlib.sha256(key.encode()).hexdigest()[:20]
