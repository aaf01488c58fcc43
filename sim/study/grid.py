"""A grid of points that takes long: measured in processes, kept as it comes, gone on with after an interruption."""

import ctypes
import itertools
import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firmware_models.files import FileError, parse_json, read_text, shown, write_text
from sim.report.progress import ProgressCallback
from sim.study import StudyError

Row = dict[str, Any]
_POLL_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


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

    key: tuple[tuple[str, Any], ...]
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


class RowsFile:
    """Rows as JSON lines behind a line with what they depend on. It is replaced as a whole for each row.

    Parameters
    ----------
    path : Path
        The file.
    head : mapping
        What the rows depend on.

    Raises
    ------
    StudyError
        If the file holds something else, or rows that depend on something else.
    """

    def __init__(self, path: Path, head: Mapping[str, Any]):
        self.path = path
        self._lines = [json.dumps(dict(head))]
        self.rows: list[Row] = []
        if path.exists():
            self._load(head)

    def _load(self, head: Mapping[str, Any]) -> None:
        where = f"--results: {shown(self.path)}"
        try:
            lines = [parse_json(line) for line in read_text(self.path).splitlines()]
        except FileError as error:
            raise StudyError(f"{where} {error}") from None
        if not lines or not all(isinstance(line, dict) for line in lines):
            raise StudyError(f"{where} must hold rows that a study has written, a JSON object a line")
        theirs, wanted = lines[0], json.loads(json.dumps(dict(head)))
        for name in dict.fromkeys([*wanted, *theirs]):
            if theirs.get(name) != wanted.get(name):
                raise StudyError(
                    f"{where} has rows for {name} {shown(theirs.get(name))}, not {shown(wanted.get(name))}: name "
                    "another file, or remove it"
                )
        self.rows = lines[1:]
        self._lines += [json.dumps(row) for row in self.rows]

    def add(self, row: Row) -> None:
        """Keeps one more row: the file is there with it, or as it was."""
        self.rows.append(row)
        self._lines.append(json.dumps(row))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.path, "\n".join(self._lines) + "\n")


def run_grid(
    grid: Grid, path: Path, *, processes: int, limit: float | None, progress: ProgressCallback,
    prepare: Callable[[], Any] = lambda: None,
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
        Called before the first point that is measured.

    Raises
    ------
    StudyError
        If the file has rows of something else, or if it would take too long.
    """
    file = RowsFile(path, grid.head)
    found = {point.key: row for row in file.rows for point in grid.points if _has(row, point)}
    missing = sorted((point for point in grid.points if point.key not in found), key=lambda point: -point.work)
    seconds = _estimate(grid, missing, file.rows, processes)
    if limit is not None and seconds > limit:
        raise StudyError(
            f"--limit: must be at least about {duration(seconds)} for the {len(missing)} points that are left, "
            f"not {duration(limit)}; --quick, --part or more --processes take less"
        )
    if missing:
        prepare()
    clock = _Clock(len(grid.points), missing, progress)
    for point, row in _measured(grid, missing, processes):
        row = {**dict(point.key), **row}
        file.add(row)
        found[point.key] = row
        clock.tick(point)
    return [found[point.key] for point in grid.points]


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


def _has(row: Row, point: Point) -> bool:
    return all(row.get(name) == value for name, value in point.key)


def _estimate(grid: Grid, missing: Sequence[Point], rows: Sequence[Row], processes: int) -> float:
    """Seconds that the missing points take, by those that are there, or by what a process does in a second."""
    there = [(point.work, row["seconds"]) for row in rows for point in grid.points if _has(row, point)]
    rate = grid.work_a_second
    if there and sum(seconds for _, seconds in there) > 0:
        rate = sum(work for work, _ in there) / sum(seconds for _, seconds in there)
    works = [point.work for point in missing]
    if not works:
        return 0.0
    return (grid.start_work + max(sum(works) / min(processes, len(works)), max(works))) / rate


def _measured(grid: Grid, missing: Sequence[Point], processes: int) -> Iterator[tuple[Point, Row]]:
    """The missing points and their rows, as they end."""
    if not missing:
        return
    # Spawned, so that they are this process's children: they end with it, however it ends.
    with ProcessPoolExecutor(
        min(processes, len(missing)), multiprocessing.get_context("spawn"), _end_with_parent,
    ) as pool:
        waiting = iter(missing)
        running: dict[Future[Row], Point] = {}
        try:
            while True:
                # Two a process: one that is measured, and one that it finds when it is done.
                for point in itertools.islice(waiting, 2 * processes - len(running)):
                    running[pool.submit(grid.measure, *point.arguments)] = point
                if not running:
                    return
                ended, _ = wait(running, _POLL_SECONDS, FIRST_COMPLETED)
                for future in [future for future in running if future in ended]:
                    yield running.pop(future), future.result()
        except BaseException:
            for process in list(getattr(pool, "_processes", {}).values()):
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """This process ends when its parent does, by SIGKILL for one; an interruption is the parent's to hear."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
