"""Table 1 of the NIC paper: claims, columns, the paper's cells beside them, rows that are another study's."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.study import GridOptions, StudyError
from sim.study.grid.kept_rows import RowsFile
from sim.study.nic.buffer_occupancy import claims, run
from sim.study.nic.grid import JOBS_PARTS, nic_grid
from sim.study.nic.points import EXPERIMENTS


def row(jobs: int, size: int, occupancy: list[float], **more: Any) -> dict[str, Any]:
    return {"kind": "point", "jobs": jobs, "bytes": size, "way": "offloaded", "occupancy": occupancy,
            "peak": [2 * share for share in occupancy], "mismatched_bits": 0, **more}


ROWS = [row(1, 256, [0.02, 0.0]), row(1, 8192, [0.08, 0.0]), row(8, 256, [0.03, 0.01]), row(8, 4096, [0.02, 0.01])]


@pytest.mark.parametrize(("place", "change", "fails"), [
    (0, {}, []),
    (1, {"mismatched_bits": 1}, [0]),
    (2, {"peak": [1.01, 0.0]}, [1]),
    (0, {"occupancy": [0.0, 0.11]}, [2, 3]),
    (1, {"occupancy": [0.02, 0.0]}, [3]),
    (2, {"occupancy": [0.2, 0.0]}, [4]),
])
def test_claims_can_fail(place: int, change: dict[str, Any], fails: list[int]) -> None:
    rows = [each | (change if number == place else {}) for number, each in enumerate(ROWS)]
    assert [number for number, claim in enumerate(claims(rows)) if not claim["holds"]] == fails


def study(folder: Path, *files: Path, parts: tuple[str, ...] = ()) -> Any:
    return run(is_quick=True, parts=parts, row_files=files, save_rows=None, folder=folder, progress=lambda *_: None,
               options=GridOptions())


def written(path: Path, study: str, rows: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"command": f"conic study {study}", "rows": rows}))
    return path


def test_the_papers_cells_beside_rows_of_the_allreduce(tmp_path: Path) -> None:
    """Rows of hosts, and rows that are no points, are left out; cells are fractions, as the measured ones."""
    rows = written(tmp_path / "rows.json", "nic-allreduce",
                   [*ROWS, row(1, 256, [0, 0], way="host-based"), {"kind": "formula", "bytes": 256}])
    cells = written(tmp_path / "cells.json", "buffer-occupancy",
                    [{"kind": "paper", "jobs": 1, "bytes": 8192, "occupancy": 0.5}])
    result = study(tmp_path, rows, cells)
    assert result.rows == [*ROWS, {"kind": "paper", "jobs": 1, "bytes": 8192, "occupancy": 0.5}]
    lines = [line.split() for line in result.table.splitlines()[2:] if line]
    assert lines[0][-3:] == ["paper", "-", "mean"]
    assert lines[1] == ["1", "256", "B", "2", "0", "1", "4"]
    assert lines[2] == ["1", "8", "KiB", "8", "0", "4", "16", "50", "46"]
    assert "What differs." in (tmp_path / "index.html").read_text()


def test_rows_as_they_come(tmp_path: Path) -> None:
    """A grid that is not done can be looked at: what a row was cut off from is all that there is."""
    kept = RowsFile(tmp_path / "rows.jsonl", {"study": "nic-allreduce", "nodes": 32})
    for each in ROWS[:2]:
        kept.add(each)
    kept.path.write_text(kept.path.read_text() + '{"kind": "po')
    assert study(tmp_path, kept.path).rows == ROWS[:2]


@pytest.mark.parametrize(("text", "message"), [
    ("", "must be a file that --save-rows wrote"),
    ("[1]\n", "must be a file that --save-rows wrote"),
    ('{"study": "mft"}\n{"kind": "point"}\n', "must have rows of study buffer-occupancy or nic-allreduce, not of"),
    ('{"study": "nic-allreduce"}\n[1]\n', "must be a file that --save-rows wrote"),
    ("{}\nnonsense\n", "--rows: "),
])
def test_bad_rows_as_they_come(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(StudyError, match=message):
        study(tmp_path, path)


def test_bad_rows(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="must have rows of study buffer-occupancy or nic-allreduce, not of"):
        study(tmp_path, written(tmp_path / "r.json", "nic-reduce", []))
    with pytest.raises(StudyError, match="must have the rows that --save-rows wrote"):
        study(tmp_path, written(tmp_path / "r.json", "nic-allreduce", [{"kind": "point"}]))
    with pytest.raises(StudyError, match="--part must be one of jobs=1, jobs=8, jobs=32, not 'hosts'"):
        study(tmp_path, parts=("hosts",))


def test_points_are_those_of_the_allreduce() -> None:
    """So are what their rows depend on, and what they are measured from: either study takes the other's rows."""
    of = EXPERIMENTS["nic-allreduce"]
    options = GridOptions(preset="small", nodes=4)
    own, theirs = (
        nic_grid(of, is_quick=True, parts=parts, options=options, ways=ways).grid
        for parts, ways in ((JOBS_PARTS, ("offloaded",)), ((), ("offloaded", "host-based")))
    )
    assert own.head == theirs.head
    points = {point.key: point for point in theirs.points}
    assert 0 < len(own.points) < len(theirs.points)
    assert all(points[point.key] == point for point in own.points)
    assert {dict(point.key)["way"] for point in own.points} == {"offloaded"}
