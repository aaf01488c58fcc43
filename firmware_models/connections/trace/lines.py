"""Lines and numbers of text files, refused with file, line and field."""

import re
from collections.abc import Iterator
from pathlib import Path

from firmware_models.connections.error import refuse


def lines_of(path: Path, *, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """Numbers and texts of the lines, read as they are needed; a byte order mark is no part of the first.

    `errors` is that of :meth:`bytes.decode`.

    Raises
    ------
    ConnectionsError
        If a line is not UTF-8.
    """
    with path.open("rb") as file:
        for line, data in enumerate(file, 1):
            try:
                yield line, data.decode("utf-8-sig" if line == 1 else "utf-8", errors)
            except UnicodeDecodeError as error:
                refuse(path, line, "text", "UTF-8", f"byte 0x{data[error.start]:02x}")


def number(path: Path, line: int, field: str, text: str, low: int, high: int) -> int:
    """The whole number that `text` is, `low` to `high`. Raises :class:`ConnectionsError` if it is not."""
    if not re.fullmatch(r"-?[0-9]{1,20}", text) or not low <= int(text) <= high:
        refuse(path, line, field, f"{low} to {high}", text)
    return int(text)
