"""Plots of the switch at full load."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from sim.bench.switch import REQUIRED


def plot_throughput(report: dict[str, Any], rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws throughput over the depth of the buffers (of a sweep) and over the fan-out, to an SVG or PNG file."""
    figure = Figure(figsize=(9, 7), layout="constrained")
    depth_axis, fanout_axis = figure.subplots(2, 1)
    for number, radix in enumerate(sorted({row["radix"] for row in rows})):
        mine = sorted((row for row in rows if row["radix"] == radix), key=lambda row: row["buffer_flits"])
        depths = [row["buffer_flits"] for row in mine]
        for size, style in (("header", "o-"), ("mtu", "^--")):
            label = f"radix {radix}, {size} packets"
            depth_axis.plot(depths, [row[size] for row in mine], style, color=f"C{number}", label=label)
    depth_axis.axhline(REQUIRED["uniform_throughput"], color="grey", linewidth=0.8)
    depth_axis.set_xscale("log", base=2)
    depth_axis.set_xlabel("flits of a buffer, each channel")
    depth_axis.set_ylabel("uniform, share of line rate")
    trees = report["multicast_throughput"]
    for key, label in (
        ("header", "all send, header packets"), ("mtu", "all send, mtu packets"),
        ("header_one_sender", "one sends, header packets"), ("mtu_one_sender", "one sends, mtu packets"),
    ):
        fanout_axis.plot([row["fanout"] for row in trees], [row[key] for row in trees], "o-", label=label)
    fanout_axis.set_xlabel("fan-out")
    fanout_axis.set_ylabel("multicast, share of line rate")
    for axis in (depth_axis, fanout_axis):
        axis.set_ylim(0, 1.02)
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize="small")
    figure.savefig(path)
