"""The study of algorithms: which one wins where, by size and nodes; ``--algorithm auto`` takes its rows."""

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from firmware_models.config import ConfigError, load_preset
from firmware_models.schedule import algorithm_names
from sim.cluster import Execution
from sim.collective import CollectiveRequest, run_collective
from sim.report.colours import FURTHER
from sim.report.drawing import Plot, log_axis, panel, svg
from sim.report.progress import ProgressCallback
from sim.study import GridOptions, StudyError, StudyResult
from sim.study.grid import Grid, Point, run_as_asked
from sim.study.grid.head import fields_of, sources_of
from sim.study.nic.tables import size_words
from sim.study.report import Report, check_parts, rows_of
from sim.study.report.page import PageTable

Row = dict[str, Any]
COLLECTIVES = ("broadcast", "reduce", "allreduce", "barrier", "allgather", "reduce-scatter")
"""Those with a choice."""
_GRID = {False: ((4, (64, 1024, 8192, 32768)), (8, (64, 1024, 8192, 32768))),
         True: ((4, (64, 4096)),)}
"""Nodes and bytes, in full and quick."""
_CYCLES_A_SECOND = 60_000
_ABOUT = (
    "Cycles of the NICs from the first doorbell to the last completion, all nodes at one switch; every bit is compared "
    "with the golden model. <code>--algorithm auto</code> takes the fastest at the nearest point."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    check_parts(parts, COLLECTIVES)
    rows = rows_of(row_files, "algorithms") if row_files else \
        _measure(is_quick, parts or COLLECTIVES, folder, progress, options)
    return _REPORT.write(
        rows, is_quick=is_quick, parts=parts, row_files=row_files, save_to=save_rows, folder=folder,
        flags=f" --preset {options.preset}",
    )


def _measure(
    is_quick: bool, parts: Sequence[str], folder: Path, progress: ProgressCallback, options: GridOptions,
) -> list[Row]:
    try:
        config = load_preset(options.preset)
    except ConfigError as error:
        raise StudyError(str(error)) from None
    points = [
        Point(
            (("kind", "algorithm"), ("collective", collective), ("algorithm", algorithm), ("nodes", nodes),
             ("bytes", size)),
            (options.preset, collective, algorithm, nodes, size),
            nodes * (3000 + 2 * size / config.datapath.flit_bytes),
        )
        for collective in parts for nodes, sizes in _GRID[is_quick]
        for size in ((0,) if collective == "barrier" else sizes) for algorithm in algorithm_names(collective)
    ]
    head = {"study": "algorithms", "preset": options.preset} | fields_of("hardware", config) | sources_of(
        "rtl", "firmware_models.abi", "firmware_models.schedule", "sim.cluster",
    )
    grid = Grid(head=head, points=points, measure=measure, work_a_second=_CYCLES_A_SECOND)
    return run_as_asked(grid, folder, options, progress=progress)


def measure(preset: str, collective: str, algorithm: str, nodes: int, size: int) -> Row:
    """One operation on its own cluster."""
    begin = time.monotonic()
    result = run_collective(CollectiveRequest(
        collective=collective, algorithm=algorithm, nodes=nodes, size=size, config=load_preset(preset), preset=preset,
    ), execution=Execution(threads=1), keeps_events=False)
    return {"cycles": result.cycles, "mismatched_bits": result.mismatched_bits,
            "seconds": round(time.monotonic() - begin, 2)}


def _places(rows: Sequence[Row]) -> Iterator[tuple[str, int, int, list[Row]]]:
    """Collective, nodes, bytes, and the rows there, the fastest first."""
    for place in dict.fromkeys((row["collective"], row["nodes"], row["bytes"]) for row in rows):
        there = [row for row in rows if (row["collective"], row["nodes"], row["bytes"]) == place]
        yield (*place, sorted(there, key=lambda row: (row["cycles"], row["algorithm"])))


def _winners(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for collective, nodes, size, there in _places(rows):
        second = there[1] if len(there) > 1 else None
        yield (collective, str(nodes), size_words(size), there[0]["algorithm"], f"{there[0]['cycles']:,}",
               "" if second is None else second["algorithm"], "" if second is None else f"{second['cycles']:,}")


def crossovers(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Where one algorithm becomes faster than the one before, between two sizes: where straight lines meet."""
    best = {(collective, nodes, size): there for collective, nodes, size, there in _places(rows)}
    for collective, nodes in dict.fromkeys(place[:2] for place in best):
        sizes = sorted(size for c, n, size in best if (c, n) == (collective, nodes))
        for low, high in pairwise(sizes):
            before, after = best[collective, nodes, low], best[collective, nodes, high]
            first, last = before[0]["algorithm"], after[0]["algorithm"]
            if first != last:
                cycles = [{row["algorithm"]: row["cycles"] for row in there} for there in (before, after)]
                gap_low, gap_high = (at[last] - at[first] for at in cycles)
                at = low + (high - low) * gap_low / (gap_low - gap_high)
                yield collective, str(nodes), first, last, f"{round(at):,} B"


def claims(rows: Sequence[Row]) -> list[Row]:
    """That every bit is right, and that a choice is worth having."""
    wrong = sum(row["mismatched_bits"] for row in rows)
    ratios = [there[-1]["cycles"] / there[0]["cycles"] for _, _, _, there in _places(rows) if len(there) > 1]
    return [
        {"claim": f"{len(rows)} runs: no bit differs from the golden model", "holds": bool(rows) and not wrong,
         "measured": wrong, "expected": 0},
        {"claim": "the slowest algorithm takes at least twice the cycles of the fastest somewhere",
         "holds": max(ratios, default=0) >= 2, "measured": round(max(ratios, default=0), 2), "expected": ">= 2"},
    ]


def _tables(rows: list[Row]) -> list[PageTable]:
    return [
        PageTable("Cycles", 3, [("collective", "nodes", "message", "fastest", "cycles", "next", "cycles"),
                                *_winners(rows)]),
        PageTable("Where the fastest changes", 3, [("collective", "nodes", "from", "to", "at about"),
                                                   *crossovers(rows)]),
    ]


def _plots(rows: Sequence[Row]) -> Iterator[Plot]:
    for collective in dict.fromkeys(row["collective"] for row in rows if row["bytes"]):
        mine = [row for row in rows if row["collective"] == collective]
        nodes = max(row["nodes"] for row in mine)
        figure, (axes,) = panel(height=3.6)
        there = [row for row in mine if row["nodes"] == nodes]
        names = list(dict.fromkeys(row["algorithm"] for row in there))
        for name, colour in zip(names, FURTHER, strict=False):
            line = sorted((row["bytes"], row["cycles"]) for row in there if row["algorithm"] == name)
            axes.plot(*zip(*line, strict=True), marker="o", markersize=3, color=colour, label=name)
        log_axis(axes, "x", [row["bytes"] for row in there])
        log_axis(axes, "y", [row["cycles"] for row in there])
        axes.set(xlabel="bytes", ylabel="cycles")
        axes.legend(fontsize=8, frameon=False)
        winners = dict.fromkeys(each[0]["algorithm"] for _, _, _, each in _places(there))
        yield Plot(f"{collective}, {nodes} nodes: {', then '.join(winners)}", "Cycles by size", svg(figure))

_REPORT = Report(
    study="algorithms", title="Which algorithm wins where", about=_ABOUT, claims=claims, tables=_tables, plots=_plots,
)
