"""A unit of arithmetic, Verilated, that whole arrays of operands go through."""

import subprocess
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
from amaranth.lib import wiring

from testbench.design import to_verilog
from testbench.verilated_program import VerilatedProgramError, build_program

Words = npt.NDArray[np.uint64]


class VectorRun:
    """Runs arrays of operands through a pipelined unit; a context manager.

    Parameters
    ----------
    unit : wiring.Component
        Has `i_valid`, `i_a`, `i_b`, `o_valid`, `o`, takes a pair in every cycle, and stalls never.
    """

    def __init__(self, unit: wiring.Component):
        text = to_verilog(unit, name="unit")
        self._program = build_program("vector-run", text, top="unit", main=Path(__file__).with_suffix(".cpp"))
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
        VerilatedProgramError
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
            raise VerilatedProgramError(f"the unit stopped: {process.stderr.read().decode().strip()}")
        return np.frombuffer(received, "<u8")
