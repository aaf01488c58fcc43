"""Claims of the study of pulses: bits stay, and the size of a pulse and packets in flight have their worth."""

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
Claim = dict[str, Any]
AS_IT_IS = "as it is"
ONE_PACKET = "1 packet a peer"


def fullest(row: Row) -> float:
    """Mean occupancy of the fullest buffer."""
    return float(max(row["occupancy"]))


def lines(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each hardware, by size of the pulse."""
    return {
        hardware: sorted((row for row in rows if row["hardware"] == hardware), key=lambda row: row["pulse_bytes"])
        for hardware in dict.fromkeys(row["hardware"] for row in rows)
    }


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The claims that the rows can settle."""
    wrong = sum(row["mismatched_bits"] for row in rows)
    found = [_claim(f"{len(rows)} runs: no bit differs from the golden model", bool(rows) and not wrong, wrong, 0)]
    for algorithm, size in dict.fromkeys((row["algorithm"], row["bytes"]) for row in rows):
        mine = [row for row in rows if (row["algorithm"], row["bytes"]) == (algorithm, size)]
        what = f"{algorithm}, {size:,} bytes"
        different = len({row["sha256"] for row in mine})
        found.append(_claim(f"{what}: no pulse size and no number of packets changes a bit", different == 1, different,
                            1))
        found += _worth(what, lines(mine))
    return found


def _worth(what: str, by_hardware: dict[str, list[Row]]) -> list[Claim]:
    found = []
    usual, one = by_hardware.get(AS_IT_IS, []), by_hardware.get(ONE_PACKET, [])
    if len(usual) > 1:
        own, best = usual[0]["cycles"], min(row["cycles"] for row in usual)
        found.append(_claim(f"{what}: the smallest pulses take longer than the best ones", own > best, own,
                            f"> {best}"))
    if usual and one:
        own, theirs = (min(row["cycles"] for row in line) for line in (usual, one))
        found.append(_claim(f"{what}: with their best pulses, more packets in flight take at most 1% longer than one",
                            own <= 1.01 * theirs, own, f"<= {theirs} + 1%"))
        packets, limit = (max(row["most_packets"] for row in line) for line in (usual, one))
        found.append(_claim(f"{what}: one packet a peer never fills a buffer more than more of them do",
                            limit <= packets, limit, f"<= {packets}"))
    return found


def _claim(text: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": text, "holds": bool(holds), "measured": measured, "expected": expected}
