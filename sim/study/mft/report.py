"""Runs the study of multicast tables and makes its page: one file with table, plots and claims."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sim.report.progress import ProgressCallback
from sim.study import StudyResult
from sim.study.mft.cases import FULL, QUICK
from sim.study.mft.claims import claims
from sim.study.mft.measure import MftStudy
from sim.study.mft.plots import plots
from sim.study.report import Report, check_parts, rows_of
from sim.study.report.page import PageTable

Row = dict[str, Any]
COLUMNS = ("network", "pattern", "way", "MFT", "groups", "colours", "max EFI", "max TFI", "mean TFI", "CPU s")
_ABOUT = (
    "Trees that share no switch share an entry number (a colour). EFI: groups on a link between switches. TFI: groups "
    "that use a tree. <code>mr4lms</code> is the published algorithm, <code>best</code> the improved one, "
    "<code>minihop</code> and <code>sssp</code> give every group a colour of its own."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback,
) -> StudyResult:
    """Measures, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    known = sorted({case.network for case in (QUICK if is_quick else FULL)})
    check_parts(parts, known)
    study = MftStudy(is_quick=is_quick, is_checked=is_quick, progress=progress, networks=parts)
    rows = rows_of(row_files, "mft") if row_files else list(study.rows())
    return _REPORT.write(
        rows, is_quick=is_quick, parts=parts, row_files=row_files, save_to=save_rows, folder=folder,
    )


def table(rows: list[Row]) -> Iterator[tuple[str, ...]]:
    """The rows that tables show, as text."""
    for row in rows:
        if row["kind"] == "case":
            size = "∞" if row["mft_size"] is None else str(row["mft_size"])
            yield (row["network"], row["label"], row["way"], size, f"{row['groups']:,}", f"{row['colours']:,}",
                   f"{row['max_efi']:,}", str(row["max_tfi"]), f"{row['mean_tfi']:.2f}", f"{row['cpu_seconds']:.2f}")


_REPORT = Report(
    study="mft", title="Multicast in small forwarding tables", about=_ABOUT, claims=claims,
    tables=lambda rows: [PageTable("All figures", 3, [COLUMNS, *table(rows)])], plots=plots,
)
