"""Files and folders that a command will write: what cannot be written is refused before any work is done."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from firmware_models.files import check_file, check_folder, shown


class _Output(click.ParamType[Path]):
    """A path that a check does not object to."""

    name = "path"

    def __init__(self, check: Callable[[Path], None]):
        self._check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        text = str(value)
        if not text or "\0" in text:
            self.fail(f"must be the name of a {self.name}, not {shown(text)}", param, ctx)
        path = Path(text)
        try:
            self._check(path)
        except OSError as error:
            self.fail(f"{shown(str(error.filename))}: {error.strerror}", param, ctx)
        return path


def _file_in_new_folder(path: Path) -> None:
    if path.parent.exists():
        check_file(path)
    else:
        check_folder(path.parent)


OUTPUT_FILE = _Output(check_file)
"""A file in a folder that is there."""

OUTPUT_FILE_ANYWHERE = _Output(_file_in_new_folder)
"""A file; the command makes its folder."""

OUTPUT_FOLDER = _Output(check_folder)
"""A folder; the command makes it."""
