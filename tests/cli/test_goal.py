"""`conic goal` as a script calls it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "sim" / "goal" / "example.goal"
Conic = Callable[..., Any]


def test_example(conic: Conic, tmp_path: Path) -> None:
    trace, page = tmp_path / "t.json", tmp_path / "t.html"
    outcome = conic("goal", str(EXAMPLE), "--host", "server", "--trace", str(trace), "--timeline", str(page), "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert {key: report[key] for key in ("ranks", "messages", "bytes", "collectives", "mismatched_bits", "host")} == {
        "ranks": 4, "messages": 12, "bytes": 12 * 2048, "collectives": 2, "mismatched_bits": 0, "host": "server",
    }
    assert max(report["rank_microseconds"]) == report["microseconds"] == pytest.approx(report["cycles"] / 390.625)
    names = {event.get("args", {}).get("name") for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"node 3", "rank", "tx"} <= names
    assert "<h1>example.goal, 4 ranks</h1>" in page.read_text()
    table = conic("goal", str(EXAMPLE), "--host", "server")
    assert table.code == 0
    assert "ended, cycle" in table.out


@pytest.mark.parametrize(("text", "flags", "message"), [
    ("num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\n", [], "every send must be received by rank 1"),
    ("num_ranks 1\n", [], "num_ranks must be at least 2, for each rank has a node, not 1"),
    ("num_ranks 2\n", ["--topology", "ring:4"], "ring:4"),
    ("num_ranks 2\n", ["--host", "laptop"], "host must be one of"),
    ("", [], "num_ranks"),
])
def test_what_is_refused(conic: Conic, tmp_path: Path, text: str, flags: list[str], message: str) -> None:
    path = tmp_path / "t.goal"
    path.write_text(text)
    outcome = conic("goal", str(path), *flags)
    assert (outcome.code, outcome.out) == (2, "")
    last = outcome.err.splitlines()[-1]
    assert last.startswith("conic goal: ")
    assert message in last


def test_no_file(conic: Conic, tmp_path: Path) -> None:
    outcome = conic("goal", str(tmp_path / "none.goal"))
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
