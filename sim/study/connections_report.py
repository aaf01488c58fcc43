"""Runs the study of connection memory and makes its page: one file with tables, plots and claims."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2

from sim.report import connections_tables
from sim.report.progress import ProgressCallback
from sim.report.table import Row as Cells
from sim.study import StudyError, StudyResult
from sim.study.connections import rows as measured
from sim.study.connections_cases import PARTS
from sim.study.connections_claims import claims
from sim.study.connections_plots import plots
from sim.study.rows_file import command_of, load_rows
from sim.study.rows_file import save_rows as write_rows

Row = dict[str, Any]

TABLES = {
    "The paper's numbers": (connections_tables.printed, 3),
    "8,192 buffers in a shared receive queue (section 5), which table 2 does not count": (connections_tables.srq, 1),
    "Memory of a process, MB, 4 cores a node": (connections_tables.scale, 1),
    "Group sizes": (connections_tables.best, 1),
    "Runs": (connections_tables.runs, 2),
    "The same messages on this NIC": (connections_tables.nic, 1),
}
"""Title, what makes the rows, and how many columns hold words."""


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback,
) -> StudyResult:
    """Computes and runs, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    for part in parts:
        if part not in PARTS:
            raise StudyError(f"--part must be one of {', '.join(PARTS)}, not {part!r}")
    if row_files:
        rows = [row for path in row_files for row in load_rows(path)]
    else:
        rows = list(measured(is_quick=is_quick, parts=parts, progress=progress))
    found = claims(rows)
    if save_rows is not None:
        write_rows(save_rows, command_of("connections", is_quick=is_quick, parts=list(parts)), rows, found)
    folder.mkdir(parents=True, exist_ok=True)
    tables = list(_tables(rows))
    (folder / "index.html").write_text(_page(tables, rows, found))
    return StudyResult(rows, found, _text(tables))


def _tables(rows: list[Row]) -> Iterator[tuple[str, int, list[Cells]]]:
    """Title, columns with words, and lines of each table that has any; the heads come first."""
    for title, (make, words) in TABLES.items():
        lines = list(make({"rows": rows}))
        if len(lines) > 1:
            yield title, words, lines


def _text(tables: list[tuple[str, int, list[Cells]]]) -> str:
    out = io.StringIO()
    for title, words, lines in tables:
        texts = [[str(cell) for cell in line] for line in lines]
        widths = [max(len(line[place]) for line in texts) for place in range(len(texts[0]))]
        print(f"{title}\n", file=out)
        for line in texts:
            cells = [cell.ljust(width) if place < words else cell.rjust(width)
                     for place, (cell, width) in enumerate(zip(line, widths, strict=True))]
            print("  ".join(cells).rstrip(), file=out)
        print(file=out)
    return out.getvalue()


def _page(tables: list[tuple[str, int, list[Cells]]], rows: list[Row], found: list[dict[str, Any]]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.study", "."), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("connections.html.j2").render(tables=tables, plots=plots(rows), claims=found)
