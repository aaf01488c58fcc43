"""CSV traces: a message a line."""

import csv
from pathlib import Path

import numpy as np

from firmware_models.connections.error import ConnectionsError, refuse
from firmware_models.connections.trace.lines import lines_of, number
from firmware_models.connections.trace.messages import MAX_MESSAGE_BYTES, Trace, trace_of

COLUMNS = ("source", "destination", "bytes", "phase")
"""Names in the first line, in any order; `bytes` (0) and `phase` (0) may be left out."""


def read_csv(path: Path, n_processes: int) -> Trace:
    """The messages of a CSV file whose first line names its columns (:data:`COLUMNS`).

    Messages of one phase keep their order; empty lines and lines that begin with ``#`` are passed over.

    Raises
    ------
    ConnectionsError
        If a column is missing or unknown, a rank is not 0 to n_processes - 1, or a number is none: file, line, field,
        and what is allowed.
    """
    high = {"source": n_processes - 1, "destination": n_processes - 1, "bytes": MAX_MESSAGE_BYTES, "phase": 1 << 40}
    heads: list[str] | None = None
    found: dict[str, list[int]] = {name: [] for name in COLUMNS}
    for line, text in lines_of(path):
        if not text.strip() or text.startswith("#"):
            continue
        try:
            cells = [cell.strip() for cell in next(csv.reader([text]))]
        except (csv.Error, StopIteration):  # a carriage return within the line, a field of 128 KiB
            refuse(path, line, "line", "fields with commas between them", text.strip())
        if heads is None:
            heads = _heads(path, line, cells)
            continue
        if len(cells) != len(heads):
            refuse(path, line, "line", f"{len(heads)} fields ({', '.join(heads)})", text.strip())
        given = dict(zip(heads, cells, strict=True))
        for name in COLUMNS:
            found[name].append(number(path, line, name, given[name], 0, high[name]) if name in given else 0)
    if heads is None:
        raise ConnectionsError(f"{path}:1: first line must name the columns {', '.join(COLUMNS)}, not be missing")
    return trace_of(str(path), n_processes, *(np.array(found[name], np.int64) for name in COLUMNS))


def _heads(path: Path, line: int, cells: list[str]) -> list[str]:
    """The names of the columns."""
    for cell in cells:
        if cell not in COLUMNS:
            refuse(path, line, "column", f"one of {', '.join(COLUMNS)}", cell)
    for name in COLUMNS[:2]:
        if name not in cells:
            refuse(path, line, "columns", f"{name} and others", ",".join(cells))
    if len(set(cells)) != len(cells):
        refuse(path, line, "columns", "different", ",".join(cells))
    return cells
