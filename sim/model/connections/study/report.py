"""Runs the study of connection memory and makes its page: one file with tables, plots and claims."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sim.model.connections.study import tables
from sim.model.connections.study.cases import PARTS
from sim.model.connections.study.claims import claims
from sim.model.connections.study.measure import rows as measured
from sim.model.connections.study.plots import plots
from sim.report.progress import ProgressCallback
from sim.study import StudyResult
from sim.study.report import Report, check_parts, rows_of
from sim.study.report.page import PageTable

Row = dict[str, Any]

TABLES = {
    "The paper's numbers": (tables.printed, 3),
    "8,192 buffers in a shared receive queue (section 5), which table 2 does not count": (tables.srq, 1),
    "Memory of a process, MB, 4 cores a node": (tables.scale, 1),
    "Group sizes": (tables.best, 1),
    "Runs": (tables.runs, 2),
    "The same messages on this NIC": (tables.nic, 1),
}
"""Title, what makes the rows, and how many columns hold words."""
_ABOUT = (
    "What queue pairs and posted receive buffers take of memory: a queue pair for every process (<code>rc</code>), one "
    "shared receive queue (<code>rc-srq</code>), a queue pair for every node (<code>xrc</code>), buffers of several "
    "sizes (<code>xrc-sizes</code>), and static connections within groups and between equal indexes of groups only, "
    "all others by handshake or by proxy (<code>group</code>, <code>group-xrc</code>). MB are 10<sup>6</sup> bytes. "
    "Where a printed number of the paper is not the one that its own formula gives, both stand in the first table, and "
    "how the printed one comes about. Latencies are counts times assumed costs: 2 µs a message, 100 µs a queue pair, "
    "0.25 ns a forwarded byte."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback,
) -> StudyResult:
    """Computes and runs, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    check_parts(parts, PARTS)
    rows = rows_of(row_files, "connections") if row_files else \
        list(measured(is_quick=is_quick, parts=parts, progress=progress))
    return _REPORT.write(
        rows, is_quick=is_quick, parts=parts, row_files=row_files, save_to=save_rows, folder=folder,
    )


def _tables(rows: list[Row]) -> Iterator[PageTable]:
    """Those that have any lines."""
    for title, (make, words) in TABLES.items():
        lines = list(make({"rows": rows}))
        if len(lines) > 1:
            yield PageTable(title, words, lines)

_REPORT = Report(
    study="connections", title="Memory of connections", about=_ABOUT, claims=claims, tables=_tables, plots=plots,
)
