"""What the studies of the NIC paper's experiments claim."""

from collections.abc import Iterator
from typing import Any

from sim.study.nic_points import Experiment
from sim.study.nic_tables import size_words, speed_ups

Row = dict[str, Any]
Claim = dict[str, Any]


def claims(experiment: Experiment, rows: list[Row]) -> list[Claim]:
    """The claims that the rows can settle."""
    return list(_claims(experiment, rows))


def _claims(experiment: Experiment, rows: list[Row]) -> Iterator[Claim]:
    measured = [row for row in rows if row["kind"] in ("point", "host")]
    wrong = sum(row["mismatched_bits"] for row in measured)
    yield _claim(f"{len(measured)} runs: no bit differs from the golden model", bool(measured) and not wrong, wrong, 0)
    yield _same_bits(measured)
    for row in speed_ups(rows):
        named = experiment.paper.get((row["bytes"], row["jobs"]))
        least = experiment.paper["least"] if named is None else named
        whose = "the paper's" if named is not None else "the least that the paper has"
        yield _claim(
            f"{size_words(row['bytes'])}, jobs {row['jobs']}: the speed-up is at least {whose}",
            row["speed_up"] >= least, row["speed_up"], f">= {least}",
        )
    others = speed_ups(rows, "host")
    alone = [row for row in others if row["jobs"] == 1]
    if alone:
        worst = min(alone, key=lambda row: row["speed_up"])
        holds = all(
            row["speed_up"] >= experiment.paper.get((row["bytes"], 1), experiment.paper["least"]) for row in alone
        )
        yield _claim(
            f"{len(alone)} other hosts: the speed-up stays at least the paper's; least with {worst['change']}",
            holds, worst["speed_up"], f">= {experiment.paper['least']}",
        )
    together = [row for row in others if row["jobs"] > 1]
    if together:
        most = max(together, key=lambda row: row["speed_up"])
        yield _claim(
            f"{size_words(most['bytes'])}, jobs {most['jobs']}: with less memory bandwidth at hosts the speed-up is at "
            f"least the most that the paper has; most with {most['change']}",
            most["speed_up"] >= experiment.paper["most"], most["speed_up"], f">= {experiment.paper['most']}",
        )


def _same_bits(rows: list[Row]) -> Claim:
    """Both ways give the same bits, and so do all hosts."""
    results: dict[tuple[int, int], set[str]] = {}
    for row in rows:
        results.setdefault((row["jobs"], row["bytes"]), set()).add(row["sha256"])
    most = max(map(len, results.values()), default=0)
    return _claim("offloaded and host-based results are the same, bit for bit", most == 1, most, 1)


def _claim(text: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": text, "holds": bool(holds), "measured": measured, "expected": expected}
