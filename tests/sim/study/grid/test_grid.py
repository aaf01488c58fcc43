"""Grids that are interrupted and gone on with: every row once, whatever ends the process, and never rows of others."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sim.study import StudyError
from sim.study.grid import Grid, Point, run_grid
from sim.study.grid.kept_rows import RowsFile

HEAD = {"study": "squares", "nodes": 4}
SLOW = """
import sys
from pathlib import Path
from sim.study.grid import Grid, Point, run_grid
import grid_program as program

if __name__ == "__main__":
    run_grid(program.grid(float(sys.argv[2])), Path(sys.argv[1]), processes=2, limit=None, progress=lambda *_: None)
"""
PROGRAM = """
import os
import time
from pathlib import Path
from sim.study.grid import Grid, Point


def square(number, seconds, log):
    with open(log, "a") as file:
        file.write(f"{number} {os.getpid()}\\n")
    time.sleep(seconds)
    return {"square": number * number, "seconds": seconds}


def grid(seconds):
    log = os.environ["GRID_LOG"]
    points = [Point((("kind", "point"), ("number", n)), (n, seconds, log), 1.0) for n in range(8)]
    return Grid(head={"study": "squares"}, points=points, measure=square, work_a_second=1.0)
"""


def square(number: int) -> dict[str, Any]:
    return {"square": number * number, "seconds": 0.5}


def grid(count: int, head: dict[str, Any] = HEAD) -> Grid:
    points = [Point((("kind", "point"), ("number", number)), (number,), number + 1.0) for number in range(count)]
    return Grid(head=head, points=points, measure=square, work_a_second=10.0, start_work=20.0)


def silent(*_: Any) -> None:
    pass


def squares(count: int) -> list[dict[str, Any]]:
    return [{"kind": "point", "number": number, "square": number**2, "seconds": 0.5} for number in range(count)]


@pytest.fixture
def program(tmp_path: Path) -> tuple[list[str], dict[str, str], Path]:
    """A grid of eight points in two processes, as a program; what it has measured stands in a file."""
    (tmp_path / "grid_program.py").write_text(PROGRAM)
    (tmp_path / "main.py").write_text(SLOW)
    log = tmp_path / "log"
    paths = os.pathsep.join([str(tmp_path), *(path for path in sys.path if path)])
    return [sys.executable, str(tmp_path / "main.py")], {**os.environ, "PYTHONPATH": paths, "GRID_LOG": str(log)}, log


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted(how: signal.Signals, program: tuple[list[str], dict[str, str], Path], tmp_path: Path) -> None:
    command, environment, log = program
    rows = tmp_path / "rows.jsonl"
    first = subprocess.Popen([*command, str(rows), "0.4"], env=environment, stderr=subprocess.PIPE)
    while not rows.exists():
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(how)
    first.communicate(timeout=20)
    kept = [json.loads(line)["number"] for line in rows.read_text().splitlines()[1:]]
    assert 0 < len(kept) < 8
    # Nobody goes on behind its back.
    workers = {int(line.split()[1]) for line in log.read_text().splitlines()}
    end = time.monotonic() + 10
    while any(_lives(worker) for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.02)
    log.unlink()
    subprocess.run([*command, str(rows), "0"], env=environment, check=True, timeout=60)
    measured = [int(line.split()[0]) for line in log.read_text().splitlines()]
    assert sorted(measured + kept) == list(range(8))
    assert sorted(json.loads(line)["square"] for line in rows.read_text().splitlines()[1:]) == [n * n for n in range(8)]


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_all_rows_in_order(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "rows.jsonl"
    assert run_grid(grid(3), path, processes=1, limit=None, progress=silent) == squares(3)
    # Nothing is measured twice, and nothing is prepared for it.
    again = Grid(head=HEAD, points=grid(3).points, measure=None, work_a_second=1.0)  # type: ignore[arg-type]
    assert run_grid(again, path, processes=1, limit=None, progress=silent, prepare=lambda: 1 / 0) == squares(3)


def test_more_points_later(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for count in (2, 3):
        assert run_grid(grid(count), path, processes=1, limit=None, progress=silent) == squares(count)


@pytest.mark.parametrize(("head", "message"), [
    ({**HEAD, "nodes": 8}, "rows for nodes 8, not 4"),
    ({**HEAD, "more": 1}, "rows for more 1, not None"),
    ({"study": "squares"}, "rows for nodes None, not 4"),
])
def test_rows_of_something_else(head: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    RowsFile(path, head).add({"kind": "point", "number": 0})
    with pytest.raises(StudyError, match=message):
        run_grid(grid(3), path, processes=1, limit=None, progress=silent)


def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    """The rest of a last row, left by a process that was killed, is not read, and is in nobody's way."""
    path = tmp_path / "rows.jsonl"
    run_grid(grid(2), path, processes=1, limit=None, progress=silent)
    path.write_text(path.read_text().rstrip("\n")[:-5])
    assert len(RowsFile(path, HEAD).rows) == 1
    assert run_grid(grid(3), path, processes=1, limit=None, progress=silent) == squares(3)
    assert sorted(row["number"] for row in RowsFile(path, HEAD).rows) == [0, 1, 2]


@pytest.mark.parametrize("text", ["", "[1]\n", "{}\nnonsense\n", "\0"])
def test_no_rows_at_all(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(StudyError, match="--results: "):
        run_grid(grid(3), path, processes=1, limit=None, progress=silent)


def test_limit(tmp_path: Path) -> None:
    """By what a process does in a second, the start included; then by what points have taken."""
    path = tmp_path / "rows.jsonl"
    # Works 1 to 4 and 20 before them, 10 a second: 3 s in one process; in two of them the half of it behind the start.
    for processes, seconds in ((1, 3), (2, 2)):
        with pytest.raises(StudyError, match=f"--limit: must be at least about {seconds} s for the 4 points"):
            run_grid(grid(4), path, processes=processes, limit=1.9, progress=silent)
    assert not path.exists()
    run_grid(grid(2), path, processes=1, limit=2.3, progress=silent)
    # Works 1 and 2 took a second: works 3 and 4, and 20 before, take 9 s.
    with pytest.raises(StudyError, match="about 9 s for the 2 points"):
        run_grid(grid(4), path, processes=1, limit=8, progress=silent)


def test_progress(tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    run_grid(grid(3), tmp_path / "r", processes=1, limit=None, progress=lambda *what: said.append(what))
    # Works 3, 2 and 1, the longest first.
    assert said == [("percent of the work", percent, 100) for percent in (0, 50, 83, 100)]
    said.clear()
    run_grid(grid(3), tmp_path / "r", processes=1, limit=None, progress=lambda *what: said.append(what))
    assert said == [("points of a run before", 3, 3), ("percent of the work", 100, 100)]
