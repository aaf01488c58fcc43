"""Opens a board by the name of its serial port, or a simulated one."""

from collections.abc import Iterator
from contextlib import contextmanager

from firmware_models.config import load_preset
from sim.board.board import Board
from sim.board.frame_link import BoardError, FrameLink
from sim.board.model import BoardModel

MODEL = "model:"
"""What the name of a simulated board begins with; the name of its preset follows."""
DEFAULT_BAUD = 1_000_000
_TIMEOUT_SECONDS = 0.25


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
    BoardError
        If there is no such port, or no such board behind it.
    ConfigError
        If a simulated board's preset does not exist.
    """
    if name.startswith(MODEL):
        with BoardModel(config=load_preset(name.removeprefix(MODEL))) as port:
            yield Board(FrameLink(port))
        return
    import serial  # only who has a board needs the package

    try:
        line = serial.Serial(name, baudrate=baud, timeout=_TIMEOUT_SECONDS)
    except (serial.SerialException, ValueError) as error:
        raise BoardError(f"board must be a serial port, or {MODEL}PRESET, not {name!r}: {error}") from None
    with line:
        line.reset_input_buffer()
        yield Board(FrameLink(line))
