"""The experiments of the NIC paper (figures 5 and 6), offloaded beside host-based: rows, claims, one page."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from sim.report.progress import ProgressCallback
from sim.study import GridOptions, StudyResult
from sim.study.nic.claims import claims
from sim.study.nic.formula import rows as formula_rows
from sim.study.nic.grid import PARTS, host_of, nic_grid
from sim.study.nic.plots import plots
from sim.study.nic.points import EXPERIMENTS, Experiment
from sim.study.nic.tables import about, tables
from sim.study.report import Report, check_parts, rows_of

Row = dict[str, Any]


def run(
    name: str, *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures what `name` of :data:`EXPERIMENTS` asks for, or takes the rows of `row_files`; writes the page."""
    experiment = EXPERIMENTS[name]
    check_parts(parts, PARTS)
    rows = rows_of(row_files, name) if row_files else \
        _measure(experiment, is_quick, parts, folder, progress, options)
    report = Report(
        study=name, title=f"{experiment.collective.capitalize()}: offloaded beside host-based",
        about=partial(about, experiment), claims=partial(claims, experiment), tables=partial(tables, experiment),
        plots=partial(plots, experiment),
    )
    return report.write(
        _with_formula(experiment, rows, options), is_quick=is_quick, parts=parts, row_files=row_files,
        save_to=save_rows, folder=folder,
    )


def _measure(
    experiment: Experiment, is_quick: bool, parts: Sequence[str], folder: Path, progress: ProgressCallback,
    options: GridOptions,
) -> list[Row]:
    of = nic_grid(experiment, is_quick=is_quick, parts=[*parts, "message"] if parts else (), options=options)
    return of.rows(folder, options, progress)


def _with_formula(experiment: Experiment, rows: list[Row], options: GridOptions) -> list[Row]:
    """The rows, and what the paper's formula says of each size, unless they have it: rows as they came have not."""
    message = next((row for row in rows if row["kind"] == "message"), None)
    if message is None or any(row["kind"] == "formula" for row in rows):
        return rows
    sizes = sorted({row["bytes"] for row in rows if row["kind"] == "point"})
    return rows + formula_rows(
        experiment.collective, host_of(options), load_preset(options.preset), sizes=sizes,
        network_ns=message["network_ns"],
    )
