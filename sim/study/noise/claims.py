"""Claims of the study of noise: bits stay, and hosts that do the work themselves lose more."""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from sim.study.nic.points import WAYS
from sim.study.nic.tables import size_words

Row = dict[str, Any]
Claim = dict[str, Any]
QUIET = "none"
LATE = "late"
"""In the name of a noise: nobody can have a result without a process that is late, so it hides from nobody."""


def added(rows: Sequence[Row]) -> dict[tuple[str, int], dict[str, Any]]:
    """Microseconds that each noise adds to each way, by noise and bytes: the mean over its seeds."""
    places = dict.fromkeys((row["noise"], row["bytes"]) for row in rows if row["noise"] != QUIET)
    return {place: _added(rows, *place) for place in places}


def _added(rows: Sequence[Row], noise: str, size: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for way in WAYS:
        quiet, loud = (_microseconds(rows, name, size, way) for name in (QUIET, noise))
        found |= {way: mean(loud) - mean(quiet), "seeds": len(loud)}
    return found


def _microseconds(rows: Sequence[Row], noise: str, size: int, way: str) -> list[float]:
    return [row["microseconds"] for row in rows if (row["noise"], row["bytes"], row["way"]) == (noise, size, way)]


def hidden(each: dict[str, Any]) -> str:
    """How much less is added to the offloaded operation, of what is added to the host-based one."""
    if each["host-based"] <= 0:
        return ""
    # Adding nothing makes the minus zero of a share that rounds to it a plain one.
    return f"{round(1 - each['offloaded'] / each['host-based'], 2) + 0.0:.0%}"


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The claims that the rows can settle."""
    wrong = sum(row["mismatched_bits"] for row in rows)
    most = max((len({row["sha256"] for row in rows if row["bytes"] == size}) for size in {
        row["bytes"] for row in rows
    }), default=0)
    found = [
        _claim(f"{len(rows)} runs: no bit differs from the golden model", bool(rows) and not wrong, wrong, 0),
        _claim("noise changes no bit, offloaded or by hosts", most == 1, most, 1),
    ]
    for noise, size in added(rows):
        own, theirs = (round(mean(_microseconds(rows, noise, size, way)), 3) for way in WAYS)
        found.append(_claim(f"{noise}, {size_words(size)}: offloaded is faster than hosts under the same noise, µs",
                            own < theirs, own, f"< {theirs}"))
    cut = [each for (noise, _), each in added(rows).items() if LATE not in noise]
    if cut:
        # Over all of them: a rare interruption meets no operation of many.
        own, theirs = (sum(each[way] for each in cut) for way in WAYS)
        found.append(_claim("offload hides at least two fifths of what interruptions cost hosts",
                            theirs > 0 and own <= 0.6 * theirs, round(1 - own / theirs, 3) if theirs > 0 else 0,
                            ">= 0.4"))
    return found


def _claim(text: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": text, "holds": bool(holds), "measured": measured, "expected": expected}
