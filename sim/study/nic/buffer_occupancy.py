"""Table 1 of the NIC paper: how full the root's packet buffers are during an allreduce."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sim.report.colours import BLUE, GREEN, RUST
from sim.report.drawing import Plot, log_axis, panel, svg
from sim.report.progress import ProgressCallback
from sim.report.words import number, span
from sim.study import GridOptions, StudyResult
from sim.study.nic.grid import JOBS_PARTS, nic_grid
from sim.study.nic.points import EXPERIMENTS, JOBS
from sim.study.nic.tables import size_words
from sim.study.report import Report, check_parts, rows_of
from sim.study.report.page import PageTable

Row = dict[str, Any]
Claim = dict[str, Any]
_OF = EXPERIMENTS["nic-allreduce"]
"""The study that has the same points: rows are its, and either takes those of the other."""
_OF_JOBS = dict(zip(JOBS, (BLUE, GREEN, RUST), strict=True))
_LOW = 0.1
"""The paper calls the buffers' occupancy low for short messages; its reserve for collisions is a tenth."""
_ONE_PACKET_BYTES = 4096
"""Half of a message, the most that a step sends, is a single packet of 2,048 bytes; no more are on their way then."""
_ABOUT = (
    "Mean share of each packet buffer of the root that is in use, from the call of all processes until the last one "
    "has its result: allreduce by Rabenseifner's algorithm, offloaded, hosts included. Points are those of "
    "<code>conic study nic-allreduce</code>, and kept in its file. <b>The paper's table 1</b> stands as a picture in "
    "the copy that this project has: its text (section 2.3) says what was measured and what was seen, and the claims "
    "are that; its cells can be put beside these rows as rows of kind <code>paper</code> in a file for "
    "<code>--rows</code>. <b>What differs.</b> <em>Units without a job</em>: a job stays at the unit that its first "
    "touch has chosen, so one job fills one buffer and leaves seven empty, and the mean over all eight is an eighth "
    "of it; the paper's caption speaks of a single buffer. <em>Consumed early</em>: by the paper's text occupancy "
    "grows with the data of all children; here a packet is combined when the operand and its predecessors are "
    "there, and leaves, so occupancy is what is on its way between two steps, not what has been sent. "
    "<em>Credits</em>: a peer has three of the guaranteed credits and what is lent; more cannot be outstanding, "
    "however long the message. <em>Capacity</em>: a share of the slots that can be used, 98% of all here "
    "(251 of 256), 90% in the paper. <em>Time</em>: calls, PCIe and completions are in the mean, and short operations "
    "consist of little else. <em>Hosts and clocks</em> are assumed, for the paper does not describe them."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures, or takes the rows of `row_files`, those of nic-allreduce too; writes ``index.html`` into `folder`."""
    check_parts(parts, JOBS_PARTS)
    rows = rows_of(row_files, "buffer-occupancy", _OF.name) if row_files else \
        _measure(is_quick, parts, folder, progress, options)
    return _REPORT.write(
        rows, is_quick=is_quick, parts=parts, row_files=row_files, save_to=save_rows, folder=folder,
    )


def _measure(
    is_quick: bool, parts: Sequence[str], folder: Path, progress: ProgressCallback, options: GridOptions,
) -> list[Row]:
    of = nic_grid(_OF, is_quick=is_quick, parts=parts or JOBS_PARTS, options=options, ways=("offloaded",))
    # Beside this study's folder: whichever of both is run first, the other one finds its rows.
    return of.rows(folder.parent / _OF.name, options, progress)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Claims of the paper's text about its table, and that every bit is right."""
    measured = _measured(rows)
    wrong = sum(row["mismatched_bits"] for row in measured)
    found = [_claim(f"{len(measured)} runs: no bit differs from the golden model", bool(measured) and not wrong,
                    wrong, 0)]
    if measured:
        most = max(max(row["peak"]) for row in measured)
        found.append(_claim("no buffer has ever been fuller than what is usable of it", most <= 1, _percent(most),
                            "<= 100%"))
    for jobs in dict.fromkeys(row["jobs"] for row in measured):
        mine = sorted((row for row in measured if row["jobs"] == jobs), key=lambda row: row["bytes"])
        short, long = (max(row["occupancy"]) for row in (mine[0], mine[-1]))
        found.append(_claim(f"jobs {jobs}: the fullest buffer is little used for messages of "
                            f"{size_words(mine[0]['bytes'])}", short < _LOW, _percent(short), f"< {_percent(_LOW)}"))
        if mine[-1]["bytes"] > _ONE_PACKET_BYTES:
            found.append(_claim(f"jobs {jobs}: it is fuller for messages of {size_words(mine[-1]['bytes'])}",
                                long > short, _percent(long), f"> {_percent(short)}"))
    return found


def _claim(text: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": text, "holds": bool(holds), "measured": measured, "expected": expected}


def _percent(share: float) -> str:
    return f"{number(100 * share)}%"


def _is_filled(row: Row) -> bool:
    return bool(row["kind"] == "point" and row["way"] == "offloaded")


def _measured(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["kind"] == "point"]


def _mean(row: Row) -> float:
    return float(sum(row["occupancy"]) / len(row["occupancy"]))


def _tables(rows: Sequence[Row]) -> Iterator[PageTable]:
    """A column for each buffer; behind them the mean, the paper's, and by how much it is above."""
    measured = _measured(rows)
    if not measured:
        return
    paper = {(row["jobs"], row["bytes"]): float(row["occupancy"]) for row in rows if row["kind"] == "paper"}
    units = [f"unit {unit}" for unit in range(len(measured[0]["occupancy"]))]
    yield PageTable("Mean occupancy of each buffer, % of what is usable", 2, [
        ("jobs", "message", *units, "mean", "most", "paper", "paper - mean"),
        *(_line(row, paper.get((row["jobs"], row["bytes"]))) for row in measured),
    ])


def _line(row: Row, paper: float | None) -> tuple[str, ...]:
    beside = ("", "") if paper is None else (number(100 * paper), number(100 * (paper - _mean(row))))
    return (str(row["jobs"]), size_words(row["bytes"]), *(number(100 * share) for share in row["occupancy"]),
            number(100 * _mean(row)), number(100 * max(row["peak"])), *beside)


def _plots(rows: Sequence[Row]) -> Iterator[Plot]:
    measured = _measured(rows)
    if not measured:
        return
    figure, (axes,) = panel(height=3.8)
    for jobs in dict.fromkeys(row["jobs"] for row in measured):
        line = sorted((row["bytes"], 100 * max(row["occupancy"])) for row in measured if row["jobs"] == jobs)
        axes.plot(*zip(*line, strict=True), marker="o", markersize=3, color=_OF_JOBS[jobs], label=f"{jobs} jobs")
    log_axis(axes, "x", [row["bytes"] for row in measured])
    axes.set(xlabel="bytes of a job's message", ylabel="% of the fullest buffer, mean", ylim=(0, None))
    axes.legend(fontsize=8, frameon=False)
    yield Plot(f"The fullest buffer of the root is {span(100 * max(row['occupancy']) for row in measured)}% full",
               "Mean over the operation, by size and jobs", svg(figure))

_REPORT = Report(
    study="buffer-occupancy", title="Occupancy of the root's packet buffers", about=_ABOUT,
    claims=claims, tables=_tables, plots=_plots,
    shows=lambda row: row["kind"] == "paper" or _is_filled(row),
)
