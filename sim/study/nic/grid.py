"""The points of the NIC paper's experiments as a grid, for the studies that take some of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firmware_models.config import Config, ConfigError, load_preset
from sim.cluster import build_library
from sim.host import Host, HostError, load_host, load_host_file
from sim.operation.request import RequestError
from sim.process.run import memory_needed
from sim.report.progress import ProgressCallback
from sim.study import GridOptions, StudyError
from sim.study.grid import Grid, Point, run_as_asked
from sim.study.grid.head import fields_of, sources_of
from sim.study.nic.measure import Setting, measure, measure_message
from sim.study.nic.points import CHANGES, JOBS, WAYS, Experiment, cases, changes, ways_of

Row = dict[str, Any]
JOBS_PARTS = tuple(f"jobs={jobs}" for jobs in JOBS)
PARTS = (*JOBS_PARTS, "hosts")
CYCLES_A_SECOND = 30_000
"""Of a NIC of preset paper, on one core: for the estimate of a grid of which nothing has been measured."""
START_CYCLES = 14_000
"""Cycles in which the memories of every NIC are swept and registers are written."""
_UNIT_WORK = 0.2
"""Work of a unit, beside that of a NIC with one."""
_ROOM_BYTES = 1 << 20
"""Memory of a node for the probe of the network."""


@dataclass(frozen=True, kw_only=True)
class NicGrid:
    """A grid of an experiment, and what it is measured on."""

    grid: Grid
    host: Host
    config: Config
    hardware: Config

    def rows(self, folder: Path, options: GridOptions, progress: ProgressCallback) -> list[Row]:
        """Measures what is missing."""
        return run_as_asked(
            self.grid, folder, options, progress=progress,
            prepare=lambda: build_library(self.hardware, progress=progress),
        )


def nic_grid(
    experiment: Experiment, *, is_quick: bool, parts: Sequence[str], options: GridOptions, ways: Sequence[str] = WAYS,
) -> NicGrid:
    """The points of some parts, or of all, that are carried out in some ways.

    Rows of a point are the same whatever else the grid has, so studies may share their file.

    Raises
    ------
    StudyError
        If hardware, host or nodes do not fit.
    """
    try:
        config = load_preset(options.preset)
        host = host_of(options)
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
        point for part, point in _points(setting, points, is_quick=is_quick)
        if (not parts or part in parts) and dict(point.key).get("way", ways[0]) in ways
    ]
    grid = Grid(
        head=_head(experiment, setting, config), points=wanted, measure=measure_point,
        work_a_second=CYCLES_A_SECOND, start_work=START_CYCLES * options.nodes,
    )
    return NicGrid(grid=grid, host=host, config=config, hardware=most[0].hardware())


def host_of(options: GridOptions) -> Host:
    """The host that a grid is asked for. Raises :class:`HostError`."""
    name = options.host
    return load_host_file(Path(name)) if name.endswith((".yaml", ".yml")) else load_host(name)


def _points(
    setting: Setting, points: Sequence[tuple[int, int]], *, is_quick: bool
) -> Iterator[tuple[str, Point]]:
    """Part and point; `points` are jobs and bytes."""
    yield "message", Point((("kind", "message"),), (setting, None, 0, 0, ""), 1.0)
    for jobs, size in points:
        for way in WAYS:
            key = (("kind", "point"), ("jobs", jobs), ("bytes", size), ("way", way))
            yield f"jobs={jobs}", Point(key, (setting, "as it is", jobs, size, way), work(setting, jobs, size, way))
    able = max(jobs for jobs, _ in points)
    for change, jobs, size in changes(is_quick):
        for way in ways_of(change) if jobs <= able else ():
            other = (("kind", "host"), ("change", change), ("jobs", jobs), ("bytes", size), ("way", way))
            yield "hosts", Point(other, (setting, change, jobs, size, way), work(setting, jobs, size, way))


def work(setting: Setting, jobs: int, size: int, way: str) -> float:
    """About how many cycles of NICs it takes: what the busiest link carries, twice, and what each job begins with.

    A cycle in which all offload units have work takes some times as long as one of a NIC without.
    """
    config = load_preset(setting.preset)
    flits = 2 * size / config.datapath.flit_bytes
    if way == "offloaded":
        flits *= 1 + _UNIT_WORK * (min(jobs, config.nic.n_cous) - 1)
    return setting.nodes * (3000 + jobs * (500 + flits))


def _head(experiment: Experiment, setting: Setting, config: Config) -> Row:
    """Inputs that the rows depend on, flat, each under its name."""
    head: Row = {
        "study": experiment.name, "collective": experiment.collective, "algorithm": experiment.algorithm,
        "preset": setting.preset, "nodes": setting.nodes, "topology": setting.topology, "seed": setting.seed,
    }
    return head | hardware_and_host(config, setting.host)


def hardware_and_host(config: Config, host: Host) -> Row:
    """All fields of both, flat, and the sources that cycles depend on."""
    return fields_of("hardware", config) | fields_of("host", host) | sources_of(
        "rtl", "firmware_models.abi", "firmware_models.host", "firmware_models.schedule", "sim.cluster", "sim.host",
        "sim.process",
    )


def measure_point(setting: Setting, change: str | None, jobs: int, size: int, way: str) -> Row:
    """The row of one point; without a change that of the message."""
    if change is None:
        return measure_message(setting)
    return measure(setting, jobs, size, way, CHANGES[change])
