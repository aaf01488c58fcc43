"""`conic study connections`: the quick study, its page, and claims that can fail."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from sim.model.connections.study.claims import claims
from sim.model.connections.study.measure import rows as measured
from sim.model.connections.study.report import run
from sim.study import StudyError
from sim.study.report.rows_file import load_rows, save_rows

FIGURES = Path(__file__).resolve().parents[5] / "docs" / "figures" / "connections.json"


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def study(folder: Path, **arguments: Any) -> Any:
    """The quick study, into `folder`."""
    given = {"is_quick": True, "parts": (), "row_files": (), "save_rows": None, "folder": folder, "progress": silent}
    return run(**(given | arguments))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("study")
    return study(folder, save_rows=folder / "rows.json"), folder


def test_claims_hold(quick: Any) -> None:
    result, _ = quick
    assert [claim["claim"] for claim in result.claims if not claim["holds"]] == []
    assert sum(claim["claim"].startswith(("section", "table", "figure")) for claim in result.claims) == 34 + 1
    kinds = {row["kind"] for row in result.rows}
    assert kinds == {"printed", "reading", "srq", "scale", "rings", "best", "curve", "run"}
    assert {row["processes"] for row in result.rows if row["kind"] == "scale"} >= {1024, 1_000_000, 10_000_000}


def test_page(quick: Any) -> None:
    """One page that needs nothing else; where the paper contradicts itself it shows both numbers."""
    result, folder = quick
    page = (folder / "index.html").read_text()
    assert page.count("<svg") == 4
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", "").replace("https://matplotlib.org", "")
    for text in (page, result.table):
        (line,) = [line for line in text.replace("<tr>\n", "<tr>").split("<tr>" if text is page else "\n")
                   if "9.344" in line and "contradicts the formula" in line]
        assert "9.33338" in line
        assert "1,028 connections" in line


def test_rows_again(quick: Any, tmp_path: Path) -> None:
    """Saved rows can be judged again; some of them make a page of what there is."""
    result, folder = quick
    assert claims(load_rows(folder / "rows.json", "connections")) == result.claims
    some = tmp_path / "some.json"
    save_rows(some, "conic study connections", [row for row in result.rows if row["kind"] == "srq"], [])
    again = study(tmp_path, row_files=[some])
    assert again.claims == []
    assert (tmp_path / "index.html").read_text().count("<table>") == 1
    assert json.loads((folder / "rows.json").read_text())["command"] == "conic study connections --quick"


def test_parts(tmp_path: Path) -> None:
    found = measured(is_quick=True, parts=("paper",), progress=silent)
    assert {row["kind"] for row in found} == {"printed", "reading", "srq"}
    with pytest.raises(StudyError, match=r"^--part must be one of paper, scale, groups, runs, schedules, not 'mpi'$"):
        study(tmp_path, parts=("mpi",))


@pytest.mark.parametrize(("kind", "change", "claim"), [
    ("printed", {"verdict": "NONE", "nearest": []}, "section 1, RC, 10k processes: contradicts"),
    ("reading", {"as_printed": 34}, "8 kB is 8,000 bytes"),
    ("best", {"process_mb": 1e9}, "8,192 processes, 4 cores, group"),
    ("run", {"static_queue_pairs": 1}, "static queue pairs are those of the formula"),
    ("run", {"closed": -1}, "every dynamic queue pair is torn down"),
    ("run", {"violations": 1}, "invariants hold"),
    ("run", {"processes": 1_000_000, "seconds": 60.0}, "a million processes"),
    ("run", {"nic": {"is_enough": False, "process_mb": 1}}, "preset paper has VPs"),
    ("run", {"process_mb": 0.01, "choice": "best", "processes": 10**7}, "stencil:16x16x16,repeat=3: rings"),
])
def test_claims_can_fail(quick: Any, kind: str, change: dict[str, Any], claim: str) -> None:
    """A claim is judged by the rows: one figure that is wrong, and just this claim fails."""
    rows = copy.deepcopy(quick[0].rows)
    next(row for row in rows if row["kind"] == kind).update(change)
    failed = [found["claim"] for found in claims(rows) if not found["holds"]]
    assert len(failed) >= 1
    assert any(found.startswith(claim) for found in failed)


@pytest.mark.parametrize(("scheme", "choice", "claim"), [
    ("group-xrc", "4096", "groups of 4,096 grow"), ("group-xrc", "best", "with the best group size"),
])
def test_growth_can_fail(quick: Any, scheme: str, choice: str, claim: str) -> None:
    rows = copy.deepcopy(quick[0].rows)
    for row in rows:
        if row["kind"] == "scale" and (row["scheme"], row["choice"], row["processes"]) == (scheme, choice, 10_000_000):
            row["process_mb"] *= 1.05
    (failed,) = [found["claim"] for found in claims(rows) if not found["holds"]]
    assert claim in failed


def test_figures_are_judged() -> None:
    """The rows that the pages show: all claims hold, by the claims of today."""
    rows = json.loads(FIGURES.read_text())["rows"]
    found = claims(rows)
    assert len(found) > 50
    assert all(claim["holds"] for claim in found)


def test_figures_repeat() -> None:
    """Rows that need no run are computed again, number by number."""
    rows = [row for row in json.loads(FIGURES.read_text())["rows"] if row["kind"] != "run"]
    again = list(measured(is_quick=True, parts=("paper", "scale", "groups"), progress=silent))
    assert json.loads(json.dumps(again)) == rows, \
        "run `conic study connections --save-rows docs/figures/connections.json`"
