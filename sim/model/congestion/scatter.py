"""Sources and destinations of a workload, as the paper draws them (figure 7)."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from sim.model.congestion.flows import Flow
from sim.model.congestion.traffic import BACKGROUND
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
            size = min(40, max(4, 3000 / len(points)))  # thousands of small marks, or a few that can be seen
            axes.scatter(sources, destinations, s=size, marker=mark, linewidths=0, label=name, color=COLOURS[name])
            counts[name] = len(points)
    axes.set(xlabel="source", ylabel="destination")
    axes.set_title("Pairs of hosts: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()), fontsize=10)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    save(figure, path, format="svg")
