"""The experiments of the NIC paper (figures 5 and 6), offloaded beside host-based: rows, claims, one page."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

from firmware_models.config import Config, ConfigError, load_preset
from sim.cluster import build_library
from sim.host import Host, HostError, load_host, load_host_file
from sim.process.run import memory_needed
from sim.report.progress import ProgressCallback
from sim.request import RequestError
from sim.study import GridOptions, StudyError, StudyResult
from sim.study.grid import Grid, Point, run_as_asked
from sim.study.nic_claims import claims
from sim.study.nic_formula import rows as formula_rows
from sim.study.nic_measure import Setting, measure, measure_message
from sim.study.nic_plots import plots
from sim.study.nic_points import CHANGES, EXPERIMENTS, JOBS, WAYS, Experiment, cases, changes
from sim.study.nic_tables import about, tables
from sim.study.page import text_tables, write_page
from sim.study.rows_file import command_of, judged, load_rows
from sim.study.rows_file import save_rows as write_rows
from sim.study.tasks import source_hash

Row = dict[str, Any]
_PARTS = (*(f"jobs={jobs}" for jobs in JOBS), "hosts")
_CYCLES_A_SECOND = 30_000
"""Of a NIC of preset paper, on one core: for the estimate of a grid of which nothing has been measured."""
_START_CYCLES = 14_000
"""Cycles in which the memories of every NIC are swept and registers are written."""
_ROOM_BYTES = 1 << 20
"""Memory of a node for the probe of the network."""


def run(
    name: str, *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures what `name` of :data:`EXPERIMENTS` asks for, or takes the rows of `row_files`; writes the page."""
    experiment = EXPERIMENTS[name]
    for part in parts:
        if part not in _PARTS:
            raise StudyError(f"--part must be one of {', '.join(_PARTS)}, not {part!r}")
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
    try:
        config = load_preset(options.preset)
        host = _host(options.host)
        setting = Setting(
            collective=experiment.collective, algorithm=experiment.algorithm, preset=options.preset,
            topology=f"star:{options.nodes}", nodes=options.nodes, seed=0, host=host, memory_bytes=0,
        )
        able = config.nic.n_cous * config.cou.n_jobs
        points = [case for case in cases(is_quick) if case[0] <= able]
        most = [setting.request(jobs=jobs, size=size, way=way) for jobs, size in points for way in WAYS]
    except (ConfigError, HostError, RequestError) as error:
        raise StudyError(str(error)) from None
    setting = replace(setting, memory_bytes=max(map(memory_needed, most)) + _ROOM_BYTES)
    wanted = [
        point for part, point in _points(setting, points, is_quick=is_quick) if not parts or part in (*parts, "message")
    ]
    grid = Grid(
        head=_head(experiment, setting, config), points=wanted, measure=measure_point,
        work_a_second=_CYCLES_A_SECOND, start_work=_START_CYCLES * options.nodes,
    )
    rows = run_as_asked(
        grid, folder, options, progress=progress,
        prepare=lambda: build_library(most[0].hardware(), progress=progress),
    )
    message = next(row for row in rows if row["kind"] == "message")
    sizes = sorted({row["bytes"] for row in rows if row["kind"] == "point"})
    return rows + formula_rows(experiment.collective, host, config, sizes=sizes, network_ns=message["network_ns"])


def _host(name: str) -> Host:
    return load_host_file(Path(name)) if name.endswith((".yaml", ".yml")) else load_host(name)


def _points(
    setting: Setting, points: Sequence[tuple[int, int]], *, is_quick: bool
) -> Iterator[tuple[str, Point]]:
    """Part and point; `points` are jobs and bytes."""
    yield "message", Point((("kind", "message"),), (setting, None, 0, 0, ""), 1.0)
    for jobs, size in points:
        for way in WAYS:
            key = (("kind", "point"), ("jobs", jobs), ("bytes", size), ("way", way))
            yield f"jobs={jobs}", Point(key, (setting, "as it is", jobs, size, way), _work(setting, jobs, size))
    for change, size in changes(is_quick):
        for way in WAYS:
            other = (("kind", "host"), ("change", change), ("jobs", 1), ("bytes", size), ("way", way))
            yield "hosts", Point(other, (setting, change, 1, size, way), _work(setting, 1, size))


def _work(setting: Setting, jobs: int, size: int) -> float:
    """About how many cycles of NICs it takes: what the busiest link carries, twice, and what each job begins with."""
    flits = 2 * size / load_preset(setting.preset).datapath.flit_bytes
    return setting.nodes * (3000 + jobs * (500 + flits))


def _head(experiment: Experiment, setting: Setting, config: Config) -> Row:
    """What the rows depend on, flat, each under its name."""
    head: Row = {
        "study": experiment.name, "collective": experiment.collective, "algorithm": experiment.algorithm,
        "preset": setting.preset, "nodes": setting.nodes, "topology": setting.topology, "seed": setting.seed,
    }
    for prefix, tree in (("hardware", config), ("host", setting.host)):
        for section, fields in asdict(tree).items():
            head |= {f"{prefix}.{section}.{field}": value for field, value in fields.items()}
    packages = ("rtl", "firmware_models.abi", "firmware_models.host", "firmware_models.schedule", "sim.cluster",
                "sim.process")
    return head | {"sources": source_hash(*(Path(str(resources.files(name))) for name in packages))[:16]}


def measure_point(setting: Setting, change: str | None, jobs: int, size: int, way: str) -> Row:
    """The row of one point; without a change that of the message."""
    if change is None:
        return measure_message(setting)
    return measure(setting, jobs, size, way, CHANGES[change])
