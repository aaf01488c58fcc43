"""Sources and destinations of a workload, as the paper draws them (figure 7)."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from sim.congestion.flows import Flow
from sim.congestion.traffic import BACKGROUND
from sim.report.colours import COLOURS
from sim.report.drawing import save, tidy


def write_scatter(flows: Sequence[Flow], path: Path) -> None:
    """A dot a flow under test, a triangle a flow of background."""
    figure = Figure(figsize=(7, 6.5), layout="constrained")
    axes = figure.subplots()
    tidy(axes)
    counts = {}
    for name, mark, is_background in (("background", "^", True), ("under test", "o", False)):
        points = {(flow.source, flow.destination) for flow in flows if (flow.kind in BACKGROUND) == is_background}
        if points:
            sources, destinations = zip(*sorted(points), strict=True)
            axes.scatter(sources, destinations, s=4, marker=mark, linewidths=0, label=name, color=COLOURS[name])
            counts[name] = len(points)
    axes.set(xlabel="source", ylabel="destination")
    axes.set_title("Pairs of hosts: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()), fontsize=10)
    axes.legend(fontsize=8, markerscale=3)
    save(figure, path, format="svg")
