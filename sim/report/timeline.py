"""Timelines as a figure: a row for every part of every node, time to the right."""

from collections.abc import Container, Iterable

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sim.report.activity import Activity, lane_order
from sim.report.colours import PALE, colours_of
from sim.report.drawing import svg, thousands

_ROW_INCHES = 0.2
_FRAME_INCHES = 1.4
"""Legend, axis and margins."""


def timeline_svg(activities: Iterable[Activity], *, without: Container[str] = ()) -> str:
    """The figure as an SVG element to stand in a page.

    Parameters
    ----------
    activities : iterable of Activity
        What happened. An instant is a marker, everything else a bar; what goes on side by side in one lane is drawn
        translucent in one row.
    without : container of str
        Names of the activities to leave out.
    """
    shown = [activity for activity in activities if activity.name not in without]
    first = min((activity.begin for activity in shown), default=0)
    places = {(activity.node, activity.lane) for activity in shown}
    rows = {place: row for row, place in enumerate(sorted(places, key=lambda place: (place[0], lane_order(place[1]))))}
    kinds = colours_of(sorted({activity.name for activity in shown}))

    figure = Figure(figsize=(11, _FRAME_INCHES + _ROW_INCHES * len(rows)), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    for (node, lane), row in rows.items():
        here = [activity for activity in shown if (activity.node, activity.lane) == (node, lane)]
        for name in sorted({activity.name for activity in here}):
            spans = [(a.begin - first, a.end - a.begin) for a in here if a.name == name and a.end > a.begin]
            instants = [a.begin - first for a in here if a.name == name and a.end == a.begin]
            axes.broken_barh(spans, (row - 0.4, 0.8), color=kinds[name], linewidth=0, alpha=0.7)
            axes.plot(instants, [row] * len(instants), "|", color=kinds[name], markersize=9, markeredgewidth=1.6)
    for (node, _), row in rows.items():
        if row and (node, row - 1) not in {(other, place) for (other, _), place in rows.items()}:
            axes.axhline(row - 0.5, color=PALE, linewidth=0.8)

    axes.set_yticks(list(rows.values()), [f"{node}  {lane}" for node, lane in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("cycles since the first event")
    axes.set_xlim(left=0)
    thousands(axes.xaxis)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    instants_only = {name for name in kinds if all(a.begin == a.end for a in shown if a.name == name)}
    figure.legend(
        handles=[
            Line2D([], [], linestyle="", marker="|", markersize=9, markeredgewidth=1.6, color=colour, label=name)
            if name in instants_only else Patch(color=colour, label=name)
            for name, colour in kinds.items()
        ],
        loc="outside upper center", ncols=min(8, max(1, len(kinds))), frameon=False, fontsize=8,
    )
    return svg(figure)
