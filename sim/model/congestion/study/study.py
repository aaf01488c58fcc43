"""Parts that the studies of congestion control share: tasks, rows, page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from sim.model.congestion import ALGORITHMS
from sim.report.drawing import Plot
from sim.report.progress import ProgressCallback
from sim.report.table import Row as Cells
from sim.study import StudyError, StudyResult
from sim.study.grid.tasks import Task, run_tasks, source_hash
from sim.study.report.page import PageTable, text_tables, write_page
from sim.study.report.rows_file import command_of, judged, load_rows
from sim.study.report.rows_file import save_rows as write_rows

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
            rows = [row for path in row_files for row in load_rows(path, self.name)]
        else:
            packages = [Path(str(resources.files(package))) for package in ("sim.model.congestion", "sim.study")]
            rows = run_tasks(self.tasks(is_quick, parts or tuple(ALGORITHMS)), folder / "unfinished",
                             source_hash(*packages), progress)
        with judged(row_files):
            found = self.claims(rows)
            if save_rows is not None:
                write_rows(save_rows, command_of(self.name, is_quick=is_quick, parts=list(parts)), rows, found)
            tables = list(self._lines(rows))
            write_page(folder, title=self.title, about=self.about, plots=self.plots(rows), claims=found, tables=tables)
            return StudyResult(rows, found, text_tables(tables))

    def _lines(self, rows: list[Row]) -> Iterator[PageTable]:
        """Those that have any lines."""
        for title, (make, words) in self.tables.items():
            lines = list(make({"rows": rows}))
            if len(lines) > 1:
                yield PageTable(title, words, lines)
