"""Chart of the states of offload units, work and causes of waiting: a bar for each unit."""

from collections.abc import Sequence

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from firmware_models.abi.registers import STATE_COUNTERS
from sim.report.colours import COLOURS
from sim.report.drawing import svg, thousands

_STATES = ("working", "packet", "operand", "credit", "output", "trigger", "nothing")
"""States, best first; every unit that works or waits says why."""
_BAR_INCHES, _FRAME_INCHES = 0.22, 1.1


def stalls_svg(stalls: Sequence[dict[str, int]]) -> str:
    """The figure as an SVG element to stand in a page.

    Parameters
    ----------
    stalls : sequence of dict
        Cycles of each unit by what it did or waited for, with `node` and `cou`
        (:class:`sim.collective.CollectiveResult`). Units that had nothing to do at all are left out.
    """
    names = [counter.name for counter in STATE_COUNTERS]
    shown = [unit for unit in stalls if any(unit[name] for name in names if name != "nothing")]
    figure = Figure(figsize=(11, _FRAME_INCHES + _BAR_INCHES * len(shown)), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    left = [0] * len(shown)
    for name in _STATES:
        widths = [unit[name] for unit in shown]
        axes.barh(range(len(shown)), widths, left=left, color=COLOURS[name], label=name)
        left = [before + width for before, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(shown)), [f"{unit['node']}  unit {unit['cou']}" for unit in shown], fontsize=8)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlabel("cycles")
    thousands(axes.xaxis)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="outside upper center", ncols=len(_STATES), frameon=False, fontsize=8)
    return svg(figure)
