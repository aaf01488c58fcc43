"""The history of a residual as a picture."""

from pathlib import Path

from matplotlib.figure import Figure


def plot_histories(cluster: list[float], mpich: list[list[float]] | None, path: Path) -> None:
    """Draws the norm of the residual over the steps, on the cluster and under MPICH, to an SVG or PNG file."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(cluster, "-", color="tab:blue", label="on the simulated NICs")
    if mpich is not None:
        axes.semilogy(mpich[0], "x", color="tab:orange", markersize=5, label="under MPICH")
    axes.set_xlabel("step")
    axes.set_ylabel("norm of the residual")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)
