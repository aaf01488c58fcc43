"""Rows of a study in a file: measured once, judged and drawn again."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firmware_models.files import FileError, parse_json, read_text, shown, write_text
from sim.study import StudyError
from sim.study.grid.kept_rows import lines_of

Row = dict[str, Any]


def load_rows(path: Path, *studies: str) -> list[Row]:
    """The rows of one of `studies` that :func:`save_rows` wrote, or a grid as they came (``.jsonl``), all or some.

    Raises
    ------
    StudyError
        If it is no such file, or one of another study.
    """
    try:
        content = _kept(read_text(path)) if path.suffix == ".jsonl" else parse_json(read_text(path))
    except FileError as error:
        raise StudyError(f"--rows: {shown(path)} {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("rows"), list) or \
            not all(isinstance(row, dict) and isinstance(row.get("kind"), str) for row in content["rows"]):
        raise StudyError(f"--rows: {shown(path)} must be a file that --save-rows wrote")
    command = str(content.get("command"))
    if not f"{command} ".startswith(tuple(f"conic study {study} " for study in studies)):
        names = " or ".join(studies)
        raise StudyError(f"--rows: {shown(path)} must have rows of study {names}, not of {shown(command)}")
    rows: list[Row] = content["rows"]
    return rows


def _kept(text: str) -> Any:
    """Rows behind a line with what they depend on, in the form of :func:`save_rows`; a last line may be cut off."""
    head, *rows = lines_of(text) or [None]
    return {"command": f"conic study {head.get('study')}", "rows": rows} if isinstance(head, dict) else None


@contextmanager
def judged(row_files: Sequence[Path]) -> Iterator[None]:
    """Around what reads rows: if they are from files, one without what a study needs is refused.

    Raises
    ------
    StudyError
        If rows from files are not what they must be. Rows that were measured are nobody's input: errors stay as they
        are.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError, OverflowError) as error:
        if not row_files or isinstance(error, StudyError):
            raise
        names = ", ".join(map(shown, row_files))
        raise StudyError(f"--rows: {names} must have the rows that --save-rows wrote: {shown(str(error))}") from error


def save_rows(path: Path, command: str, rows: list[Row], claims: list[Row]) -> None:
    """Writes rows and claims, a line each, and the command that measured them."""
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    verdicts = ",\n  ".join(json.dumps(claim) for claim in claims)
    write_text(path, f'{{"command": {json.dumps(command)},\n "rows": [\n  {lines}\n ],\n'
                     f' "claims": [\n  {verdicts}\n ]}}\n')


def command_of(study: str, *, is_quick: bool, parts: tuple[str, ...] | list[str]) -> str:
    """The command line that measures these rows again."""
    return f"conic study {study}" + " --quick" * is_quick + "".join(f' --part "{part}"' for part in parts)
