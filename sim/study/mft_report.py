"""Runs the study of multicast tables and makes its page: one file with table, plots and claims."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2

from sim.report.progress import ProgressCallback
from sim.study import StudyError, StudyResult
from sim.study.mft import MftStudy
from sim.study.mft_cases import FULL, QUICK
from sim.study.mft_claims import claims
from sim.study.mft_plots import plots
from sim.study.rows_file import command_of, load_rows
from sim.study.rows_file import save_rows as write_rows

Row = dict[str, Any]
COLUMNS = ("network", "pattern", "way", "MFT", "groups", "colours", "max EFI", "max TFI", "mean TFI", "CPU s")


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback,
) -> StudyResult:
    """Measures, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    known = sorted({case.network for case in (QUICK if is_quick else FULL)})
    for part in parts:
        if part not in known:
            raise StudyError(f"--part must be one of {', '.join(known)}, not {part!r}")
    if row_files:
        rows = [row for path in row_files for row in load_rows(path)]
    else:
        study = MftStudy(is_quick=is_quick, is_checked=is_quick, progress=progress, networks=parts)
        rows = list(study.rows())
    found = claims(rows)
    if save_rows is not None:
        write_rows(save_rows, command_of("mft", is_quick=is_quick, parts=list(parts)), rows, found)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(_page(rows, found))
    return StudyResult(rows, found, _text_table(rows))


def table(rows: list[Row]) -> Iterator[tuple[str, ...]]:
    """The rows that tables show, as text."""
    for row in rows:
        if row["kind"] == "case":
            size = "∞" if row["mft_size"] is None else str(row["mft_size"])
            yield (row["network"], row["label"], row["way"], size, f"{row['groups']:,}", f"{row['colours']:,}",
                   f"{row['max_efi']:,}", str(row["max_tfi"]), f"{row['mean_tfi']:.2f}", f"{row['cpu_seconds']:.2f}")


def _text_table(rows: list[Row]) -> str:
    out = io.StringIO()
    lines = [COLUMNS, *table(rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(COLUMNS))]
    for line in lines:
        cells = [cell.ljust(width) if place < 3 else cell.rjust(width)
                 for place, (cell, width) in enumerate(zip(line, widths, strict=True))]
        print("  ".join(cells).rstrip(), file=out)
    return out.getvalue()


def _page(rows: list[Row], found: list[dict[str, Any]]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.study", "."), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("mft.html.j2").render(
        columns=COLUMNS, lines=list(table(rows)), plots=plots(rows), claims=found)
