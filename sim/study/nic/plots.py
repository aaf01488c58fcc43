"""Plots of the studies of the NIC paper's experiments: times and speed-ups as in its figures 5 and 6."""

from typing import Any

from sim.report.colours import BLUE, GREEN, GREY, RUST
from sim.report.drawing import Plot, log_axis, panel, svg
from sim.report.words import span
from sim.study.nic.points import JOBS, Experiment
from sim.study.nic.tables import speed_ups

Row = dict[str, Any]
_OF_JOBS = dict(zip(JOBS, (BLUE, GREEN, RUST), strict=True))


def plots(experiment: Experiment, rows: list[Row]) -> list[Plot]:
    """The drawings that the rows have figures for."""
    found = speed_ups(rows)
    return [_times(experiment, found), _ratios(experiment, found, rows)] if found else []


def _times(experiment: Experiment, found: list[Row]) -> Plot:
    figure, (axes,) = panel(height=4.2)
    for jobs in dict.fromkeys(row["jobs"] for row in found):
        mine = sorted((row for row in found if row["jobs"] == jobs), key=lambda row: row["bytes"])
        for way, style in (("offloaded", "-"), ("host-based", "--")):
            axes.plot([row["bytes"] for row in mine], [row[way] for row in mine], style, marker="o", markersize=3,
                      color=_OF_JOBS[jobs], label=f"{way}, {jobs} jobs")
    log_axis(axes, "x", [row["bytes"] for row in found])
    log_axis(axes, "y", [row[way] for row in found for way in ("offloaded", "host-based")])
    axes.set(xlabel="bytes of a job's message", ylabel="µs")
    axes.legend(fontsize=8, frameon=False)
    return Plot(f"Offloaded: {span(row['offloaded'] for row in found)} µs; by hosts: "
                f"{span(row['host-based'] for row in found)} µs",
                f"Execution time of the {experiment.collective} until all have ended", svg(figure))


def _ratios(experiment: Experiment, found: list[Row], rows: list[Row]) -> Plot:
    figure, (axes,) = panel(height=4.2)
    for jobs in dict.fromkeys(row["jobs"] for row in found):
        mine = sorted((row for row in found if row["jobs"] == jobs), key=lambda row: row["bytes"])
        axes.plot([row["bytes"] for row in mine], [row["speed_up"] for row in mine], marker="o", markersize=3,
                  color=_OF_JOBS[jobs], label=f"{jobs} jobs")
    formula = sorted((row["bytes"], row["estimate"]) for row in rows if row["kind"] == "formula")
    if formula:
        axes.plot(*zip(*formula, strict=True), ":", color=GREY, label="the paper's formula, neighbours, 1 job")
    named = [(point, value) for point, value in experiment.paper.items() if isinstance(point, tuple)]
    axes.plot([point[0] for point, _ in named], [value for _, value in named], "x", color="black",
              label="named by the paper")
    log_axis(axes, "x", [row["bytes"] for row in found])
    axes.set(xlabel="bytes of a job's message", ylabel="host-based over offloaded")
    axes.axhline(1, color=GREY, linewidth=0.6)
    axes.legend(fontsize=8, frameon=False)
    return Plot(f"Offload is {span(row['speed_up'] for row in found)} times as fast as hosts",
                "Speed-up, beside the values that the paper names", svg(figure))
