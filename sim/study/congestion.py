"""What the studies of congestion control have in common: tasks, rows, page."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from sim.congestion import ALGORITHMS
from sim.report.progress import ProgressCallback
from sim.report.table import Row as Cells
from sim.study import StudyError, StudyResult
from sim.study.mft_plots import Plot
from sim.study.rows_file import command_of, load_rows
from sim.study.rows_file import save_rows as write_rows
from sim.study.tasks import Task, run_tasks, source_hash

Row = dict[str, Any]
Claim = dict[str, Any]
SEED = 1


def claim(text: str, holds: bool, measured: Any, expected: Any) -> Claim:
    """A claim as the command line shows it."""
    return {"claim": text, "holds": bool(holds), "measured": measured, "expected": expected}


def sound(rows: Sequence[Row]) -> Claim:
    """That invariants hold in every run, and that nothing waits for itself."""
    runs = [row for row in rows if "violations" in row]
    broken = [line for row in runs for line in (*row["violations"], *row.get("alone_violations", ()), *row["deadlock"])]
    return claim(f"{len(runs)} runs: bytes are conserved, nothing is lost or overtaken within a flow, queues stay "
                 "within buffers, rates within lines; no deadlock", bool(runs) and not broken, broken[:5] or 0, 0)


@dataclass(frozen=True)
class CongestionStudy:
    """A study: what is run, what it claims, how it looks.

    Members
    -------
    name, title, about : str
    tasks : callable
        ``(is_quick, controls)`` to the runs.
    claims, plots : callable
        Of the rows.
    tables : dict
        Title to what makes the lines, and how many columns hold words.
    """

    name: str
    title: str
    about: str
    tasks: Callable[[bool, Sequence[str]], list[Task]]
    claims: Callable[[list[Row]], list[Claim]]
    plots: Callable[[list[Row]], list[Plot]]
    tables: dict[str, tuple[Callable[[dict[str, Any]], Iterator[Cells]], int]] = field(default_factory=dict)

    def run(
        self, *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
        progress: ProgressCallback,
    ) -> StudyResult:
        """Measures, or takes the rows of `row_files`, and writes ``index.html`` into `folder`.

        Runs that an interrupted study finished stand in `folder`, and are taken from there.
        """
        for part in parts:
            if part not in ALGORITHMS:
                raise StudyError(f"--part must be one of {', '.join(ALGORITHMS)}, not {part!r}")
        if row_files:
            rows = [row for path in row_files for row in load_rows(path)]
        else:
            packages = [Path(str(resources.files(package))) for package in ("sim.congestion", "sim.study")]
            rows = run_tasks(self.tasks(is_quick, parts or tuple(ALGORITHMS)), folder / "unfinished",
                             source_hash(*packages), progress)
        found = self.claims(rows)
        if save_rows is not None:
            write_rows(save_rows, command_of(self.name, is_quick=is_quick, parts=list(parts)), rows, found)
        folder.mkdir(parents=True, exist_ok=True)
        tables = list(self._lines(rows))
        (folder / "index.html").write_text(self._page(tables, rows, found))
        return StudyResult(rows, found, _text(tables))

    def _lines(self, rows: list[Row]) -> Iterator[tuple[str, int, list[Cells]]]:
        """Title, columns with words, and lines of each table that has any; the heads come first."""
        for title, (make, words) in self.tables.items():
            lines = list(make({"rows": rows}))
            if len(lines) > 1:
                yield title, words, lines

    def _page(self, tables: list[tuple[str, int, list[Cells]]], rows: list[Row], found: list[Claim]) -> str:
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("sim.study", "."), autoescape=True, undefined=jinja2.StrictUndefined,
            trim_blocks=True, lstrip_blocks=True)
        return environment.get_template("congestion.html.j2").render(
            title=self.title, about=self.about, tables=tables, plots=self.plots(rows), claims=found)


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
