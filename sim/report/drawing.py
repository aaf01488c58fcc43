"""Plots that people read: ticks that are numbers, one look, a title that says what was found."""

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from firmware_models.files import written
from sim.report.words import number

_LOOK: dict[Any, Any] = {
    "svg.hashsalt": "conic",   # the same rows give the same file
    "svg.fonttype": "none",    # text stays text: it can be searched, and a page of it is a fraction as large
}
_MOST_TICKS = 7


@dataclass(frozen=True)
class Plot:
    """A drawing, what it shows, and what that says.

    Members
    -------
    title : str
        What was found, as a sentence.
    about : str
        What is drawn.
    svg : str
        The drawing.
    """

    title: str
    about: str
    svg: str


def panel(count: int = 1, *, height: float = 3.6, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels in rows of `columns`; `height` is that of the figure in inches."""
    figure = Figure(figsize=(11, height), layout="constrained")
    panels = list(figure.subplots(-(-count // columns), columns, squeeze=False).flat)
    for axes in panels[count:]:
        axes.set_axis_off()
    for axes in panels[:count]:
        tidy(axes)
    return figure, panels[:count]


def tidy(axes: Axes) -> None:
    """Leaves only the lines that carry something: no box, a light grid behind."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)


def svg(figure: Figure) -> str:
    """The figure's <svg> element; the same figure always gives the same text."""
    text = io.StringIO()
    with rc_context(_LOOK):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg"):]


def save(figure: Figure, path: Path, **options: Any) -> None:
    """Writes the figure to an SVG or PNG file."""
    form = options.pop("format", path.suffix.removeprefix("."))
    with rc_context(_LOOK), written(path, "wb") as file:
        figure.savefig(file, format=form, metadata={"Date": None} if form == "svg" else None, **options)


def log_axis(axes: Axes, which: Literal["x", "y"], values: Iterable[float]) -> None:
    """Makes an axis logarithmic over `values` (those above 0), its ticks numbers such as 1, 2, 5, 10 or 1,000."""
    positive = [value for value in values if value > 0]
    low, high = min(positive, default=1), max(positive, default=1)
    # A little room, and a whole step where all values are one.
    room = max((high / low) ** 0.05, 1.15)
    if which == "x":
        axes.set(xscale="log", xlim=(low / room, high * room))
    else:
        axes.set(yscale="log", ylim=(low / room, high * room))
    _plain(axes.xaxis if which == "x" else axes.yaxis, log_ticks(low / room, high * room))


def ticks_at(axis: Axis, values: Iterable[float]) -> None:
    """Puts ticks where the points are, as numbers."""
    _plain(axis, sorted(set(values)))


def thousands(axis: Axis) -> None:
    """Writes the ticks of a linear axis as numbers with thousands apart."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def _plain(axis: Axis, ticks: Sequence[float]) -> None:
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def log_ticks(low: float, high: float) -> list[float]:
    """Numbers that are easy to read on a logarithmic axis from `low` to `high`, at least two of them around or in it.

    Examples
    --------
    >>> log_ticks(3, 9)
    [3.0, 5.0, 7.0]
    >>> log_ticks(1, 200)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    >>> log_ticks(0.5, 2e6)
    [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps, most in (((1, 1.5, 2, 3, 5, 7), _MOST_TICKS), ((1, 2, 5), _MOST_TICKS + 1), ((1,), 2 * _MOST_TICKS)):
        ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
        inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if 2 <= len(inside) <= most:
            return inside
    if high / low < 10:  # between the steps of a decade
        return [float(tick) for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]
    return [10.0 ** decade for decade in decades][:: max(1, len(decades) // _MOST_TICKS)]
