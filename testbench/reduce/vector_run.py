"""A unit of arithmetic, Verilated, that whole arrays of operands go through."""

import fcntl
import hashlib
import subprocess
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
from amaranth.back import verilog
from amaranth.lib import wiring

from testbench.toolchain import build_folder, environment, verilator_version

_main = Path(__file__).with_suffix(".cpp")

Words = npt.NDArray[np.uint64]


class VectorRunError(RuntimeError):
    """The unit does not build, or stopped; the message holds the output."""


class VectorRun:
    """Runs arrays of operands through a pipelined unit; a context manager.

    Parameters
    ----------
    unit : wiring.Component
        Has `i_valid`, `i_a`, `i_b`, `o_valid`, `o`, takes a pair in every cycle, and stalls never.
    """

    def __init__(self, unit: wiring.Component):
        self._program = _build(unit)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "VectorRun":
        self._process = subprocess.Popen(
            [str(self._program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process is not None
        if kind is not None:
            self._process.kill()
        self._process.communicate()

    def __call__(self, a: Words, b: Words) -> Words:
        """Results of the pairs, in their order.

        Raises
        ------
        VectorRunError
            If the unit does not give one result for each.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        if not len(a):
            return np.empty(0, np.uint64)
        try:
            process.stdin.write(np.uint64(len(a)).tobytes() + np.column_stack((a, b)).astype("<u8").tobytes())
            process.stdin.flush()
        except BrokenPipeError:
            pass
        received = process.stdout.read(8 * len(a))
        if len(received) != 8 * len(a):
            assert process.stderr is not None
            raise VectorRunError(f"the unit stopped: {process.stderr.read().decode().strip()}")
        return np.frombuffer(received, "<u8")


def _build(unit: wiring.Component) -> Path:
    """The program, in a folder named by the hash of all that goes into it."""
    text = verilog.convert(unit, name="unit", strip_internal_attrs=True)
    command = [
        "verilator", "--cc", "--exe", "--build", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--prefix", "Vunit",
        "--top-module", "unit", "-MAKEFLAGS", "OPT_FAST=-O2", "-CFLAGS", "-std=c++17",
    ]
    key = "\0".join([verilator_version(), *command, text, _main.read_text()])
    folder = build_folder() / "vector-run" / hashlib.sha256(key.encode()).hexdigest()[:20]
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "Vunit"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            (folder / "unit.v").write_text(text)
            result = subprocess.run(
                [*command, "--Mdir", str(folder), str(folder / "unit.v"), str(_main)],
                env=environment(), capture_output=True, text=True, check=False,
            )
            if result.returncode:
                raise VectorRunError(f"verilator failed ({result.returncode}):\n{result.stdout}{result.stderr}")
    return program
