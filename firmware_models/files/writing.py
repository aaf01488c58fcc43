"""Files that are written appear whole or not at all, whatever ends the program while it writes."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def written(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file to write to; it takes the place of `path` when it is complete.

    Until then, and for good if something fails, what stood at `path` stands there still. A device or a pipe is written
    to as it is.

    Parameters
    ----------
    mode : str
        ``w`` for text, ``wb`` for bytes.

    Raises
    ------
    OSError
        Always with the name of `path`, so that one line can say: no folder, no right, no space.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open(mode) as file:
                yield file
            return
        with aside(path) as part, part.open(mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def aside(path: Path, *, keep: tuple[type[Exception], ...] = ()) -> Iterator[Path]:
    """A name beside `path` for something that others write; it is renamed to `path` unless something fails.

    Parameters
    ----------
    keep : tuple of exception types
        Failures after which it is complete all the same, such as a waveform of a run whose result is wrong.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{path.suffix}")
    try:
        try:
            yield part
        except keep:
            if part.exists():
                part.replace(path)
            raise
        if part.exists():
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file, whole or not at all."""
    with written(path) as file:
        file.write(text)


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file, whole or not at all."""
    with written(path, "wb") as file:
        file.write(data)


def check_file(path: Path) -> None:
    """Raises :class:`OSError`, with the name at fault, if `path` could not be written as a file."""
    if path.is_dir():
        raise IsADirectoryError(21, "is a folder, not a file", str(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(path))
    if not path.exists() or path.is_file():
        check_folder(path.parent, must_exist=True)


def check_folder(path: Path, *, must_exist: bool = False) -> None:
    """Raises :class:`OSError`, with the name at fault, if nothing could be written into the folder `path`.

    A folder that is not there is fine unless it `must_exist`, if it could be made.
    """
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(20, os.strerror(20), str(path))
    if not path.exists():
        if must_exist:
            raise FileNotFoundError(2, "no such folder", str(path))
        check_folder(path.parent)
    elif not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(13, os.strerror(13), str(path))
