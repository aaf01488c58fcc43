"""A simulated board: the whole self-test design, Verilated, behind a model of its serial port."""

import struct
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from firmware_models.config import Config
from fpga.selftest.design import SelfTest
from testbench.design import design_of
from testbench.verilated_program import build_program

_MAIN = Path(__file__).with_name("model.cpp")
_OPTIONS = ("--assert", "--no-timing", "--x-assign", "unique", "--x-initial", "unique")
_IDLE_BITS = 2000
"""Bit times without a byte after which a read gives up."""


class BoardModel:
    """A serial port with a simulated board at its other end; use it as a context manager.

    Time passes only while bytes are read, so that runs with equal seeds are equal.

    Parameters
    ----------
    config : Config
        The hardware.
    n_nics, memory_bytes : int
        As for :class:`fpga.selftest.design.SelfTest`.
    divisor : int
        Clock cycles of a bit on the board; few make the simulation short.
    drift : float
        How much longer than the board's a bit of the host is; a UART bears 0.02 and more.
    seed : int
        Of what registers and memories hold before reset.
    """

    def __init__(
        self, *, config: Config, n_nics: int = 2, memory_bytes: int = 1 << 15, divisor: int = 8, drift: float = 0.0,
        seed: int = 0,
    ):
        self.divisor = divisor
        program = build_board(config=config, n_nics=n_nics, memory_bytes=memory_bytes, divisor=divisor)
        self._process = subprocess.Popen(
            [str(program), repr(divisor * (1 + drift)), str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def write(self, data: bytes) -> int:
        """Sends bytes to the board."""
        self._send(b"W" + struct.pack("<I", len(data)) + data)
        return len(data)

    def read(self, size: int = 1) -> bytes:
        """Runs the board until it has sent that many bytes, or none for a while."""
        self._send(b"R" + struct.pack("<IQ", size, _IDLE_BITS * self.divisor))
        count, = struct.unpack("<I", self._receive(4))
        return self._receive(count)

    @property
    def cycle(self) -> int:
        """Cycles simulated so far."""
        return int(self._state()[0])

    @property
    def lights(self) -> tuple[bool, bool]:
        """The lights for pass and fail."""
        _, passed, failed = self._state()
        return bool(passed), bool(failed)

    def close(self) -> None:
        """Ends the simulation."""
        if self._process.poll() is None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()

    def __enter__(self) -> "BoardModel":
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()

    def _state(self) -> tuple[int, int, int]:
        self._send(b"S")
        cycle, passed, failed = struct.unpack("<QBB", self._receive(10))
        return cycle, passed, failed

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def _receive(self, count: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(count)
        if len(data) < count:
            raise RuntimeError("the simulated board ended: an assertion of its RTL failed")
        return data


def build_board(*, config: Config, n_nics: int, memory_bytes: int, divisor: int) -> Path:
    """The program that simulates such a board, built if need be."""
    design = design_of(partial(
        SelfTest, config=config, n_nics=n_nics, memory_bytes=memory_bytes, clock_hz=1_000_000 * divisor,
        divisor=divisor,
    ))
    return build_program("board", design.verilog, top=design.top, main=_MAIN, options=_OPTIONS)
