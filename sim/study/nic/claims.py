"""Claims of the studies of the NIC paper's experiments."""

from collections.abc import Iterator
from typing import Any

from sim.study.nic.points import Experiment
from sim.study.nic.tables import size_words, speed_ups

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
        least = _paper(experiment, row["bytes"], row["jobs"])
        whose = "the paper's" if (row["bytes"], row["jobs"]) in experiment.paper else "the least that the paper has"
        yield _claim(
            f"{size_words(row['bytes'])}, jobs {row['jobs']}: the speed-up is at least {whose}",
            row["speed_up"] >= least, round(row["speed_up"], 3), f">= {least}",
        )
    others = speed_ups(rows, "host")
    alone = [row for row in others if row["jobs"] == 1]
    if alone:
        # Judged where it comes closest to the paper's: at another size it may be less, and the paper's less still.
        worst = min(alone, key=lambda row: row["speed_up"] / _paper(experiment, row["bytes"], 1))
        least = _paper(experiment, worst["bytes"], 1)
        yield _claim(
            f"{len(alone)} points of other hosts: the speed-up stays at least the paper's; closest with "
            f"{worst['change']}, {size_words(worst['bytes'])}",
            worst["speed_up"] >= least, round(worst["speed_up"], 3), f">= {least}",
        )
    yield from _shared(experiment, [row for row in others if row["jobs"] > 1])


def _shared(experiment: Experiment, others: list[Row]) -> Iterator[Claim]:
    """Where many jobs share a host: one of the other hosts reaches what the paper has."""
    for jobs, size in dict.fromkeys((row["jobs"], row["bytes"]) for row in others):
        there = [row for row in others if (row["jobs"], row["bytes"]) == (jobs, size)]
        most, least = max(there, key=lambda row: row["speed_up"]), _paper(experiment, size, jobs)
        yield _claim(
            f"{size_words(size)}, jobs {jobs}: with one of {len(there)} other hosts the speed-up is at least the "
            f"paper's; most with {most['change']}",
            most["speed_up"] >= least, round(most["speed_up"], 3), f">= {least}",
        )


def _paper(experiment: Experiment, size: int, jobs: int) -> float:
    """The speed-up that the paper names, or the least that it has."""
    return experiment.paper.get((size, jobs), experiment.paper["least"])


def _same_bits(rows: list[Row]) -> Claim:
    """Both ways give the same bits, and so do all hosts."""
    results: dict[tuple[int, int], set[str]] = {}
    for row in rows:
        results.setdefault((row["jobs"], row["bytes"]), set()).add(row["sha256"])
    most = max(map(len, results.values()), default=0)
    return _claim("offloaded and host-based results are the same, bit for bit", most == 1, most, 1)


def _claim(text: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": text, "holds": bool(holds), "measured": measured, "expected": expected}
