"""The tables of ``docs/congestion.md`` and of the studies' pages, made from the rows of the studies."""

from collections.abc import Iterator
from typing import Any

from sim.report.table import Row

_Figures = dict[str, Any]


def _of(figures: _Figures, kind: str) -> list[_Figures]:
    return [row for row in figures["rows"] if row["kind"] == kind]


def small(figures: _Figures) -> Iterator[Row]:
    """The small experiment with the buffer that gives the paper's picture: F0 and F1, short flows, PFC."""
    yield ("algorithm", "F0 before, Gb/s", "F0 in the burst", "F1 in the burst", "oscillation of F0, %",
           "short flows, mean µs", "deviation, µs", "longest, µs", "PFC, ms", "F0 done, ms", "F1 done, ms")
    for row in _of(figures, "small"):
        if not row["f0_gbps"]:
            continue  # another buffer
        yield (row["control"], f"{row['f0_before']:.1f}", f"{row['f0_burst']:.1f}", f"{row['f1_burst']:.1f}",
               f"{100 * row['oscillation']:.1f}", f"{row['short_mean_us']:.1f}", f"{row['short_std_us']:.1f}",
               f"{row['short_max_us']:.1f}", f"{row['pause_ms']:.3f}", f"{row['f0_ms']:.2f}", f"{row['f1_ms']:.2f}")


def buffers(figures: _Figures) -> Iterator[Row]:
    """Time that ports were paused, by buffer."""
    rows = _of(figures, "small")
    sizes = sorted({row["buffer_mb"] for row in rows})
    yield "algorithm", *(f"{size} MB" for size in sizes)
    for control in dict.fromkeys(row["control"] for row in rows):
        found = {row["buffer_mb"]: row["pause_ms"] for row in rows if row["control"] == control}
        yield control, *(f"{found[size]:.3f}" if size in found else "" for size in sizes)


def metric(figures: _Figures) -> Iterator[Row]:
    """The paper's measure, a line a run with background."""
    rows = _of(figures, "metric")
    is_large = any("load" in row for row in rows)
    yield (*(("uplinks, Gb/s", "load") if is_large else ("flows drawn with seed",)), "algorithm", "S_L", "S_S", "S_A",
           "W", "S, equal weights", "S, long first", "S, all-reduce first")
    for row in rows:
        where = (str(row["uplink_gbps"]), f"{row['load']:.0%}") if is_large else (str(row["seed"]),)
        yield (*where, row["control"], f"{row['s_l']:.3f}", f"{row['s_s']:.3f}", f"{row['s_a']:.3f}", f"{row['w']:.3f}",
               f"{row['s_1']:.3f}", f"{row['s_2']:.3f}", f"{row['s_3']:.3f}")


def kinds(figures: _Figures) -> Iterator[Row]:
    """Parts of the measure: flows under test alone and with background."""
    rows = _of(figures, "run")
    is_large = any("load" in row for row in rows)
    yield (*(("uplinks, Gb/s", "load") if is_large else ("seed",)), "algorithm", "run", "long, Gb/s", "short, µs",
           "all-reduce, µs", "PFC, ms", "flows", "CPU s")
    for row in rows:
        kinds_of = row["by_kind"]
        where = (str(row["uplink_gbps"]), f"{row['load']:.0%}") if is_large else (str(row["seed"]),)
        yield (*where, row["control"], row["run"], f"{kinds_of['long']['gbps']:.2f}",
               f"{kinds_of['short']['fct_us']:.1f}",
               f"{kinds_of['all-reduce']['fct_us']:.1f}", f"{row['pause_ms']:.3f}", f"{row['flows']:,}",
               f"{row['cpu_seconds']:.1f}")


def collectives(figures: _Figures) -> Iterator[Row]:
    """Collectives alone and under background."""
    yield "collective", "algorithm", "control", "ranks", "bytes", "messages", "alone, µs", "loaded, µs", "times"
    for row in _of(figures, "collective"):
        yield (row["collective"], row["algorithm"], row["control"], row["ranks"], f"{row['bytes']:,}",
               f"{row['messages']:,}", f"{row['alone_us']:,.1f}", f"{row['loaded_us']:,.1f}", f"{row['slowdown']:.2f}")


def speed(figures: _Figures) -> Iterator[Row]:
    """Packets and events a second."""
    yield "network", "algorithm", "packets", "packets a CPU second", "events a CPU second"
    for row in figures["rows"]:
        yield (row["network"], row["control"], f"{row['packets']:,}", f"{row['packets_a_cpu_second']:,}",
               f"{row['events_a_cpu_second']:,}")
