"""The history of a residual as a picture."""

from pathlib import Path

from matplotlib.figure import Figure

from sim.report.colours import COLOURS
from sim.report.drawing import log_axis, save, tidy
from sim.report.words import number


def plot_histories(cluster: list[float], mpich: list[list[float]] | None, path: Path) -> None:
    """Draws the norm of the residual over the steps, on the cluster and under MPICH, to an SVG or PNG file."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    tidy(axes)
    steps = f"{len(cluster) - 1} steps to a residual of {number(cluster[-1])}"
    here, there = "on the simulated NICs", "under MPICH"
    axes.plot(cluster, "-", color=COLOURS[here], label=here)
    if mpich is not None:
        axes.plot(mpich[0], "x", color=COLOURS[there], markersize=5, label=there)
        steps += f", {'the same' if mpich[0] == cluster else 'other'} numbers under MPICH"
    axes.set(xlabel="step", ylabel="norm of the residual")
    log_axis(axes, "y", cluster)
    axes.set_title(steps, fontsize=10)
    axes.legend(frameon=False)
    save(figure, path)
