"""State machines as a run went through them: which states, how long, and from which into which."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import networkx as nx
from amaranth.hdl import Fragment
from amaranth.lib.wiring import Component
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from sim.report.colours import BLUE, ICE, INK
from sim.report.drawing import svg

_COLOUR, _LINE, _TEXT = ICE, BLUE, INK


def state_names(component: Component, machine: str = "fsm") -> tuple[str, ...]:
    """States of a component's machine, in the order of the numbers that stand in its register."""
    encoding = Fragment.get(component, None).generated[machine].encoding
    return tuple(sorted(encoding, key=encoding.__getitem__))


def visits(values: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    """Statistics of a state register: cycles in each state, and how often it went from one into another.

    Examples
    --------
    >>> visits([0, 0, 1, 0], ["IDLE", "WORK"])
    {'cycles': {'IDLE': 3, 'WORK': 1}, 'steps': [['IDLE', 'WORK', 1], ['WORK', 'IDLE', 1]], 'unvisited': []}
    """
    cycles = Counter(values)
    steps = Counter((a, b) for a, b in pairwise(values) if a != b)
    return {
        "cycles": {name: cycles[number] for number, name in enumerate(names) if cycles[number]},
        "steps": [[names[a], names[b], count] for (a, b), count in sorted(steps.items())],
        "unvisited": [name for number, name in enumerate(names) if not cycles[number]],
    }


def states_svg(machine: dict[str, Any]) -> str:
    """The machine as a graph: states with their cycles, steps with their counts; often used steps are thick."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(machine["cycles"])
    # Rare states first: the ways that lead back to where the run waits come last, next to it on the circle.
    graph.add_weighted_edges_from(sorted(machine["steps"], key=lambda step: machine["cycles"][step[1]]))
    # Round the circle in the order in which the run goes on from the state that it spends most cycles in.
    start = max(machine["cycles"], key=machine["cycles"].__getitem__)
    round_trip = list(nx.dfs_preorder_nodes(graph, start))
    round_trip += [name for name in graph if name not in round_trip]
    angles = {name: 2 * math.pi * number / len(round_trip) for number, name in enumerate(round_trip)}
    centres = {name: (math.cos(angle), math.sin(angle)) for name, angle in angles.items()}
    total = sum(machine["cycles"].values())
    figure = Figure(figsize=(8, 6.4), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    for before, after, count in machine["steps"]:
        share = count / max(weight for _, _, weight in machine["steps"])
        axes.add_patch(FancyArrowPatch(
            centres[before], centres[after], connectionstyle="arc3,rad=0.14", arrowstyle="-|>", mutation_scale=13,
            shrinkA=30, shrinkB=30, linewidth=0.7 + 1.8 * share, color=_LINE,
        ))
        (x0, y0), (x1, y1) = centres[before], centres[after]
        # A quadratic arc leans by half of its control point, to the right of its direction.
        x, y = (x0 + x1) / 2 + 0.07 * (y1 - y0), (y0 + y1) / 2 - 0.07 * (x1 - x0)
        axes.text(x, y, f"{count:,}", fontsize=8, color=_LINE, ha="center", va="center",
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    for name, (x, y) in centres.items():
        cycles = machine["cycles"][name]
        axes.text(x, y, f"{name}\n{cycles:,} cycles\n{cycles / total:.1%}", fontsize=9, color=_TEXT, ha="center",
                  va="center", bbox={"boxstyle": "round,pad=0.45", "facecolor": _COLOUR, "edgecolor": _LINE})
    axes.set_xlim(-1.35, 1.35)
    axes.set_ylim(-1.25, 1.25)
    axes.set_axis_off()
    return svg(figure) + "\n"
