"""The runs of a study in a few processes; what is done is kept, so that an interrupted study goes on from there."""

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    missing = [place for place, path in enumerate(files) if not path.exists()]
    if len(missing) < len(tasks):
        progress("taken from the run before", len(tasks) - len(missing), len(tasks))
    n_processes = min(MAX_PROCESSES, int(os.environ.get("CONIC_THREADS") or os.cpu_count() or 1), len(missing))
    if n_processes > 1:
        _run_beside(tasks, missing, files, n_processes, progress)
    else:
        for place in missing:
            task = tasks[place]
            _keep(files[place], task.function(*task.arguments, progress))
    rows = [row for path in files for row in json.loads(path.read_text())]
    for path in files:
        path.unlink()
    folder.rmdir() if not any(folder.iterdir()) else None
    return rows


def source_hash(*packages: Path) -> str:
    """A hash of all files of some folders that a program is made of."""
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted(package.rglob("*")):
            if path.suffix in (".py", ".h", ".cpp"):
                digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _key(task: Task, sources: str) -> str:
    text = repr((task.name, task.function.__module__, task.function.__qualname__, task.arguments, sources))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _keep(path: Path, rows: list[Row]) -> None:
    # Renamed when complete, so that an interruption leaves nothing that looks like rows.
    part = path.with_suffix(".new")
    part.write_text(json.dumps(rows))
    part.rename(path)


def _run_beside(
    tasks: Sequence[Task], missing: Sequence[int], files: Sequence[Path], n_processes: int, progress: ProgressCallback,
) -> None:
    context = multiprocessing.get_context("spawn")
    done = context.Array("q", 2 * len(tasks), lock=False)
    with ProcessPoolExecutor(n_processes, context, _start, (done,)) as pool:
        running = {pool.submit(_work, place, tasks[place]): place for place in missing}
        try:
            for future in _finished(running, tasks, done, progress):
                _keep(files[running[future]], future.result())
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
