"""What the study of faults claims, each with what was measured."""

from collections.abc import Iterator
from typing import Any

from sim.faults import Verdict

Row = dict[str, Any]
Claim = dict[str, Any]
_CORRECTED = ("bit errors", "lost frames", "doubled frames", "delayed frames", "slow host", "full completion queue")
"""Faults that must not be seen in any result, and those of one bit."""
_ENDS = {Verdict.CORRECTED.value, Verdict.REPORTED.value}


def claims(rows: list[Row]) -> list[Claim]:
    """The claims that the rows can settle."""
    return [*_goodput(rows), *_outages(rows), *_faults(rows)]


def _claim(claim: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": claim, "holds": bool(holds), "measured": measured, "expected": expected}


def _goodput(rows: list[Row]) -> Iterator[Claim]:
    found = [row for row in rows if row["kind"] == "goodput" and row["rate"]]
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
        yield _claim("a link that is down for good ends the operation at every node, within three watchdogs",
                     row["verdict"] == Verdict.REPORTED.value and row["detection_cycles"] <= 3 * row["watchdog"],
                     [row["verdict"], row["detection_cycles"]], f"<= {3 * row['watchdog']}")


def _faults(rows: list[Row]) -> Iterator[Claim]:
    found = [row for row in rows if row["kind"] == "fault"]
    if not found:
        return
    ended = [(row, verdict) for row in found for verdict in row["verdicts"]]
    for verdict, words in ((Verdict.HANG, "no operation hangs"), (Verdict.WRONG, "no result is wrong")):
        hit = sorted({row["fault"] for row, each in ended if each == verdict.value})
        yield _claim(words, not hit, hit, [])
    others = sorted({f"{row['fault']}: {verdict}" for row, verdict in ended if verdict not in _ENDS})
    yield _claim("every fault is corrected, or reported to all participants", not others, others, [])
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
