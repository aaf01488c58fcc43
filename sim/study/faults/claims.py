"""Claims of the study of faults, each with the measured value."""

from collections.abc import Iterator
from typing import Any

from sim.faults import Verdict

Row = dict[str, Any]
Claim = dict[str, Any]
_CORRECTED = ("bit errors", "lost frames", "doubled frames", "delayed frames", "slow host", "full completion queue")
"""Faults that must not be seen in any result, and those of one bit."""
_REFUSED = ("write refused", "reads and writes refused")
"""Faults by which host memory may refuse a completion."""


def claims(rows: list[Row]) -> list[Claim]:
    """The claims that the rows can settle."""
    return [*_goodput(rows), *_outages(rows), *_faults(rows)]


def _claim(claim: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": claim, "holds": bool(holds), "measured": measured, "expected": expected}


def _goodput(rows: list[Row]) -> Iterator[Claim]:
    found = [row for row in rows if "relative" in row and row["rate"]]
    if found:
        worst = min(found, key=lambda row: row["relative"] / row["bound"])
        yield _claim(
            "goodput under bit errors is at least 60% of go-back-N's bound", worst["relative"] >= 0.6 * worst["bound"],
            round(worst["relative"] / worst["bound"], 3), ">= 0.6",
        )


def _outages(rows: list[Row]) -> Iterator[Claim]:
    found = [row for row in rows if row["kind"] == "outage"]
    if found:
        yield _claim("an operation survives an outage of its link", all(
            row["verdict"] == Verdict.CORRECTED.value for row in found), [row["verdict"] for row in found],
            Verdict.CORRECTED.value)
    for row in (row for row in rows if row["kind"] == "detection"):
        most = row["dead_cycles"] + 2 * row["watchdog"]
        yield _claim("a link that is down for good ends the operation at every node, within two watchdogs from when it "
                     "throws away what waits",
                     row["verdict"] == Verdict.REPORTED.value and row["detection_cycles"] <= most,
                     [row["verdict"], row["detection_cycles"]], f"<= {most}")


def _faults(rows: list[Row]) -> Iterator[Claim]:
    found = [row for row in rows if row["kind"] == "fault"]
    if not found:
        return
    ended = [(row, verdict) for row in found for verdict in row["verdicts"]]
    for verdict, words in ((Verdict.HANG, "no operation hangs"), (Verdict.WRONG, "no result is wrong")):
        hit = sorted({row["fault"] for row, each in ended if each == verdict.value})
        yield _claim(words, not hit, hit, [])
    yield from _reports(found)
    seen = sorted({
        row["fault"] for row, verdict in ended
        if (row["fault"] in _CORRECTED or row["fault"].startswith("1 bit ")) and verdict != Verdict.CORRECTED.value
    })
    yield _claim("what can be corrected changes no bit and ends in no error", not seen, seen, [])
    spoilt = sorted({f"{row['fault']}: {row['again']}" for row in found if row["again"] not in (None, "as new")})
    yield _claim("every job works as new afterwards, unless a node is gone for good", not spoilt, spoilt, [])
    touched = sorted({
        row["fault"] for row in found if row["is_private"] and row["verdicts"][1] != Verdict.CORRECTED.value
    })
    yield _claim("a fault of one process does not touch the other job", not touched, touched, [])


def _reports(found: list[Row]) -> Iterator[Claim]:
    """Participant by participant: who has not got its result says so, and who says OK has it."""
    silent = []
    well = {"reported": 0, "ended before the fault": 0, "right bits after it": 0, "refused by host memory": 0}
    for row in found:
        for job, (statuses, ended, wrong) in enumerate(zip(row["statuses"], row["ended"], row["wrong"], strict=True)):
            refuses = row["verdicts"][job] == Verdict.COUNTED.value and row["fault"].startswith(_REFUSED)
            is_fine = all(status == "OK" for status in statuses.values()) and not wrong
            for node, status in statuses.items():
                if status is None and refuses:
                    well["refused by host memory"] += 1
                elif status is None or (status == "OK" and int(node) in wrong):
                    silent.append(f"{row['fault']}: job {job}, node {node}")
                elif status != "OK":
                    well["reported"] += 1
                elif not is_fine:
                    well["ended before the fault" if ended[node] < row["strikes_at"] else "right bits after it"] += 1
    yield _claim(
        "every fault is corrected, or each participant that does not get its result reports a named error",
        not silent, sorted(set(silent)) or well, "none that does not",
    )
