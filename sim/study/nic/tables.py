"""Tables and words of the studies of the NIC paper's experiments."""

from collections.abc import Iterator
from typing import Any

from sim.report.table import Row as Cells
from sim.report.words import number
from sim.study.nic.formula import MEANINGS
from sim.study.nic.points import KIB, Experiment, ways_of
from sim.study.report.page import PageTable

Row = dict[str, Any]


def size_words(n_bytes: int) -> str:
    """A size as the paper writes it.

    Examples
    --------
    >>> size_words(256), size_words(4096), size_words(1 << 20)
    ('256 B', '4 KiB', '1 MiB')
    """
    if n_bytes < KIB:
        return f"{n_bytes} B"
    return f"{n_bytes // KIB} KiB" if n_bytes < KIB * KIB else f"{n_bytes // KIB // KIB} MiB"


def speed_ups(rows: list[Row], kind: str = "point") -> list[Row]:
    """Durations of both ways, and their ratio: a row for each point that was measured both ways.

    Of hosts that differ in what NICs do not use, the offloaded operation is that of the study's host.
    """
    ways: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        if row["kind"] == kind:
            ways.setdefault((row.get("change", ""), row["jobs"], row["bytes"]), {})[row["way"]] = row
    offloaded = {
        (row["jobs"], row["bytes"]): row for row in rows if row["kind"] == "point" and row["way"] == "offloaded"
    }
    for (change, jobs, size), both in ways.items():
        if "offloaded" not in ways_of(change) and (jobs, size) in offloaded:
            both["offloaded"] = offloaded[jobs, size]
    return [
        {
            "change": change, "jobs": jobs, "bytes": size, "offloaded": both["offloaded"]["microseconds"],
            "host-based": both["host-based"]["microseconds"],
            "speed_up": both["host-based"]["cycles"] / both["offloaded"]["cycles"],
        }
        for (change, jobs, size), both in ways.items() if len(both) == 2
    ]


def tables(experiment: Experiment, rows: list[Row]) -> list[PageTable]:
    """All tables."""
    found = [PageTable("Times and speed-ups", 2, [
        ("jobs", "message", "offloaded, µs", "host-based, µs", "speed-up", "paper", "formula"),
        *point_cells(experiment, rows),
    ])]
    others = speed_ups(rows, "host")
    if others:
        found.append(PageTable("Other hosts", 3, [
            ("what is different", "jobs", "message", "offloaded, µs", "host-based, µs", "speed-up"),
            *((row["change"], str(row["jobs"]), size_words(row["bytes"]), number(row["offloaded"]),
               number(row["host-based"]), f"{row['speed_up']:.2f}") for row in others),
        ]))
    filled = [row for row in rows if row["kind"] == "point" and row["way"] == "offloaded"]
    if filled:
        found.append(PageTable("Mean occupancy of the root's packet buffers during the operation, % (as table 1)", 2, [
            ("jobs", "message", "of all units", "of the fullest"),
            *((str(row["jobs"]), size_words(row["bytes"]),
               number(100 * sum(row["occupancy"]) / len(row["occupancy"])), number(100 * max(row["occupancy"])))
              for row in filled),
        ]))
    formulas = [row for row in rows if row["kind"] == "formula"]
    if formulas:
        names = list(MEANINGS)
        found.append(PageTable("What is put into the formula, ns", 1, [
            ("message", *names, "estimate"),
            *((size_words(row["bytes"]), *(number(row[name]) for name in names), f"{row['estimate']:.2f}")
              for row in formulas),
        ]))
    return found


def point_cells(experiment: Experiment, rows: list[Row]) -> Iterator[Cells]:
    """Jobs, message, what both ways took, the speed-up, the paper's, and the formula's, a line for each point."""
    estimates = {row["bytes"]: row["estimate"] for row in rows if row["kind"] == "formula"}
    for row in speed_ups(rows):
        paper = experiment.paper.get((row["bytes"], row["jobs"]))
        estimate = estimates.get(row["bytes"]) if row["jobs"] == 1 else None
        yield (str(row["jobs"]), size_words(row["bytes"]), number(row["offloaded"]), number(row["host-based"]),
               f"{row['speed_up']:.2f}", "" if paper is None else f"{paper:.2f}",
               "" if estimate is None else f"{estimate:.2f}")


def about(experiment: Experiment, rows: list[Row]) -> str:
    """Text of the page before its plots; HTML."""
    meanings = "; ".join(f"<var>{name}</var>: {text}" for name, text in MEANINGS.items())
    formula = "(1)" if experiment.collective == "broadcast" else "(2)"
    return (
        f"{experiment.collective.capitalize()}, algorithm <code>{experiment.algorithm}</code>, all processes calling "
        "at once; time from there until the last one has its result, on the same RTL, network and hosts both ways. "
        "Offloaded: descriptors, doorbell, the NICs, one completion. Host-based: the same steps by messages over the "
        "NICs' point-to-point path, whole messages announced and then read (<code>docs/hosts.md</code>). Hosts are "
        "assumed, for the paper does not describe them: see there. The paper's column has the values that its text "
        "names; those of the reduction are the ends of its range, put at the ends of the sizes, for it says that they "
        "grow; those of the allreduce are the same, for it says that they are slightly above. The "
        f"formula is the paper's {formula}, of two neighbouring nodes: {meanings}."
    )
