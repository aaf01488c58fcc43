"""Figures of several panels, as SVG text that a page holds; the same rows give the same text."""

import io

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

mpl.rcParams["svg.hashsalt"] = "conic"


def panel(count: int, *, height: float = 3.6, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels in rows of `columns`."""
    figure = Figure(figsize=(11, height), layout="constrained")
    panels = figure.subplots(-(-count // columns), columns, squeeze=False)
    return figure, list(panels.flat)[:count]


def svg(figure: Figure) -> str:
    """The figure as an SVG element."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg"):]
