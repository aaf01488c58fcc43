"""The experiments of the NIC paper (figures 5 and 6), offloaded beside host-based: rows, claims, one page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.report.progress import ProgressCallback
from sim.study import GridOptions, StudyError, StudyResult
from sim.study.nic_claims import claims
from sim.study.nic_formula import rows as formula_rows
from sim.study.nic_grid import PARTS, nic_grid
from sim.study.nic_plots import plots
from sim.study.nic_points import EXPERIMENTS, Experiment
from sim.study.nic_tables import about, tables
from sim.study.page import text_tables, write_page
from sim.study.rows_file import command_of, judged, load_rows
from sim.study.rows_file import save_rows as write_rows

Row = dict[str, Any]


def run(
    name: str, *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures what `name` of :data:`EXPERIMENTS` asks for, or takes the rows of `row_files`; writes the page."""
    experiment = EXPERIMENTS[name]
    for part in parts:
        if part not in PARTS:
            raise StudyError(f"--part must be one of {', '.join(PARTS)}, not {part!r}")
    if row_files:
        rows = [row for path in row_files for row in load_rows(path, name)]
    else:
        rows = _measure(experiment, is_quick, parts, folder, progress, options)
    with judged(row_files):
        found = claims(experiment, rows)
        if save_rows is not None:
            write_rows(save_rows, command_of(name, is_quick=is_quick, parts=list(parts)), rows, found)
        shown = tables(experiment, rows)
        write_page(folder, title=f"{experiment.collective.capitalize()}: offloaded beside host-based",
                   about=about(experiment, rows), plots=plots(experiment, rows), claims=found, tables=shown)
        return StudyResult(rows, found, text_tables(shown))


def _measure(
    experiment: Experiment, is_quick: bool, parts: Sequence[str], folder: Path, progress: ProgressCallback,
    options: GridOptions,
) -> list[Row]:
    of = nic_grid(experiment, is_quick=is_quick, parts=[*parts, "message"] if parts else (), options=options)
    rows = of.rows(folder, options, progress)
    message = next(row for row in rows if row["kind"] == "message")
    sizes = sorted({row["bytes"] for row in rows if row["kind"] == "point"})
    return rows + formula_rows(
        experiment.collective, of.host, of.config, sizes=sizes, network_ns=message["network_ns"],
    )
