"""Runs of a study: kept until all are done, taken from an interrupted run, not disturbed by another study beside it."""

import threading
from pathlib import Path
from typing import Any

import pytest

from sim.study.grid import tasks
from sim.study.grid.tasks import Task, run_tasks

CALLS: list[int] = []


def rows_of(number: int, progress: Any) -> list[dict[str, int]]:
    """A task."""
    CALLS.append(number)
    progress("", 1, 1)
    return [{"number": number}]


TASKS = [Task(f"task {number}", rows_of, (number,)) for number in range(5)]
ROWS = [{"number": number} for number in range(5)]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process: what is called is counted here."""
    monkeypatch.setattr(tasks, "MAX_PROCESSES", 1)
    CALLS.clear()


def run(folder: Path) -> list[dict[str, Any]]:
    return run_tasks(TASKS, folder, "sources", lambda *_: None)


def test_rows(tmp_path: Path) -> None:
    assert run(tmp_path / "kept") == ROWS
    assert not (tmp_path / "kept").exists()


def test_taken_from_an_interrupted_run(tmp_path: Path) -> None:
    """Finished tasks are not run again, unless their file is damaged."""
    paths = [tmp_path / f"{tasks._key(task, 'sources')}.json" for task in TASKS]
    for path, text in zip(paths, ('[{"number": 0}]', '[{"numb', "\x00", "5"), strict=False):
        path.write_text(text)
    assert run(tmp_path) == ROWS
    assert CALLS == [1, 2, 3, 4]


def test_two_at_once(tmp_path: Path) -> None:
    """Both have all rows, whoever removes the folder under the other's feet."""
    for _ in range(20):
        found: list[Any] = []
        threads = [threading.Thread(target=lambda: found.append(run(tmp_path / "kept"))) for _ in range(3)]  # noqa: B023
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [ROWS] * 3
