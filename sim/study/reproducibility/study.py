"""The study of reproducibility: one result, whatever the order of packets, delays, pulses and other jobs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firmware_models.config import ConfigError, load_preset
from sim.cluster import build_library
from sim.host import HostError
from sim.operation.request import RequestError
from sim.report.colours import FURTHER
from sim.report.drawing import Plot, log_axis, panel, svg
from sim.report.progress import ProgressCallback
from sim.report.words import number, span
from sim.study import GridOptions, StudyError, StudyResult
from sim.study.grid import Grid, Point, run_as_asked
from sim.study.nic.grid import hardware_and_host, host_of
from sim.study.report import Report, check_parts, rows_of
from sim.study.report.page import PageTable
from sim.study.reproducibility.order import CASES, measure, request_of

Row = dict[str, Any]
Claim = dict[str, Any]
PARTS = tuple(f"{collective} {algorithm}" for collective, algorithm in CASES)
_ORDERS = {False: 10_000, True: 48}
"""Of all cases together."""
_CYCLES_A_SECOND = 60_000
_WORK_CYCLES = 12_000
"""About what an order takes at each node, most of it until its cluster has started."""
_FEWEST_NODES = 3
_ABOUT = (
    "The same operation on the same data, each time on a cluster of its own under what a seed draws: latencies, jitter "
    "and stalls of memories and links, which decide in what order packets come; the cycle in which each process "
    "begins; the size of a pulse; and up to seven other jobs beside it, with collectives, sizes and data of their own, "
    "at the same offload units. Each row has its seed and the SHA-256 of what the operation left in all host "
    "memories. Data are doubles of both signs, many magnitudes apart, so a sum in another order has other bits: "
    "the ring's has."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    check_parts(parts, PARTS)
    rows = rows_of(row_files, "reproducibility") if row_files else \
        _measure(is_quick, parts or PARTS, folder, progress, options)
    return _REPORT.write(
        rows, is_quick=is_quick, parts=parts, row_files=row_files, save_to=save_rows, folder=folder,
    )


def _measure(
    is_quick: bool, parts: Sequence[str], folder: Path, progress: ProgressCallback, options: GridOptions,
) -> list[Row]:
    if options.nodes < _FEWEST_NODES:
        raise StudyError(
            f"--nodes must be at least {_FEWEST_NODES}, for two operands have one sum, not {options.nodes}"
        )
    try:
        config, host = load_preset(options.preset), host_of(options)
        requests = [request_of(config, options.preset, *case, options.nodes) for case in CASES]
    except (ConfigError, HostError, RequestError) as error:
        raise StudyError(str(error)) from None
    # Seeds of a case are the same in the quick and the full grid, and for any other parts.
    points = [
        Point((("kind", "order"), ("collective", collective), ("algorithm", algorithm), ("seed", seed)),
              (options.preset, collective, algorithm, options.nodes, seed), options.nodes * _WORK_CYCLES)
        for seed in range(_ORDERS[is_quick] // len(CASES)) for collective, algorithm in CASES
        if f"{collective} {algorithm}" in parts
    ]
    head = {"study": "reproducibility", "preset": options.preset, "nodes": options.nodes}
    grid = Grid(head=head | hardware_and_host(config, host), points=points, measure=measure,
                work_a_second=_CYCLES_A_SECOND)
    return run_as_asked(grid, folder, options, progress=progress,
                        prepare=lambda: build_library(requests[0].hardware(), progress=progress))


def _cases(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["collective"], row["algorithm"]), []).append(row)
    return found


def claims(rows: Sequence[Row]) -> list[Claim]:
    """One hash for each case, every bit right, and that there was something to be the same in spite of."""
    wrong = sum(row["mismatched_bits"] + row["others_mismatched_bits"] for row in rows)
    found = [_claim(f"{len(rows)} orders: no bit of any job differs from the golden model", bool(rows) and not wrong,
                    wrong, 0)]
    digests = {}
    for (collective, algorithm), mine in _cases(rows).items():
        digests[collective, algorithm] = {row["sha256"] for row in mine}
        different = len(digests[collective, algorithm])
        found.append(_claim(f"{collective} {algorithm}: one SHA-256 in {len(mine)} orders", different == 1, different,
                            1))
        times = [row["cycles"] for row in mine]
        found.append(_claim(f"{collective} {algorithm}: orders are others: the slowest takes half as long again as the "
                            "fastest", max(times) >= 1.5 * min(times), round(max(times) / min(times), 2), ">= 1.5"))
    summed = [each for (collective, _), each in digests.items() if collective == "allreduce"]
    if len(summed) == sum(collective == "allreduce" for collective, _ in CASES):
        different = len(set().union(*summed))
        found.append(_claim("the data tell orders apart: sums in another order have other bits", different > 1,
                            different, "> 1"))
    return found


def _claim(text: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": text, "holds": bool(holds), "measured": measured, "expected": expected}


def _table(rows: Sequence[Row]) -> PageTable:
    return PageTable("Orders", 2, [
        ("operation", "SHA-256", "orders", "different", "pulse sizes", "mixes of jobs", "cycles"),
        *((f"{collective} {algorithm}", mine[0]["sha256"], number(len(mine)),
           str(len({row["sha256"] for row in mine})), str(len({row["pulse_bytes"] for row in mine})),
           str(len({tuple(row["others"]) for row in mine})), span(row["cycles"] for row in mine))
          for (collective, algorithm), mine in _cases(rows).items()),
    ])


def _plots(rows: Sequence[Row]) -> Iterator[Plot]:
    if not rows:
        return
    figure, (axes,) = panel(height=3.6)
    cycles = [row["cycles"] for row in rows]
    edges = np.geomspace(min(cycles), max(cycles) + 1, 40).tolist()
    for ((collective, algorithm), mine), colour in zip(_cases(rows).items(), FURTHER, strict=False):
        axes.hist([row["cycles"] for row in mine], edges, histtype="step", color=colour,
                  label=f"{collective} {algorithm}")
    log_axis(axes, "x", cycles)
    axes.set(xlabel="cycles until all jobs have ended", ylabel="orders")
    axes.legend(fontsize=8, frameon=False)
    different = max(len({row["sha256"] for row in mine}) for mine in _cases(rows).values())
    yield Plot(f"Orders took {span(cycles)} cycles, and each operation had {different} "
               f"result{'s' * (different != 1)}", "Times of all orders", svg(figure))

_REPORT = Report(
    study="reproducibility", title="One result, whatever the order", about=_ABOUT,
    claims=claims, tables=lambda rows: [_table(rows)], plots=_plots,
)
