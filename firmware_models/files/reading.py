"""Text of a file that somebody names: whatever it is, reading it ends, and one line names what is wrong."""

import os
import reprlib
from pathlib import Path

MOST_BYTES = 64 << 20
"""Bytes of the largest file that is read as text; fabrics of 16,000 terminals have a tenth of it."""

MOST_DIGITS = 40
"""Digits of the longest number in a file or a flag: no quantity here has half as many."""


class FileError(ValueError):
    """A file that cannot be used; the message continues a sentence that begins with the name of the file."""


def read_text(path: Path, *, most_bytes: int = MOST_BYTES) -> str:
    """The text of a file, UTF-8.

    Raises
    ------
    FileError
        If it cannot be read, is no text or has more than `most_bytes`: devices that never end are refused, too.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}") from None
    except ValueError:  # a path with a zero byte
        raise FileError("cannot be read: no name of a file") from None
    if len(data) > most_bytes:
        raise FileError(f"must have at most {most_bytes:,} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(f"must be UTF-8 text, not byte 0x{data[error.start]:02x} in line {line}") from None


_short = reprlib.Repr()
_short.maxlevel, _short.maxdict, _short.maxlist, _short.maxtuple = 3, 8, 8, 8
_short.maxstring = _short.maxlong = _short.maxother = 80


def shown(value: object) -> str:
    """Returns foreign input as a message repeats it: one line, cut if it is long.

    Examples
    --------
    >>> shown("4 KB"), shown([1, 2])
    ("'4 KB'", '[1, 2]')
    >>> len(shown("9" * 5000))
    80
    """
    if isinstance(value, os.PathLike):
        value = str(value)
    return _short.repr(value)
