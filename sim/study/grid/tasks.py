"""The runs of a study in a few processes; what is done is kept, so that an interrupted study goes on from there."""

import contextlib
import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firmware_models.files import FileError, parse_json, read_text, write_text
from sim.environment.threads import wanted_threads
from sim.report.progress import ProgressCallback

Row = dict[str, Any]
MAX_PROCESSES = 2
"""More would need more memory bandwidth than they gain."""
_POLL_SECONDS = 0.5
_done: Any = None
"""In a process: how far each task is, done and total in turn."""


@dataclass(frozen=True)
class Task:
    """One run: a function of a module, so that another process finds it, of plain arguments and a progress callback.

    It returns rows that JSON can hold.
    """

    name: str
    function: Callable[..., list[Row]]
    arguments: tuple[Any, ...]


def run_tasks(tasks: Sequence[Task], folder: Path, sources: str, progress: ProgressCallback) -> list[Row]:
    """The rows of all tasks in their order.

    Parameters
    ----------
    folder : Path
        Where rows of finished tasks are kept until all are; then they are removed.
    sources : str
        What the rows depend on besides the arguments: rows of other sources are not taken.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{_key(task, sources)}.json" for task in tasks]
    found = [_kept(path) for path in files]
    missing = [place for place, rows in enumerate(found) if rows is None]
    if len(missing) < len(tasks):
        progress("taken from the run before", len(tasks) - len(missing), len(tasks))
    n_processes = min(MAX_PROCESSES, wanted_threads() or os.cpu_count() or 1, len(missing))
    if n_processes > 1:
        for place, rows in _run_beside(tasks, missing, n_processes, progress):
            found[place] = _keep(files[place], rows)
    else:
        for place in missing:
            task = tasks[place]
            found[place] = _keep(files[place], task.function(*task.arguments, progress))
    # Another study in this folder may have the same tasks, and may have removed what it, or this one, kept.
    for path in files:
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
    return [row for rows in found for row in rows or ()]


def source_hash(*packages: Path) -> str:
    """A hash of all files of some folders that a program is made of."""
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted(package.rglob("*")):
            if path.suffix in (".py", ".h", ".cpp", ".yaml"):
                digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _key(task: Task, sources: str) -> str:
    text = repr((task.name, task.function.__module__, task.function.__qualname__, task.arguments, sources))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _kept(path: Path) -> list[Row] | None:
    """Rows of a run before, as they stand in the file; None if there are none, or it is no such file."""
    try:
        rows = parse_json(read_text(path))
    except FileError:
        return None
    return rows if isinstance(rows, list) else None


def _keep(path: Path, rows: list[Row]) -> list[Row]:
    """Keeps rows for a run after this one, and returns them."""
    with contextlib.suppress(OSError):  # no space, or another study has just removed the folder: then nothing is kept
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(rows))
    return rows


def _run_beside(
    tasks: Sequence[Task], missing: Sequence[int], n_processes: int, progress: ProgressCallback,
) -> Iterator[tuple[int, list[Row]]]:
    """The places of the missing tasks and their rows, as they end."""
    context = multiprocessing.get_context("spawn")
    done = context.Array("q", 2 * len(tasks), lock=False)
    with ProcessPoolExecutor(n_processes, context, _start, (done,)) as pool:
        running = {pool.submit(_work, place, tasks[place]): place for place in missing}
        try:
            for future in _finished(running, tasks, done, progress):
                yield running[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _finished(
    running: dict["Future[list[Row]]", int], tasks: Sequence[Task], done: Any, progress: ProgressCallback,
) -> Iterator["Future[list[Row]]"]:
    """Tasks as they end; meanwhile tells how far they are."""
    left = set(running)
    while left:
        ended, left = wait(left, _POLL_SECONDS, FIRST_COMPLETED)
        for place in running.values():
            if done[2 * place + 1]:
                progress(tasks[place].name, done[2 * place], done[2 * place + 1])
        yield from ended


def _start(done: Any) -> None:
    global _done
    _done = done


def _work(place: int, task: Task) -> list[Row]:
    def progress(_stage: str, so_far: int, total: int) -> None:
        _done[2 * place], _done[2 * place + 1] = so_far, total

    return task.function(*task.arguments, progress)
