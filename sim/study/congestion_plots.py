"""Plots of the studies of congestion control."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.study.drawing import panel, svg
from sim.study.mft_plots import Plot

Row = dict[str, Any]
_COLOURS = {"none": "C7", "dctcp": "C1", "dcqcn": "C3", "timely": "C4", "hpcc": "C0", "pint": "C2"}
_SMOOTHED = 5
"""Bins that a point of a throughput plot averages."""


def small_plots(rows: list[Row], buffer_mb: int) -> list[Plot]:
    """Throughput of F0 and F1, completion times of short flows, PFC time, PFC time by buffer (figures 2 to 4)."""
    chosen = [row for row in rows if row["kind"] == "small" and row["buffer_mb"] == buffer_mb]
    found = []
    if chosen:
        found += [_throughput(chosen), _distribution(chosen), _pauses(chosen)]
    if len({row["buffer_mb"] for row in rows if row["kind"] == "small"}) > 1:
        found.append(_buffers([row for row in rows if row["kind"] == "small"]))
    return found


def _throughput(rows: list[Row]) -> Plot:
    figure, panels = panel(len(rows), height=2.2 * ((len(rows) + 1) // 2), columns=2)
    for axes, row in zip(panels, rows, strict=False):
        for name, style in (("f0_gbps", "-"), ("f1_gbps", "--")):
            rates = np.convolve(row[name], np.ones(_SMOOTHED) / _SMOOTHED, "same")
            axes.plot(np.arange(len(rates)) * row["bin_us"] / 1e3, rates, style, linewidth=0.9,
                      label=name[:2].upper(), color="C0" if name == "f0_gbps" else "C1")
        axes.set(title=row["control"], ylim=(0, 105), xlim=(0, 20), ylabel="Gb/s")
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    return Plot("Throughput of F0 and F1 over time, ms (figure 2)", svg(figure))


def _distribution(rows: list[Row]) -> Plot:
    figure, (axes,) = panel(1)
    for row in rows:
        times = np.array(row["short_us"]) / 1e3
        axes.plot(times, np.arange(1, len(times) + 1) / len(times), label=row["control"],
                  color=_COLOURS[row["control"]])
    axes.set(xlabel="completion time of short flows, ms", ylabel="share of flows")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    return Plot("Completion times of short flows (figure 3)", svg(figure))


def _pauses(rows: list[Row]) -> Plot:
    figure, (axes,) = panel(1)
    axes.bar([row["control"] for row in rows], [row["pause_ms"] for row in rows],
             color=[_COLOURS[row["control"]] for row in rows])
    axes.set(yscale="log", ylabel="time that ports were paused, ms")
    axes.grid(alpha=0.3, axis="y")
    return Plot("PFC time (figure 4)", svg(figure))


def _buffers(rows: list[Row]) -> Plot:
    figure, (axes,) = panel(1)
    for control in dict.fromkeys(row["control"] for row in rows):
        points = sorted((row["buffer_mb"], row["pause_ms"]) for row in rows if row["control"] == control)
        axes.plot(*zip(*points, strict=True), "o-", label=control, color=_COLOURS[control])
    axes.set(xscale="log", yscale="symlog", xlabel="buffer of a switch, MB", ylabel="PFC time, ms")
    axes.set_yscale("symlog", linthresh=0.01)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    return Plot("PFC time by buffer", svg(figure))


def metric_plots(rows: list[Row]) -> list[Plot]:
    """Parts of the measure, and the measure under each of the paper's weights (figures 8 and 10)."""
    found = []
    for label, mine in _groups([row for row in rows if row["kind"] == "metric"]).items():
        parts = {"S_L": "s_l", "S_S": "s_s", "S_A": "s_a", "W": "w"}
        sums = {"equal": "s_1", "long first": "s_2", "all-reduce first": "s_3"}
        for what, columns in (("parts", parts), ("S by weights", sums)):
            found.append(Plot(f"{what}{label}", _bars(mine, columns)))
    return found


def _groups(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by network and load, in words; those of several seeds by the first one."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if "load" in row:
            label = f", load {row['load']:.0%}, uplinks of {row['uplink_gbps']} Gb/s"
        else:
            label = f", flows of seed {row['seed']}"
        found.setdefault(label, []).append(row)
    return found


def _bars(rows: Sequence[Row], columns: dict[str, str]) -> str:
    figure, (axes,) = panel(1, height=3.2)
    width = 0.8 / len(rows)
    for place, row in enumerate(rows):
        axes.bar(np.arange(len(columns)) + (place - (len(rows) - 1) / 2) * width,
                 [row[column] for column in columns.values()], width, label=row["control"],
                 color=_COLOURS[row["control"]])
    axes.set_xticks(np.arange(len(columns)), list(columns))
    axes.axhline(1, color="black", linewidth=0.6)
    axes.legend(fontsize=8, ncols=6)
    axes.grid(alpha=0.3, axis="y")
    return svg(figure)


def scatter_plots(rows: list[Row]) -> list[Plot]:
    """Sources and destinations at each load (figure 7)."""
    chosen = [row for row in rows if row["kind"] == "scatter"]
    if not chosen:
        return []
    figure, panels = panel(len(chosen), height=4, columns=len(chosen))
    for axes, row in zip(panels, chosen, strict=True):
        for name, mark, colour in (("background", "^", "C1"), ("tested", "o", "C0")):
            sources, destinations = zip(*row[name], strict=True)
            axes.scatter(sources, destinations, s=3, marker=mark, color=colour, label=name, linewidths=0)
        axes.set(title=f"load {row['load']:.0%}", xlabel="source", ylabel="destination")
        axes.legend(fontsize=7)
    return [Plot("Sources and destinations of 200 nodes (figure 7)", svg(figure))]


def collective_plots(rows: list[Row]) -> list[Plot]:
    """How much longer each collective takes with background."""
    chosen = [row for row in rows if row["kind"] == "collective"]
    if not chosen:
        return []
    names = list(dict.fromkeys(f"{row['collective']}\n{row['algorithm']}\n{row['bytes']:,} B" for row in chosen))
    controls = list(dict.fromkeys(row["control"] for row in chosen))
    figure, (axes,) = panel(1)
    width = 0.8 / len(controls)
    for place, control in enumerate(controls):
        mine = [row["slowdown"] for row in chosen if row["control"] == control]
        axes.bar(np.arange(len(mine)) + (place - (len(controls) - 1) / 2) * width, mine, width, label=control,
                 color=_COLOURS[control])
    axes.set_xticks(np.arange(len(names)), names, fontsize=7)
    axes.set(ylabel="time with background over time alone")
    axes.axhline(1, color="black", linewidth=0.6)
    axes.legend(fontsize=8, ncols=6)
    axes.grid(alpha=0.3, axis="y")
    return [Plot("Collectives under background", svg(figure))]
