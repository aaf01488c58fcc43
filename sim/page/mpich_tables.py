"""The tables of MPICH's own tests, under MPICH and on the NICs."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sim.report.table import Row

_VERDICTS = ("pass", "fail", "time-out", "build")


def tests(figures: dict[str, Any]) -> Iterator[Row]:
    """Every test."""
    yield "test, ranks, arguments", "MPICH", "on the NICs", "MPICH, s", "on the NICs, s"
    for row in figures["rows"]:
        plain, nics = row["plain"], row["nics"]
        yield f"`{row['test']}`", plain["verdict"], nics["verdict"], f"{plain['seconds']:.1f}", f"{nics['seconds']:.1f}"


def counts(figures: dict[str, Any]) -> Iterator[Row]:
    """How many have which verdict, folder by folder."""
    yield "folder", "under", *_VERDICTS, "seconds in all"
    folders = dict.fromkeys(row["test"].split()[0].rpartition("/")[0] for row in figures["rows"])
    for folder in folders:
        rows = [row for row in figures["rows"] if row["test"].split()[0].rpartition("/")[0] == folder]
        for name, words in (("plain", "MPICH"), ("nics", "the NICs")):
            found = Counter(row[name]["verdict"] for row in rows)
            seconds = sum(row[name]["seconds"] for row in rows)
            yield f"`{folder}`", words, *(found[verdict] for verdict in _VERDICTS), f"{seconds:,.0f}"
