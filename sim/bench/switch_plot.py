"""Plots of the switch at full load."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.bench.switch import REQUIRED
from sim.report.colours import FURTHER, GREY
from sim.report.drawing import panel, save, ticks_at
from sim.report.words import span


def plot_throughput(report: dict[str, Any], rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws throughput over the depth of the buffers (of a sweep) and over the fan-out, to an SVG or PNG file."""
    trees = report["multicast_throughput"]
    figure, panels = panel(2 if rows else 1, height=7.6 if rows else 4)
    if rows:
        _depths(panels[0], rows)
    axes = panels[-1]
    for (key, label), colour in zip((
        ("header", "all send, header packets"), ("mtu", "all send, mtu packets"),
        ("header_one_sender", "one sends, header packets"), ("mtu_one_sender", "one sends, mtu packets"),
    ), FURTHER, strict=False):
        axes.plot([row["fanout"] for row in trees], [row[key] for row in trees], "o-", label=label, color=colour)
    axes.set(xlabel="fan-out", ylabel="share of line rate")
    ticks_at(axes.xaxis, [row["fanout"] for row in trees])
    filled = span(100 * row["mtu"] for row in trees)
    axes.set_title(f"Multicast fills {filled}% of the outputs' line rate with packets of the mtu", fontsize=10)
    for axes in panels:
        axes.set_ylim(0, 1.02)
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)


def _depths(axes: Any, rows: Sequence[dict[str, Any]]) -> None:
    required = REQUIRED["uniform_throughput"]
    for radix, colour in zip(sorted({row["radix"] for row in rows}), FURTHER, strict=False):
        mine = sorted((row for row in rows if row["radix"] == radix), key=lambda row: row["buffer_flits"])
        for size, style in (("header", "o-"), ("mtu", "^--")):
            axes.plot([row["buffer_flits"] for row in mine], [row[size] for row in mine], style, color=colour,
                      label=f"radix {radix}, {size} packets")
    axes.axhline(required, color=GREY, linewidth=0.8, label=f"required: {required:.0%}")
    axes.set(xscale="log", xlabel="flits of a buffer, each channel", ylabel="share of line rate")
    ticks_at(axes.xaxis, [row["buffer_flits"] for row in rows])
    enough = [row["buffer_flits"] for row in rows if min(row["header"], row["mtu"]) >= required]
    verdict = f"passes {required:.0%} of the line rate with buffers of {min(enough):,} flits" if enough else \
        f"stays below {required:.0%} of the line rate"
    axes.set_title(f"Uniform traffic {verdict}", fontsize=10)
