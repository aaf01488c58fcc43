"""`conic congestion`, its bench and its studies: figures, files, refusals; an interrupted study goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.model.congestion.study import dumbbell as congestion_dumbbell
from sim.model.congestion.study import large as congestion_large
from sim.model.congestion.study import small as congestion_small
from sim.model.congestion.study.rows import small_row
from sim.study.grid import tasks
from sim.study.grid.tasks import Task, run_tasks

Conic = Callable[..., Any]
FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"


def test_drawn_flows(conic: Conic, tmp_path: Path) -> None:
    """Figures of a run, the measure, and all files; the flows that were written give the same run again."""
    files = {name: str(tmp_path / f"{name}.txt") for name in ("fct", "pfc", "write-topology", "write-flows", "scatter")}
    flags = [part for name, path in files.items() for part in (f"--{name}", path)]
    outcome = conic("congestion", "dumbbell:5", "--load", "0.3", "--duration-us", "40", "--control", "dcqcn", *flags,
                    "--json")
    assert outcome.code == 0
    values = json.loads(outcome.out)
    run, = values["runs"]
    assert (run["violations"], run["deadlock"]) == ([], [])
    assert run["measure"]["s_l"] > 1
    assert run["packets"] >= values["bytes"] / 1000
    assert len(Path(files["fct"]).read_text().splitlines()) == values["flows"]
    assert "<svg" in Path(files["scatter"]).read_text()
    again = conic("congestion", files["write-topology"], "--flows", files["write-flows"], "--control", "dcqcn",
                  "--json")
    same, = json.loads(again.out)["runs"]
    assert [same[name] for name in ("end_ms", "events", "pauses", "by_kind")] == \
        [run[name] for name in ("end_ms", "events", "pauses", "by_kind")]


def test_collective(conic: Conic) -> None:
    """A collective under background takes longer than alone; the table names it."""
    flags = ("congestion", "dumbbell:10", "--collective", "allreduce/ring", "--size", "64KiB", "--control", "hpcc")
    alone, loaded = (json.loads(conic(*flags, *more, "--load", "0.6", "--duration-us", "40", "--json").out)["runs"][0]
                     for more in (["--alone"], []))
    assert loaded["collective_us"] >= alone["collective_us"]
    assert "collective" in conic(*flags).out


def test_deadlock(conic: Conic, tmp_path: Path) -> None:
    """Pauses that wait for each other: exit code 1, and the ring of ports."""
    flows = tmp_path / "flows.txt"
    flows.write_text("5\n" + "".join(f"{n} {(n + 2) % 5} 3 100 2000000 2\n" for n in range(5)))
    outcome = conic("congestion", "ring:5", "--flows", str(flows), "--control", "none", "--buffer", "200000")
    assert outcome.code == 1
    assert outcome.err.count("waits for the next in a ring: switch ") == 5


def test_set(conic: Conic) -> None:
    """A parameter that is set is the one that runs: marks from the first byte on."""
    flags = ("congestion", "dumbbell:2", "--collective", "alltoall", "--control", "dctcp", "--json")
    marks = [json.loads(conic(*flags, *more).out)["runs"][0]["marks"]
             for more in ([], ["--set", "k_min=0", "--set", "k_max=1"])]
    assert marks[0] < marks[1]


@pytest.mark.parametrize(("arguments", "message"), [
    (["nowhere", "--load", "0.5"], "'nowhere': No such file"),
    (["dumbbell:0", "--load", "0.5"], "TOPOLOGY: dumbbell: must be 1 to 1024"),
    (["small"], "--flows, --load or --collective: one is required"),
    (["small", "--load", "0"], "--load: must be a number above 0 and at most 1, not '0'"),
    (["small", "--load", "1.5"], "--load: must be a number above 0 and at most 1, not '1.5'"),
    (["small", "--load", "0.5", "--flows", "x"], "--flows: must not go with --load"),
    (["small", "--load", "0.5", "--control", "cubic"], "--control: must be all or one of none, dctcp, dcqcn"),
    (["small", "--load", "0.5", "--fct", "x"], "--fct: must go with one --control, not 6"),
    (["small", "--load", "0.5", "--buffer", "1000"], "buffer: must be above"),
    (["small", "--load", "0.5", "--set", "speed=1"], "--set: name must be one of alpha_ns"),
    (["small", "--load", "0.5", "--set", "gain=x"], "--set: gain must be a number, not 'x'"),
    (["small", "--load", "0.5", "--set", "is_per_ack=2"], "--set: is_per_ack must be 0 or 1, not '2'"),
    (["small", "--collective", "sort"], "must be one of"),
    (["small", "--collective", "barrier", "--ranks", "19"], "--ranks: must be at most the 18 hosts"),
])
def test_refused(conic: Conic, arguments: list[str], message: str) -> None:
    outcome = conic("congestion", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_small_study(conic: Conic, tmp_path: Path) -> None:
    """The paper's ordering, as claims on what this run measured; plots and tables on one page."""
    saved = tmp_path / "rows.json"
    outcome = conic("study", "congestion-small", "--quick", "--output-dir", str(tmp_path), "--save-rows", str(saved),
                    "--json")
    values = json.loads(outcome.out)
    assert [claim["claim"] for claim in values["claims"] if not claim["holds"]] == []
    assert outcome.code == 0
    assert len(values["claims"]) == 14
    assert (tmp_path / "index.html").read_text().count("<svg") == 3
    again = conic("study", "congestion-small", "--rows", str(saved), "--output-dir", str(tmp_path), "--json")
    assert json.loads(again.out)["claims"] == values["claims"]


SPOILT = [
    ("hpcc", "f0_burst_least", 10, "hpcc: F0 is undisturbed"),
    ("pint", "f0_burst_least", 10, "pint: F0 is undisturbed"),
    ("dcqcn", "f0_burst", 45, "dcqcn: F0 falls"), ("none", "f0_burst", 90, "none is the worst for F0"),
    ("dctcp", "oscillation", 0.01, "dctcp: F0 oscillates"), ("timely", "oscillation", 0.01, "timely: F0 oscillates"),
    ("pint", "f1_recovered_ms", 0.1, "pint: F1 recovers"),
    ("pint", "short_mean_us", 1300, "pint: short flows are fastest"),
    ("dcqcn", "short_mean_us", 1300, "dcqcn, timely: short flows"),
    ("hpcc", "short_mean_us", 1000, "hpcc: short flows"),
    ("dctcp", "short_std_us", 1, "dctcp: completion times"), ("none", "pause_ms", 1, "none has the most PFC"),
    ("hpcc", "pause_ms", 1, "an order of magnitude"), ("hpcc", "violations", ["lost"], "bytes are conserved"),
    ("hpcc", "deadlock", ["switch 1"], "no deadlock"),
]


@pytest.mark.parametrize(("control", "figure", "value", "claim"), SPOILT)
def test_claims_of_small_can_fail(control: str, figure: str, value: Any, claim: str) -> None:
    """Rows with one figure spoilt: the claim about it fails."""
    rows = json.loads((FIGURES / "congestion_small.json").read_text())["rows"]
    assert all(found["holds"] for found in congestion_small.claims(rows))
    spoilt = [row | {figure: value} if row["control"] == control and row["buffer_mb"] == 4 else row for row in rows]
    assert not all(found["holds"] for found in congestion_small.claims(spoilt) if claim in found["claim"])


@pytest.mark.parametrize(("name", "study", "kind", "figures"), [
    ("dumbbell", congestion_dumbbell, "metric", {"s_l": 99.0}), ("large", congestion_large, "metric", {"s_1": 99.0}),
    ("large", congestion_large, "run", {"seconds": 9e9}), ("large", congestion_large, "run", {"flows": 1}),
])
def test_claims_of_others_can_fail(name: str, study: Any, kind: str, figures: dict[str, float]) -> None:
    rows = json.loads((FIGURES / f"congestion_{name}.json").read_text())["rows"]
    assert all(found["holds"] for found in study.claims(rows))
    spoilt = [row | figures if row["kind"] == kind and row["control"] in ("hpcc", "pint", "none") else row
              for row in rows]
    assert not all(found["holds"] for found in study.claims(spoilt))


def failing(place: int, marks: str, _progress: Any) -> list[dict[str, Any]]:
    """A run that is interrupted the first time it gets to place 2, and counts how often it is begun."""
    path = Path(marks)
    begun = path.read_text().split() if path.exists() else []
    path.write_text(" ".join([*begun, str(place)]))
    if place == 2 and begun.count("2") == 0:
        raise KeyboardInterrupt
    return [{"place": place}]


def test_interrupted_study_goes_on(tmp_path: Path) -> None:
    """Finished runs are not run again, unless sources have changed; nothing is left behind at the end."""
    marks, folder = tmp_path / "marks", tmp_path / "unfinished"
    jobs = [Task(f"run {place}", failing, (place, str(marks))) for place in range(4)]
    stages: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_tasks(jobs, folder, "sources", lambda stage, _done, _total: stages.append(stage))
    rows = run_tasks(jobs, folder, "sources", lambda stage, _done, _total: stages.append(stage))
    assert rows == [{"place": place} for place in range(4)]
    assert marks.read_text() == "0 1 2 2 3"
    assert "taken from the run before" in stages
    assert not folder.exists()
    marks.write_text("2")
    run_tasks(jobs[:1], folder, "sources", lambda *_: None)
    assert marks.read_text() == "2 0"  # finished for good: a new study measures anew


@pytest.mark.long
def test_processes_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes: the rows of one, but for the time they took."""
    monkeypatch.setenv("CONIC_THREADS", "2")
    jobs = [Task(control, small_row, (control, 4, 1, False)) for control in ("none", "hpcc", "pint")]
    beside = run_tasks(jobs, tmp_path / "two", "", lambda *_: None)
    monkeypatch.setenv("CONIC_THREADS", "1")
    alone = run_tasks(jobs, tmp_path / "one", "", lambda *_: None)
    for row in (*beside, *alone):
        for name in ("seconds", "cpu_seconds", "packets_a_cpu_second"):
            del row[name]
    assert beside == alone
    assert tasks.MAX_PROCESSES == 2


@pytest.mark.long
@pytest.mark.parametrize("name", ["congestion-dumbbell", "congestion-large", "congestion-collectives"])
def test_quick_studies(conic: Conic, tmp_path: Path, name: str) -> None:
    outcome = conic("study", name, "--quick", "--output-dir", str(tmp_path), "--json")
    assert outcome.code == 0, json.loads(outcome.out)["claims"]


def test_bench(conic: Conic) -> None:
    outcome = conic("bench", "congestion", "--control", "hpcc", "--duration-us", "1", "--json")
    rows = json.loads(outcome.out)["rows"]
    assert outcome.code == 0
    assert [row["network"] for row in rows] == ["small", "fat-tree:5"]
    assert all(row["packets_a_cpu_second"] > 10_000 for row in rows)


@pytest.mark.parametrize(("options", "said"), [
    (("--buffer", "1KiB"), "buffer: must be above"),
    (("--set", "gain=x"), "--set: gain must be a number, not 'x'"),
    (("--control", "dctcp", "--control", "vegas"), "--control: must be all or one of"),
])
def test_refused_before_anything_is_written(
    options: tuple[str, ...], said: str, conic: Conic, tmp_path: Path,
) -> None:
    files = [tmp_path / name for name in ("topology", "flows", "scatter.svg")]
    written = ("--write-topology", str(files[0]), "--write-flows", str(files[1]), "--scatter", str(files[2]))
    outcome = conic("congestion", "dumbbell:5", "--load", "0.2", *written, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert not any(path.exists() for path in files)
