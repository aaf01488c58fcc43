"""Rows of a study in a file: measured once, judged and drawn again."""

import json
from pathlib import Path
from typing import Any

from sim.study import StudyError

Row = dict[str, Any]


def load_rows(path: Path) -> list[Row]:
    """The rows that :func:`save_rows` wrote.

    Raises
    ------
    StudyError
        If it is no such file.
    """
    try:
        rows = json.loads(path.read_text())["rows"]
    except (ValueError, KeyError, TypeError):
        raise StudyError(f"--rows: {str(path)!r} must be a file that --save-rows wrote") from None
    return [row for row in rows if isinstance(row, dict)]


def save_rows(path: Path, command: str, rows: list[Row], claims: list[Row]) -> None:
    """Writes rows and claims, a line each, and the command that measured them."""
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    verdicts = ",\n  ".join(json.dumps(claim) for claim in claims)
    path.write_text(f'{{"command": {json.dumps(command)},\n "rows": [\n  {lines}\n ],\n'
                    f' "claims": [\n  {verdicts}\n ]}}\n')


def command_of(study: str, *, is_quick: bool, parts: tuple[str, ...] | list[str]) -> str:
    """The command line that measures these rows again."""
    return f"conic study {study}" + " --quick" * is_quick + "".join(f' --part "{part}"' for part in parts)
