"""A grid of points that takes long: measured beside each other, kept as it comes, gone on with after an end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.report.progress import ProgressCallback
from sim.study import GridOptions, StudyError
from sim.study.grid.crew import Crew, Processes
from sim.study.grid.dask_crew import Workers
from sim.study.grid.kept_rows import RowsFile

Row = dict[str, Any]
Key = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Point:
    """One measurement of a grid.

    Members
    -------
    key : tuple of (str, value)
        What tells it from the others; these are the first fields of its row.
    arguments : tuple
        What it is measured from.
    work : float
        How much it takes, beside others.
    """

    key: Key
    arguments: tuple[Any, ...]
    work: float


@dataclass(frozen=True)
class Grid:
    """Points, and who measures them.

    Members
    -------
    head : mapping
        What all rows depend on, flat: a file of rows with another head is refused.
    points : sequence of Point
        Each once.
    measure : callable
        A function of a module, from a point's arguments to its row's other fields. It gives the same whatever else the
        process has measured.
    work_a_second, start_work : float
        About what one process does, and what it does before its first point: for the estimate.
    """

    head: Mapping[str, Any]
    points: Sequence[Point]
    measure: Callable[..., Row]
    work_a_second: float
    start_work: float = 0.0


def run_grid(
    grid: Grid, path: Path, *, processes: int, limit: float | None, progress: ProgressCallback,
    prepare: Callable[[], Any] = lambda: None, scheduler: str | None = None,
) -> list[Row]:
    """The rows of all points in their order; those that `path` holds are not measured again.

    Parameters
    ----------
    path : Path
        Where rows are kept as they come.
    processes : int
        At most so many beside each other; it changes nothing but the time.
    limit : float, optional
        Seconds that it may take: more are refused before anything is measured.
    prepare : callable
        Called before the first point that is measured on this machine.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers measure instead of processes.

    Raises
    ------
    StudyError
        If the file has rows of something else, if it would take too long, or if there is no such scheduler.
    """
    file = RowsFile(path, grid.head)
    found = found_rows(grid.points, file.rows)
    missing = sorted((point for point in grid.points if point.key not in found), key=lambda point: -point.work)
    if missing:
        with Processes(processes) if scheduler is None else Workers(scheduler) as crew:
            _check_limit(_estimate(grid, missing, found, crew.size), len(missing), limit)
            if crew.is_here:
                prepare()
            _measure(grid, missing, crew, file, found, progress)
    else:
        _Clock(len(grid.points), missing, progress)
    return [found[point.key] for point in grid.points]


def run_as_asked(
    grid: Grid, folder: Path, options: GridOptions, *, progress: ProgressCallback,
    prepare: Callable[[], Any] = lambda: None,
) -> list[Row]:
    """:func:`run_grid` as `options` say; rows are kept in `folder` unless they name a file."""
    return run_grid(
        grid, options.results or folder / "rows.jsonl", processes=options.processes, scheduler=options.scheduler,
        limit=options.limit, progress=progress, prepare=prepare,
    )


def _measure(
    grid: Grid, missing: Sequence[Point], crew: Crew, file: RowsFile, found: dict[Key, Row], progress: ProgressCallback,
) -> None:
    """Measures what is missing, and adds its rows to what is found."""
    clock = _Clock(len(grid.points), missing, progress)
    for place, figures in crew.measured(grid.measure, [point.arguments for point in missing]):
        point = missing[place]
        row = {**dict(point.key), **figures}
        file.add(row)
        found[point.key] = row
        clock.tick(point)


def _check_limit(seconds: float, n_left: int, limit: float | None) -> None:
    if limit is not None and seconds > limit:
        raise StudyError(
            f"--limit: must be at least about {duration(seconds)} for the {n_left} points that are left, "
            f"not {duration(limit)}; --quick, --part or more --processes take less"
        )


def duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> [duration(seconds) for seconds in (8, 200, 9000)]
    ['8 s', '3.3 min', '2.5 h']
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class _Clock:
    """Tells how much of the work is done: points differ by orders of magnitude, so their number says little."""

    def __init__(self, total: int, missing: Sequence[Point], progress: ProgressCallback):
        self._progress, self._done, self._work = progress, 0.0, sum(point.work for point in missing)
        if len(missing) < total:
            progress("points of a run before", total - len(missing), total)
        self._tell()

    def tick(self, point: Point) -> None:
        """One more is there."""
        self._done += point.work
        self._tell()

    def _tell(self) -> None:
        self._progress("percent of the work", round(100 * self._done / self._work) if self._work else 100, 100)


def found_rows(points: Sequence[Point], rows: Sequence[Row]) -> dict[Key, Row]:
    """The rows of these points, by their keys."""
    kept: dict[Key, Row] = {}
    for names in dict.fromkeys(tuple(name for name, _ in point.key) for point in points):
        kept |= {tuple((name, row.get(name)) for name in names): row for row in rows}
    return {point.key: kept[point.key] for point in points if point.key in kept}


def _estimate(grid: Grid, missing: Sequence[Point], found: Mapping[Key, Row], size: int) -> float:
    """Seconds that the missing points take, by those that are there, or by what a process does in a second."""
    there = [(point.work, found[point.key]["seconds"]) for point in grid.points if point.key in found]
    rate = grid.work_a_second
    if there and sum(seconds for _, seconds in there) > 0:
        rate = sum(work for work, _ in there) / sum(seconds for _, seconds in there)
    works = [point.work for point in missing]
    return (grid.start_work + max(sum(works) / min(size, len(works)), max(works))) / rate
