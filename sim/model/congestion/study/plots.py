"""Plots of the studies of congestion control."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim.report.colours import COLOURS
from sim.report.drawing import Plot, log_axis, panel, svg, ticks_at
from sim.report.words import number

Row = dict[str, Any]
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


def _ends(values: Mapping[str, float], unit: str) -> tuple[str, str]:
    """The least and the most, in three digits, and what has them: "0.434 ms under hpcc"."""
    least, most = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return tuple(f"{values[name]:.3g}{unit} under {_name(name)}" for name in (least, most))  # type: ignore[return-value]


def _name(control: str) -> str:
    return "no control" if control == "none" else control


def _throughput(rows: list[Row]) -> Plot:
    lines = -(-len(rows) // 2)
    figure, panels = panel(len(rows), height=0.6 + 2.1 * lines, columns=2)
    for axes, row in zip(panels, rows, strict=True):
        for name, style in (("f0_gbps", "-"), ("f1_gbps", "--")):
            rates = np.convolve(row[name], np.ones(_SMOOTHED) / _SMOOTHED, "same")
            flow = name[:2].upper()
            axes.plot(np.arange(len(rates)) * row["bin_us"] / 1e3, rates, style, linewidth=1, label=flow,
                      color=COLOURS[flow])
        axes.set(ylim=(0, 105), xlim=(0, 20), ylabel="Gb/s")
        axes.set_title(row["control"], fontsize=10)
    for axes in panels[-2:]:
        axes.set_xlabel("ms")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2, frameon=False)
    kept = {row["control"]: 100 * row["f0_burst"] / row["f0_before"] for row in rows}
    least, most = _ends(kept, "% of its rate")
    return Plot(f"In the burst F0 has {least}, {most}",
                "Throughput of F0 and F1 over time (figure 2)", svg(figure))


def _distribution(rows: list[Row]) -> Plot:
    figure, (axes,) = panel()
    for row in rows:
        times = np.array(row["short_us"]) / 1e3
        axes.plot(times, np.arange(1, len(times) + 1) / len(times), label=row["control"],
                  color=COLOURS[row["control"]])
    axes.set(xlabel="completion time of short flows, ms", ylabel="share of flows", ylim=(0, 1.02))
    axes.legend(fontsize=8, frameon=False)
    means = {row["control"]: row["short_mean_us"] / 1e3 for row in rows}
    least, most = _ends(means, " ms")
    return Plot(f"Short flows take {least} on average, {most}",
                "Completion times of short flows (figure 3)", svg(figure))


def _pauses(rows: list[Row]) -> Plot:
    figure, (axes,) = panel()
    pauses = {row["control"]: row["pause_ms"] for row in rows}
    bars = axes.bar(list(pauses), list(pauses.values()), color=[COLOURS[control] for control in pauses])
    axes.bar_label(bars, [number(pause) for pause in pauses.values()], fontsize=9, padding=2)
    axes.set(ylabel="time that ports were paused, ms")
    log_axis(axes, "y", pauses.values())
    axes.grid(visible=False, axis="x")
    least, most = _ends(pauses, " ms")
    return Plot(f"Ports pause for {least}, {most}", "PFC time (figure 4)", svg(figure))


def _buffers(rows: list[Row]) -> Plot:
    figure, (axes,) = panel(height=4)
    for control in dict.fromkeys(row["control"] for row in rows):
        points = sorted((row["buffer_mb"], row["pause_ms"]) for row in rows if row["control"] == control)
        axes.plot(*zip(*points, strict=True), "o-", label=control, color=COLOURS[control])
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set(xlabel="buffer of a switch, MB", ylabel="PFC time, ms")
    ticks_at(axes.xaxis, [row["buffer_mb"] for row in rows])
    ticks_at(axes.yaxis, [0, 0.1, 1, 10, 100])
    axes.set_ylim(-0.01, 1.5 * max(row["pause_ms"] for row in rows))
    axes.legend(fontsize=8, frameon=False)
    largest = max(row["buffer_mb"] for row in rows)
    pausing = [_name(row["control"]) for row in rows if row["buffer_mb"] == largest and row["pause_ms"] > 0]
    return Plot(f"With {largest} MB a switch ports still pause under {', '.join(pausing)}" if pausing else
                f"With {largest} MB a switch no port pauses any more",
                "PFC time by buffer of a switch", svg(figure))


def metric_plots(rows: list[Row]) -> list[Plot]:
    """Parts of the measure, and the measure under each of the paper's weights (figures 8 and 10)."""
    found = []
    for label, mine in _groups([row for row in rows if row["kind"] == "metric"]).items():
        parts = {"long flows, S_L": "s_l", "short flows, S_S": "s_s", "all-reduce, S_A": "s_a", "variance, W": "w"}
        sums = {"equal weights": "s_1", "long flows first": "s_2", "all-reduce first": "s_3"}
        for what, columns, key, subject in (
            ("parts of the measure", parts, "s_a", "With background all-reduce flows take"),
            ("the measure S by weights", sums, "s_1", "With equal weights and the variance flows take"),
        ):
            least, most = _ends({row["control"]: row[key] for row in mine}, " times as long")
            found.append(Plot(f"{subject} {least}, {most}", f"Degradation by background, {what}{label}",
                              _bars(mine, columns)))
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
    figure, (axes,) = panel(height=3.2)
    width = 0.8 / len(rows)
    for place, row in enumerate(rows):
        axes.bar(np.arange(len(columns)) + (place - (len(rows) - 1) / 2) * width,
                 [row[column] for column in columns.values()], width, label=row["control"],
                 color=COLOURS[row["control"]])
    axes.set_xticks(np.arange(len(columns)), list(columns))
    axes.set(ylabel="measure; alone it is 1")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.grid(visible=False, axis="x")
    figure.legend(loc="outside upper center", ncols=6, frameon=False)
    return svg(figure)


def scatter_plots(rows: list[Row]) -> list[Plot]:
    """Sources and destinations at each load (figure 7)."""
    chosen = [row for row in rows if row["kind"] == "scatter"]
    if not chosen:
        return []
    figure, panels = panel(len(chosen), height=4.4, columns=len(chosen))
    for axes, row in zip(panels, chosen, strict=True):
        for name, key, mark in (("background", "background", "^"), ("under test", "tested", "o")):
            sources, destinations = zip(*row[key], strict=True)
            axes.scatter(sources, destinations, s=3, marker=mark, color=COLOURS[name], label=name, linewidths=0,
                         rasterized=True)  # thousands of marks
        axes.set(xlabel="source", ylabel="destination")
        axes.set_title(f"load {row['load']:.0%}", fontsize=10)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2, frameon=False, markerscale=3)
    counts = ", ".join(f"{len(row['background']):,} at {row['load']:.0%}" for row in chosen)
    return [Plot(f"Pairs of background flows by load: {counts}; under test {len(chosen[0]['tested']):,}",
                 "Sources and destinations of 200 nodes (figure 7)", svg(figure))]


def collective_plots(rows: list[Row]) -> list[Plot]:
    """How much longer each collective takes with background."""
    chosen = [row for row in rows if row["kind"] == "collective"]
    if not chosen:
        return []
    names = list(dict.fromkeys(f"{row['collective']}\n{row['algorithm']}\n{row['bytes']:,} B" for row in chosen))
    controls = list(dict.fromkeys(row["control"] for row in chosen))
    figure, (axes,) = panel(height=4)
    width = 0.8 / len(controls)
    for place, control in enumerate(controls):
        mine = [row["slowdown"] for row in chosen if row["control"] == control]
        axes.bar(np.arange(len(mine)) + (place - (len(controls) - 1) / 2) * width, mine, width, label=control,
                 color=COLOURS[control])
    axes.set_xticks(np.arange(len(names)), names, fontsize=8)
    axes.set(ylabel="time with background over time alone")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.grid(visible=False, axis="x")
    figure.legend(loc="outside upper center", ncols=6, frameon=False)
    worst = {control: max(row["slowdown"] for row in chosen if row["control"] == control) for control in controls}
    least, most = _ends(worst, " times as long")
    return [Plot(f"With background a collective takes up to {least}, {most}", "Collectives under background",
                 svg(figure))]
