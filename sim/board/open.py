"""Opens a board by the name of its serial port, or a simulated one."""

import os
import termios
from collections.abc import Iterator
from contextlib import contextmanager

from firmware_models.config import load_preset
from firmware_models.files import shown
from sim.board.board import Board
from sim.board.frame_link import FrameLink
from sim.board.model import BoardModel

MODEL = "model:"
"""Prefix of the name of a simulated board; the name of its preset follows."""
DEFAULT_BAUD = 1_000_000
_TIMEOUT_SECONDS = 0.25


class NoBoardError(ValueError):
    """No serial port of that name; the message says what would be right."""


@contextmanager
def open_board(name: str, *, baud: int = DEFAULT_BAUD) -> Iterator[Board]:
    """The board behind a serial port.

    Parameters
    ----------
    name : str
        A serial port such as ``/dev/ttyUSB0``, or ``model:`` and the preset of a board: its whole design, simulated.
    baud : int
        Bits a second of the port; the bitstreams of ``conic build`` have 1,000,000.

    Raises
    ------
    NoBoardError
        If there is no such port.
    BoardError
        If there is no such board behind it.
    ConfigError
        If a simulated board's preset does not exist.
    """
    if name.startswith(MODEL):
        preset = name.removeprefix(MODEL)
        with BoardModel(config=load_preset(preset)) as port:
            yield Board(FrameLink(port), preset=preset)
        return
    import serial  # only who has a board needs the package

    try:
        line = serial.Serial(name, baudrate=baud, timeout=_TIMEOUT_SECONDS)
    except (OSError, ValueError, termios.error) as error:  # SerialException is an OSError, and some ports raise others
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else "cannot be set up as one"
        raise NoBoardError(f"board must be a serial port, or {MODEL}PRESET, not {shown(name)}: {reason}") from None
    with line:
        line.reset_input_buffer()
        yield Board(FrameLink(line))
