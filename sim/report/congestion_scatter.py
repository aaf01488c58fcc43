"""Sources and destinations of a workload, as the paper draws them (figure 7)."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from sim.congestion.flows import Flow
from sim.congestion.traffic import BACKGROUND

mpl.rcParams["svg.hashsalt"] = "conic"


def write_scatter(flows: Sequence[Flow], path: Path) -> None:
    """A dot a flow under test, a triangle a flow of background."""
    figure = Figure(figsize=(7, 6.5), layout="constrained")
    axes = figure.subplots()
    for name, mark, is_background in (("background", "^", True), ("under test", "o", False)):
        points = {(flow.source, flow.destination) for flow in flows if (flow.kind in BACKGROUND) == is_background}
        if points:
            sources, destinations = zip(*sorted(points), strict=True)
            axes.scatter(sources, destinations, s=4, marker=mark, linewidths=0, label=name)
    axes.set(xlabel="source", ylabel="destination")
    axes.legend(fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})
