"""Lines of a text file, and how one is refused."""

from pathlib import Path
from typing import NoReturn

from firmware_models.routing.network import RoutingError


def read_text(path: Path) -> str:
    """The text of a file, without a byte order mark.

    Raises
    ------
    RoutingError
        If it is not UTF-8.
    """
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RoutingError(f"{path}:{line}: expected UTF-8 text, not byte 0x{data[error.start]:02x}") from None


def refuse(path: Path, line: int, expected: str, found: str) -> NoReturn:
    """Raises the error that says what was expected at `line` of `path`."""
    shown = found if len(found) <= 80 else f"{found[:77]}..."
    raise RoutingError(f"{path}:{line}: expected {expected}, not {shown!r}")
