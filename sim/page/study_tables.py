"""Tables of kept studies (``docs/studies``) for pages."""

from collections.abc import Callable, Iterator
from typing import Any

from sim.report.table import Row
from sim.report.words import number
from sim.study.nic.points import EXPERIMENTS, WAYS
from sim.study.nic.tables import point_cells, size_words, speed_ups
from sim.study.noise.claims import QUIET, added, hidden
from sim.study.pulses.claims import lines


def points(study: str) -> Callable[[dict[str, Any]], Iterator[Row]]:
    """Durations of one of the NIC paper's experiments, a line for each number of jobs and size."""
    def rows(kept: dict[str, Any]) -> Iterator[Row]:
        yield "jobs", "message", "offloaded, µs", "by hosts, µs", "speed-up", "the paper's", "its formula"
        yield from point_cells(
            EXPERIMENTS[study], sorted(kept["rows"], key=lambda row: (row.get("jobs", 0), row.get("bytes", 0))),
        )

    return rows


def other_hosts(kept: dict[str, Any]) -> Iterator[Row]:
    """Speed-ups with other hosts, a line for each change, a column for each number of jobs and size; with the paper's
    host first."""
    found = {
        (row["change"], (row["jobs"], row["bytes"])): row["speed_up"]
        for row in [*speed_ups(kept["rows"]), *speed_ups(kept["rows"], "host")]
    }
    points = sorted({point for change, point in found if change})
    yield "host", *(f"{jobs} jobs, {size_words(size)}" if jobs > 1 else size_words(size) for jobs, size in points)
    for change in dict.fromkeys(change for change, _ in found):
        cells = [found.get((change, point)) for point in points]
        yield change or "`paper`", *("" if cell is None else f"{cell:.2f}" for cell in cells)


def occupancy(kept: dict[str, Any]) -> Iterator[Row]:
    """How full the buffers of the root were, in percent of what is usable."""
    rows = sorted((row for row in kept["rows"] if row["kind"] == "point"), key=lambda row: (row["jobs"], row["bytes"]))
    units = range(len(rows[0]["occupancy"])) if rows else range(0)
    yield "jobs", "message", *(f"unit {unit}" for unit in units), "mean", "most"
    for row in rows:
        shares = [100 * share for share in row["occupancy"]]
        yield (row["jobs"], size_words(row["bytes"]), *map(number, shares), number(sum(shares) / len(shares)),
               number(100 * max(row["peak"])))


def noise(kept: dict[str, Any]) -> Iterator[Row]:
    """Duration of an operation without noise, and the time that each noise adds to it: microseconds, mean over the
    seeds."""
    rows = kept["rows"]
    found = added(rows)
    sizes = sorted({row["bytes"] for row in rows})
    yield "noise", *(cell for size in sizes for cell in (f"{size_words(size)}: offloaded", "by hosts", "hidden"))
    quiet = {(row["bytes"], row["way"]): row["microseconds"] for row in rows if row["noise"] == QUIET}
    yield QUIET, *(cell for size in sizes for cell in (*(number(quiet[size, way]) for way in WAYS), ""))
    for name in dict.fromkeys(name for name, _ in found):
        each = [found[name, size] for size in sizes]
        yield name, *(cell for one in each for cell in (*(f"{one[way]:+.1f}" for way in WAYS), hidden(one)))


def pulses(kept: dict[str, Any]) -> Iterator[Row]:
    """Microseconds, and most packets at once in the root's fullest buffer, by bytes that a pulse takes of a block."""
    rows = kept["rows"]
    sizes = sorted({row["pulse_bytes"] for row in rows})
    yield "algorithm", "message", "hardware", *(f"{size:,}" for size in sizes)
    for algorithm, size in sorted({(row["algorithm"], row["bytes"]) for row in rows}):
        mine = [row for row in rows if (row["algorithm"], row["bytes"]) == (algorithm, size)]
        for hardware, line in lines(mine).items():
            cells = {row["pulse_bytes"]: f"{number(row['microseconds'])} ({row['most_packets']})" for row in line}
            yield algorithm, size_words(size), hardware, *(cells.get(each, "") for each in sizes)
