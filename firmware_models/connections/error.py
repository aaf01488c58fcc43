"""The error of this package."""

from pathlib import Path
from typing import NoReturn


class ConnectionsError(ValueError):
    """A machine, queue or trace that cannot be; one line: field (of a file: file and line), what is allowed, value."""


def require(allowed: bool, field: str, what: str, value: object) -> None:
    """Raises :class:`ConnectionsError` with "`field` must be `what`, not `value`" unless `allowed`."""
    if not allowed:
        raise ConnectionsError(f"{field} must be {what}, not {value!r}")


def refuse(path: Path, line: int, field: str, what: str, value: str) -> NoReturn:
    """Raises the error that names file, line and field of a trace, what is allowed there, and what stands there."""
    shown = value if len(value) <= 60 else f"{value[:57]}..."
    raise ConnectionsError(f"{path}:{line}: {field} must be {what}, not {shown!r}")
