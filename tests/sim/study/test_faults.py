"""`conic study faults`: claims are judged by the rows, and the page shows them. Measured in `make test-long`."""

from pathlib import Path
from typing import Any

import pytest

from sim.study import StudyError
from sim.study.faults import go_back_n_bound
from sim.study.faults_cases import faults
from sim.study.faults_claims import claims
from sim.study.faults_report import run
from sim.study.rows_file import save_rows

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
                 progress=silent)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 1
    assert "process stops" in page
    assert "process stops" in result.table
    with pytest.raises(StudyError, match=r"^--part must be one of goodput, outages, faults, not 'x'$"):
        run(is_quick=True, parts=("x",), row_files=(), save_rows=None, folder=tmp_path, progress=silent)


def test_cases_fit_the_nodes_that_there_are() -> None:
    for seed in range(8):
        cases = list(faults(seed))
        assert len({case.name for case in cases}) == len(cases) == 21
        for case in cases:
            case.script.check(nodes=4, cous=1)


@pytest.mark.parametrize(("rate", "low", "high"), [(0.0, 1.0, 1.0), (1e-3, 0.9, 0.97), (1.0, 0.0, 0.0)])
def test_bound(rate: float, low: float, high: float) -> None:
    assert low <= go_back_n_bound(packet_words=37, rate=rate, trip_cycles=20) <= high


@pytest.mark.long
def test_quick(tmp_path: Path) -> None:
    """Nothing hangs, and outages and bit errors of wires are corrected."""
    result = run(is_quick=True, parts=(), row_files=(), save_rows=None, folder=tmp_path, progress=silent)
    failed = [claim["claim"] for claim in result.claims if not claim["holds"]]
    assert not [claim for claim in failed if claim.startswith(("no operation hangs", "an operation survives", "good"))]
