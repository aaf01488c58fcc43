"""Rows of other sources are taken over only if a sample of them, measured again, is the same."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sim.study import StudyError
from sim.study.adopted import ADOPTED, adopt
from sim.study.grid import Grid, Point, run_grid
from sim.study.grid.kept_rows import RowsFile

HEAD = {"study": "squares", "nodes": 4, "datatypes": ["float64"], "sources": "new"}


def square(number: int) -> dict[str, Any]:
    return {"square": number * number, "evaluated": 7, "seconds": 0.5}


def grid(count: int) -> Grid:
    points = [Point((("kind", "point"), ("number", number)), (number,), number + 1.0) for number in range(count)]
    head = HEAD | {"datatypes": ("float64",), "added": 1}
    return Grid(head=head, points=points, measure=square, work_a_second=10.0)


def old_rows(path: Path, count: int, head: dict[str, Any] | None = None, wrong: int | None = None) -> Path:
    file = RowsFile(path, head or HEAD | {"sources": "old"})
    for number in range(count):
        square = number * number + (number == wrong)
        file.add({"kind": "point", "number": number, "square": square, "evaluated": 9, "seconds": 10.0})
    return path


def adopted(old: Path, new: Path, *, count: int = 8, seconds: float = 35, seed: int = 1) -> Any:
    def measure(sample: Grid) -> list[dict[str, Any]]:
        return run_grid(sample, new, processes=1, limit=None, progress=lambda *_: None)

    return adopt(grid(count), old, new, seconds=seconds, seed=seed, measure=measure)


def test_rows_are_taken_over(tmp_path: Path) -> None:
    """Three of eight are measured again; the others say who has measured them; later runs have them all."""
    new = tmp_path / "new.jsonl"
    found = adopted(old_rows(tmp_path / "old.jsonl", 8), new)
    assert (found.measured, found.adopted) == (3, 5)
    head, *rows = map(json.loads, new.read_text().splitlines())
    assert head == HEAD | {"added": 1}
    assert sorted(row["number"] for row in rows) == list(range(8))
    assert [row.get(ADOPTED) for row in rows] == 3 * [None] + 5 * ["old"]
    assert {row["seconds"] for row in rows if ADOPTED not in row} == {0.5}
    everything = replace(grid(8), measure=None)  # type: ignore[arg-type]
    run_grid(everything, new, processes=1, limit=None, progress=lambda *_: None)


@pytest.mark.parametrize("wrong", range(8))
def test_a_row_that_differs(tmp_path: Path, wrong: int) -> None:
    """With all of them in the sample every one is found, and none is taken over."""
    new = tmp_path / "new.jsonl"
    message = rf"square of kind point, number {wrong} is {wrong**2} now, not {wrong**2 + 1}$"
    with pytest.raises(StudyError, match=message):
        adopted(old_rows(tmp_path / "old.jsonl", 8, wrong=wrong), new, seconds=80)
    assert not any(ADOPTED in json.loads(line) for line in new.read_text().splitlines())


def test_rows_that_are_there_stay(tmp_path: Path) -> None:
    new = tmp_path / "new.jsonl"
    RowsFile(new, HEAD | {"added": 1}).add({"kind": "point", "number": 3, **square(3)})
    found = adopted(old_rows(tmp_path / "old.jsonl", 5), new, seconds=0)
    assert (found.measured, found.adopted) == (1, 3)
    rows = [json.loads(line) for line in new.read_text().splitlines()[1:]]
    assert sorted(row["number"] for row in rows) == list(range(5))


@pytest.mark.parametrize(("head", "count", "message"), [
    ({"study": "squares", "nodes": 8, "sources": "old"}, 8, "has rows for nodes 8, not 4"),
    ({"study": "squares", "nodes": 4, "preset": "x", "sources": "old"}, 8, "has rows for preset 'x', not None"),
    (None, 0, "must hold rows"),
])
def test_what_is_refused(tmp_path: Path, head: dict[str, Any] | None, count: int, message: str) -> None:
    old = tmp_path / "old.jsonl"
    if not count:
        old.write_text("")
    with pytest.raises(StudyError, match=message):
        adopted(old_rows(old, count, head) if count else old, tmp_path / "new.jsonl")


def test_nothing_to_take_over(tmp_path: Path) -> None:
    old = old_rows(tmp_path / "old.jsonl", 3, HEAD | {"added": 1})
    with pytest.raises(StudyError, match=r"must have a row of the grid that .* has not"):
        adopted(old, old)
