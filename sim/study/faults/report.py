"""Runs the study of faults and makes its page: tables, plots, claims."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sim.report.colours import COLOURS
from sim.report.drawing import Plot, log_axis, number, panel, svg
from sim.report.progress import ProgressCallback
from sim.study import GridOptions, StudyResult
from sim.study.faults.claims import claims
from sim.study.faults.grid import PARTS, VERDICTS, beside_undisturbed, measured
from sim.study.report import Report, check_parts, rows_of
from sim.study.report.page import PageTable
from sim.study.report.rows_file import judged

Row = dict[str, Any]
_OUTAGE = ("cycles_down", "lost_words", "cycles", "cycles_without", "recovery_cycles")
_ABOUT = (
    "Faults on purpose in a cluster of NICs on the RTL, two jobs side by side. An operation ends "
    "<em>corrected</em> (OK everywhere, the right bits), <em>reported</em> (a named error at every participant), "
    "<em>reported to some</em> (the others have the right bits), <em>counted</em> (a completion that host memory "
    "refused), or it hangs, or is wrong. A participant has to report if it does not get its result. A node that had "
    "ended before the fault, or whose part did not depend on what was lost, ends in OK; all that it has is compared. "
    "Jobs that did not end well are closed and opened, cables are whole again, and each job does another operation."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    check_parts(parts, PARTS)
    rows = rows_of(row_files, "faults") if row_files else \
        measured(is_quick=is_quick, parts=parts, folder=folder, options=options, progress=progress)
    with judged(row_files):
        beside = beside_undisturbed(rows)
    return _REPORT.write(
        beside, is_quick=is_quick, parts=parts, row_files=row_files, save_to=save_rows, folder=folder,
    )


def _tables(found: list[Row]) -> Iterator[PageTable]:
    kinds = {kind: [row for row in found if row["kind"] == kind] for kind in ("fault", "detection")}
    kinds["goodput"] = [row for row in found if "relative" in row]
    kinds["outage"] = [row for row in found if "recovery_cycles" in row]
    if kinds["fault"]:
        yield PageTable("What became of every fault: operations by their end", 1, [
            ("fault", "runs", "injected", *VERDICTS), *_outcomes(kinds["fault"]),
        ])
    if kinds["goodput"]:
        yield PageTable("Goodput of one link under bit errors", 0, [
            ("share of words", "words damaged", "cycles", "of that without", "go-back-N's bound"), *(
                (f"{row['rate']:g}", str(sum(row["injected"].values())), f"{row['cycles']:,}", f"{row['relative']:.1%}",
                 f"{row['bound']:.1%}") for row in kinds["goodput"]
            ),
        ])
    if kinds["outage"]:
        yield PageTable("A link that is down for a while", 0, [
            ("cycles down", "words lost", "cycles", "without", "to recover"), *(
                tuple(f"{row[name]:,}" for name in _OUTAGE) for row in kinds["outage"]
            ),
        ])
    if kinds["detection"]:
        yield PageTable("A link that is down for good", 0, [
            ("watchdog", "cycles until all nodes know"),
            *((f"{row['watchdog']:,}", f"{row['detection_cycles']:,}") for row in kinds["detection"]),
        ])


def _outcomes(found: list[Row]) -> Iterator[tuple[str, ...]]:
    """A line for each kind of fault."""
    for fault in dict.fromkeys(row["fault"] for row in found):
        own = [row for row in found if row["fault"] == fault]
        ends = Counter(verdict for row in own for verdict in row["verdicts"])
        injected = sum(sum(row["injected"].values()) for row in own)
        yield (fault, str(len(own)), f"{injected:,}", *(str(ends[verdict] or "") for verdict in VERDICTS))


def _plots(found: list[Row]) -> Iterator[Plot]:
    """Goodput against the rate of errors, beside the bound."""
    shown = [row for row in found if "relative" in row and row["rate"]]
    if len(shown) < 2:
        return
    figure, (axes,) = panel(height=3.8)
    for name, label in (("relative", "measured"), ("bound", "go-back-N's bound")):
        axes.plot([row["rate"] for row in shown], [row[name] for row in shown], "o-", label=label, color=COLOURS[label])
    log_axis(axes, "x", [row["rate"] for row in shown])
    axes.set(xlabel="share of the words of a link with a bit changed", ylabel="of the goodput without", ylim=(0, 1.05))
    axes.legend(frameon=False)
    last = shown[-1]
    yield Plot(
        f"With {number(1000 * last['rate'])} of 1,000 words damaged a link keeps {last['relative']:.0%} of its goodput",
        "One node sends to another over two cables, packets of the largest size", svg(figure),
    )

_REPORT = Report(
    study="faults", title="Faults on purpose", about=_ABOUT, claims=claims, tables=_tables, plots=_plots,
)
