"""`conic study faults`: claims are judged by the rows, and the page shows them. Measured in `make test-long`."""

from pathlib import Path
from typing import Any

import pytest

import sim.study.faults.grid
from sim.faults import FaultOutcome, FaultScript, Verdict
from sim.faults.script import LinkDown
from sim.operation.request import CollectiveRequest
from sim.study import GridOptions, StudyError
from sim.study.faults.cases import FULL, QUICK, Scale, Site, faults
from sim.study.faults.claims import claims
from sim.study.faults.grid import POINTS, beside_undisturbed, measure
from sim.study.faults.report import run
from sim.study.report.rows_file import save_rows

GOOD: list[dict[str, Any]] = [
    {"kind": "goodput", "rate": 0.0, "bytes": 65536, "cycles": 1000, "injected": {}, "relative": 1.0, "bound": 1.0,
     "goodput": 0.9, "verdict": "corrected"},
    *(
        {"kind": "goodput", "rate": rate, "bytes": 65536, "cycles": 1200, "injected": {"flipped": 9}, "relative": 0.83,
         "bound": 0.85, "goodput": 0.75, "verdict": "corrected"} for rate in (1e-4, 1e-3)
    ),
    {"kind": "outage", "cycles_down": 2000, "cycles": 5500, "cycles_without": 3000, "recovery_cycles": 500,
     "lost_words": 900, "verdict": "corrected"},
    {"kind": "detection", "watchdog": 10000, "dead_cycles": 20480, "cycles": 31000, "detection_cycles": 30500,
     "verdict": "reported", "again": "as new"},
    {"kind": "fault", "fault": "bit errors", "collective": "allreduce", "algorithm": "ring", "seed": 0,
     "is_private": False, "injected": {"flipped": 12}, "verdicts": ["corrected", "corrected"], "strikes_at": 0,
     "statuses": [{"0": "OK", "1": "OK"}] * 2, "ended": [{"0": 900, "1": 950}] * 2, "wrong": [[], []],
     "cycles": 3000, "counters": {}, "again": "as new"},
    {"kind": "fault", "fault": "process stops", "collective": "allreduce", "algorithm": "ring", "seed": 0,
     "is_private": True, "injected": {"absent": 1}, "verdicts": ["reported to some", "corrected"],
     "strikes_at": 300, "statuses": [{"0": "TIMEOUT", "1": "OK", "2": "OK"}, {"0": "OK", "1": "OK", "2": "OK"}],
     "ended": [{"0": 9900, "1": 250, "2": 400}, {"0": 900, "1": 950, "2": 800}], "wrong": [[0], []],
     "cycles": 3000, "counters": {}, "again": "as new"},
]


OPTIONS = GridOptions(preset="small", nodes=4)


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def test_good_rows() -> None:
    assert [claim["claim"] for claim in claims(GOOD) if not claim["holds"]] == []
    assert len(claims(GOOD)) == 9


@pytest.mark.parametrize(("number", "change", "fails"), [
    (2, {"relative": 0.4}, ["goodput"]),
    (3, {"verdict": "reported"}, ["survives"]),
    (4, {"detection_cycles": 41_000}, ["down for good"]),
    (5, {"verdicts": ["corrected", "hang"]}, ["hangs", "can be corrected"]),
    (5, {"verdicts": ["wrong", "corrected"]}, ["is wrong", "can be corrected"]),
    (5, {"wrong": [[], [1]]}, ["every fault"]),
    (5, {"statuses": [{"0": "OK", "1": None}, {"0": "OK", "1": "OK"}]}, ["every fault"]),
    (6, {"wrong": [[0, 1], []]}, ["every fault"]),
    (5, {"verdicts": ["reported", "corrected"]}, ["can be corrected"]),
    (6, {"verdicts": ["reported", "reported"]}, ["other job"]),
    (6, {"again": "node 1, job 0: 2 packets left after 40000 cycles"}, ["as new"]),
])
def test_claims_can_fail(number: int, change: dict[str, Any], fails: list[str]) -> None:
    rows = [row | change if at == number else row for at, row in enumerate(GOOD)]
    found = [claim["claim"] for claim in claims(rows) if not claim["holds"]]
    assert len(found) == len(fails)
    assert all(part in claim for part, claim in zip(fails, found, strict=True))


def test_each_participant_is_counted() -> None:
    claim = next(claim for claim in claims(GOOD) if claim["claim"].startswith("every fault"))
    assert claim["measured"] == {
        "reported": 1, "ended before the fault": 1, "right bits after it": 1, "refused by host memory": 0,
    }
    refused = GOOD[6] | {
        "fault": "write refused, SLVERR", "verdicts": ["counted", "corrected"], "is_private": False,
        "statuses": [{"0": "TIMEOUT", "1": None, "2": "OK"}, {}], "ended": [{"0": 9900, "1": None, "2": 400}, {}],
    }
    claim = next(claim for claim in claims([refused]) if claim["claim"].startswith("every fault"))
    assert (claim["holds"], claim["measured"]["refused by host memory"]) == (True, 1)
    claim = next(c for c in claims([refused | {"fault": "slow host"}]) if c["claim"].startswith("every fault"))
    assert not claim["holds"]


def test_page(tmp_path: Path) -> None:
    save_rows(tmp_path / "rows.json", "conic study faults", GOOD, [])
    result = run(is_quick=True, parts=(), row_files=[tmp_path / "rows.json"], save_rows=None, folder=tmp_path,
                 progress=silent, options=OPTIONS)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 1
    assert "process stops" in page
    assert "process stops" in result.table
    with pytest.raises(StudyError, match=r"^--part must be one of goodput, outages, faults, not 'x'$"):
        run(is_quick=True, parts=("x",), row_files=(), save_rows=None, folder=tmp_path, progress=silent,
            options=OPTIONS)


def test_what_has_no_measurement_beside_it_is_left_out(tmp_path: Path) -> None:
    """Rows of a run that was interrupted: shown and judged as far as they go."""
    some = [{key: value for key, value in row.items() if key not in ("relative", "cycles_without", "recovery_cycles")}
            for row in GOOD if row.get("rate") != 0.0]
    assert beside_undisturbed(some) == some
    save_rows(tmp_path / "rows.json", "conic study faults", some, [])
    result = run(is_quick=True, parts=(), row_files=[tmp_path / "rows.json"], save_rows=None, folder=tmp_path,
                 progress=silent, options=OPTIONS)
    assert not [claim for claim in result.claims if claim["claim"].startswith("goodput")]
    assert "<svg" not in (tmp_path / "index.html").read_text()
    whole = beside_undisturbed([*some, GOOD[0], {"kind": "outage", "cycles_down": 0, "cycles": 3100}])
    assert [row["relative"] for row in whole if row["kind"] == "goodput"] == [1000 / 1200, 1000 / 1200, 1.0]
    outage = next(row for row in whole if row.get("cycles_down"))
    assert (outage["cycles_without"], outage["recovery_cycles"]) == (3100, 400)


@pytest.mark.parametrize("scale", [QUICK, FULL])
def test_points(scale: Scale) -> None:
    """Each once; quick rows are not taken for those of other sizes."""
    points = [point for part in POINTS.values() for point in part(Site("small", 4), scale)]
    assert len({point.key for point in points}) == len(points)
    assert len(points) == len(scale.rates) + len(scale.outages) + 2 + 21 * scale.seeds * len(scale.collectives)
    assert all(dict(point.key).get("bytes", scale.size) == scale.size for point in points)


def test_every_point_has_its_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows have their fields, and scripts are whole; nothing is run."""
    asked: list[tuple[CollectiveRequest, FaultScript]] = []

    def played(request: CollectiveRequest, script: FaultScript, **_: object) -> FaultOutcome:
        asked.append((request, script))
        return FaultOutcome(injected={"cut": 7}, verdicts=[Verdict.CORRECTED] * 2, cycles=900, counters={},
                            statuses=[{}] * 2, ended=[{}] * 2, wrong=[[]] * 2)

    monkeypatch.setattr(sim.study.faults.grid, "run_with_faults", played)
    points = [point for part in POINTS.values() for point in part(Site("small", 4), QUICK)]
    rows = [dict(point.key) | measure(*point.arguments) for point in points]
    assert claims(beside_undisturbed(rows))
    bounds = [row["bound"] for row in rows if row["kind"] == "goodput"]
    assert bounds[0] == 1.0 > bounds[1] > bounds[2] > 0.5
    assert len(asked) == len(points)
    assert all(row["seconds"] >= 0 for row in rows)
    assert [len(script.events) for _, script in asked[:7]] == [0, 0, 0, 0, 1, 1, 1], "three rates, no outage, three"


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_cases_fit_the_nodes_that_there_are(nodes: int) -> None:
    for seed in range(8):
        cases = list(faults(seed, nodes=nodes))
        assert len({case.name for case in cases}) == len(cases) == 21
        for case in cases:
            case.script.check(nodes=nodes, cous=1)
            assert case.is_for_good == (case.name in ("link down for good", "node stops", "process stops"))
            assert all(not isinstance(event, LinkDown) or event.at >= 300 for event in case.script.events)


def test_hardware_that_there_is_not(tmp_path: Path) -> None:
    for options, message in (
        (GridOptions(preset="tiny", nodes=4), r"^preset must be one of .*, not 'tiny'$"),
        (GridOptions(preset="small", nodes=100_000), r"star:100000"),
    ):
        with pytest.raises(StudyError, match=message):
            run(is_quick=True, parts=(), row_files=(), save_rows=None, folder=tmp_path, progress=silent,
                options=options)


@pytest.mark.long
def test_quick(tmp_path: Path) -> None:
    """Nothing hangs, and outages and bit errors of wires are corrected."""
    result = run(is_quick=True, parts=(), row_files=(), save_rows=None, folder=tmp_path, progress=silent,
                 options=GridOptions(preset="small", nodes=4, processes=2))
    failed = [claim["claim"] for claim in result.claims if not claim["holds"]]
    assert not [claim for claim in failed if claim.startswith(("no operation hangs", "an operation survives", "good"))]
