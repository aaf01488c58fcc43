"""Rows of a grid in a file, as they come: what an interrupted study goes on from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firmware_models.files import FileError, parse_json, read_text, shown, write_text
from sim.study import StudyError

Row = dict[str, Any]


def lines_of(text: str) -> list[Any]:
    """The JSON of each line of a file of rows, its head first; a line that is cut off is none.

    Raises
    ------
    FileError
        If a line is no JSON.
    """
    return [parse_json(line) for line in text.rpartition("\n")[0].splitlines()]


class RowsFile:
    """Rows as JSON lines behind a line with what they depend on.

    A line that is cut off, because its process was killed while it wrote, was never there.

    Parameters
    ----------
    path : Path
        The file.
    head : mapping
        What the rows depend on.

    Raises
    ------
    StudyError
        If the file holds something else, or rows that depend on something else.
    """

    def __init__(self, path: Path, head: Mapping[str, Any]):
        self.path = path
        self._head = json.dumps(dict(head))
        self.rows: list[Row] = []
        self._is_whole = False
        """The file is there and ends with a whole line, so another may be appended."""
        if path.exists():
            self._load(head)

    def _load(self, head: Mapping[str, Any]) -> None:
        where = f"--results: {shown(self.path)}"
        try:
            text = read_text(self.path)
            lines = lines_of(text)
        except FileError as error:
            raise StudyError(f"{where} {error}") from None
        if not lines or not all(isinstance(line, dict) for line in lines):
            raise StudyError(f"{where} must hold rows that a study has written, a JSON object a line")
        theirs, wanted = lines[0], json.loads(self._head)
        for name in dict.fromkeys([*wanted, *theirs]):
            if theirs.get(name) != wanted.get(name):
                raise StudyError(
                    f"{where} has rows for {name} {shown(theirs.get(name))}, not {shown(wanted.get(name))}: name "
                    "another file, or remove it"
                )
        self.rows = lines[1:]
        self._is_whole = text.endswith("\n")

    def add(self, row: Row) -> None:
        """Keeps one more row. However this ends, a later run finds all rows before it."""
        self.rows.append(row)
        if self._is_whole:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.path, "\n".join([self._head, *map(json.dumps, self.rows)]) + "\n")
        self._is_whole = True
