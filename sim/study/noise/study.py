"""The study of noise: hosts that are late or interrupted, and how much of that offload hides."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from firmware_models.config import ConfigError, load_preset
from sim.cluster import build_library
from sim.host import Host, HostError
from sim.operation.request import RequestError
from sim.process.run import memory_needed
from sim.report.colours import BLUE, RUST
from sim.report.drawing import Plot, panel, svg
from sim.report.progress import ProgressCallback
from sim.report.words import number, span
from sim.study import GridOptions, StudyError, StudyResult
from sim.study.grid import Grid, Point, run_as_asked
from sim.study.nic.grid import CYCLES_A_SECOND, START_CYCLES, hardware_and_host, host_of, work
from sim.study.nic.measure import Setting, measure_with
from sim.study.nic.points import KIB, WAYS
from sim.study.nic.tables import size_words
from sim.study.noise.claims import QUIET, added, claims, hidden
from sim.study.report import Report, check_parts, rows_of
from sim.study.report.page import PageTable

Row = dict[str, Any]
NOISES: dict[str, dict[str, float]] = {
    QUIET: {},
    "1 of 16 late by 20 µs": {"late_ns": 20_000, "late_share": 1 / 16},
    "half late by 5 µs": {"late_ns": 5_000, "late_share": 0.5},
    "10 µs each 1,000 µs": {"interrupt_ns": 10_000, "interrupt_every_ns": 1_000_000},
    "10 µs each 200 µs": {"interrupt_ns": 10_000, "interrupt_every_ns": 200_000},
    "10 µs each 50 µs": {"interrupt_ns": 10_000, "interrupt_every_ns": 50_000},
}
"""Late processes; interruptions as of a timer's tick, of daemons, of a machine that is shared."""
_SIZES = {False: (256, 4 * KIB, 64 * KIB), True: (256, 16 * KIB)}
_SEEDS = {False: 20, True: 4}
_COLLECTIVE, _ALGORITHM = "allreduce", "rabenseifner"
_ROOM_BYTES = 1 << 20
_ABOUT = (
    "Allreduce by Rabenseifner's algorithm, one job, offloaded and by hosts, with the same noise at each host: "
    "processes that call late, and cores that are taken away for a while again and again (<code>docs/hosts.md</code>, "
    "section <code>noise</code> of a host; seeds are those of its draws). Time from the call until the last process "
    "has its result. Nobody hides a process that is late: there is no sum without it, and what waited for it comes "
    "at once then. <em>Added</em> is the mean over the seeds, less the time without noise; <em>hidden</em> is how much "
    "less the offloaded operation loses, of what the same noise adds to the host-based one."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    check_parts(parts, NOISES)
    rows = rows_of(row_files, "noise") if row_files else \
        _measure(is_quick, parts or list(NOISES), folder, progress, options)
    return _REPORT.write(
        rows, is_quick=is_quick, parts=parts, row_files=row_files, save_to=save_rows, folder=folder,
    )


def _measure(
    is_quick: bool, parts: Sequence[str], folder: Path, progress: ProgressCallback, options: GridOptions,
) -> list[Row]:
    try:
        config, host = load_preset(options.preset), host_of(options)
        setting = Setting(
            collective=_COLLECTIVE, algorithm=_ALGORITHM, preset=options.preset, topology=f"star:{options.nodes}",
            nodes=options.nodes, seed=0, host=host, memory_bytes=0,
        )
        # The largest message of the full grid, so that its cluster is that of the quick one: a row is of either.
        most = [setting.request(jobs=1, size=max(_SIZES[False]), way=way) for way in WAYS]
    except (ConfigError, HostError, RequestError) as error:
        raise StudyError(str(error)) from None
    setting = replace(setting, memory_bytes=max(map(memory_needed, most)) + _ROOM_BYTES)
    head = {"study": "noise", "collective": _COLLECTIVE, "algorithm": _ALGORITHM, "preset": options.preset,
            "nodes": options.nodes}
    grid = Grid(
        head=head | hardware_and_host(config, host), points=list(_points(setting, is_quick, parts)),
        measure=measure, work_a_second=CYCLES_A_SECOND, start_work=START_CYCLES * options.nodes,
    )
    return run_as_asked(grid, folder, options, progress=progress,
                        prepare=lambda: build_library(most[0].hardware(), progress=progress))


def _points(setting: Setting, is_quick: bool, parts: Sequence[str]) -> Iterator[Point]:
    for name in dict.fromkeys([QUIET, *parts]):
        for size in _SIZES[is_quick]:
            # Without noise there is nothing to draw.
            for seed in range(_SEEDS[is_quick] if name != QUIET else 1):
                for way in WAYS:
                    key = (("kind", "noise"), ("noise", name), ("bytes", size), ("way", way), ("seed", seed))
                    yield Point(key, (setting, name, size, way, seed), work(setting, 1, size, way))


def measure(setting: Setting, name: str, size: int, way: str, seed: int) -> Row:
    """One operation under a noise."""
    return measure_with(setting, 1, size, way, disturbed(setting.host, name, seed))


def disturbed(host: Host, name: str, seed: int) -> Host:
    """The host with one of :data:`NOISES` in the place of its own."""
    quiet = {"late_ns": 0.0, "late_share": 0.0, "interrupt_ns": 0.0, "interrupt_every_ns": 0.0}
    return replace(host, noise=replace(host.noise, seed=seed, **(quiet | NOISES[name])))


def _tables(rows: Sequence[Row]) -> Iterator[PageTable]:
    found = added(rows)
    yield PageTable("Without noise", 1, [
        ("message", *(f"{way}, µs" for way in WAYS)),
        *((size_words(size), *(number(_quiet(rows, size, way)) for way in WAYS))
          for size in dict.fromkeys(row["bytes"] for row in rows)),
    ])
    yield PageTable("What noise adds, mean over the seeds", 2, [
        ("noise", "message", "seeds", *(f"{way}, µs" for way in WAYS), "hidden"),
        *((name, size_words(size), str(each["seeds"]), *(number(round(each[way], 3)) for way in WAYS),
           hidden(each)) for (name, size), each in found.items()),
    ])


def _quiet(rows: Sequence[Row], size: int, way: str) -> float:
    return mean(float(row["microseconds"]) for row in rows
                if (row["noise"], row["bytes"], row["way"]) == (QUIET, size, way))


def _plots(rows: Sequence[Row]) -> Iterator[Plot]:
    found = added(rows)
    if not found:
        return
    figure, (axes,) = panel(height=0.6 + 0.32 * len(found))
    names = [f"{name}, {size_words(size)}" for name, size in found]
    for offset, way, colour in ((-0.2, "offloaded", BLUE), (0.2, "host-based", RUST)):
        axes.barh([place + offset for place in range(len(names))], [each[way] for each in found.values()], 0.38,
                  color=colour, label=way)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="µs added by noise, mean over the seeds")
    axes.legend(fontsize=8, frameon=False)
    yield Plot(f"Noise adds {span(each['offloaded'] for each in found.values())} µs offloaded, "
               f"{span(each['host-based'] for each in found.values())} µs to hosts",
               "What the last process waits longer than without noise", svg(figure))

_REPORT = Report(
    study="noise", title="Noise of hosts: how much offload hides", about=_ABOUT,
    claims=claims, tables=_tables, plots=_plots,
)
