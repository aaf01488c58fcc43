"""Plots of the study of connection memory."""

import io
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.study.mft_plots import Plot

Row = dict[str, Any]
mpl.rcParams["svg.hashsalt"] = "conic"  # so that the same rows give the same file

_COLOURS = {"rc": "C3", "rc-srq": "C1", "xrc": "C0", "xrc-sizes": "C9", "group": "C5", "group-xrc": "C2",
            "group-xrc-sizes": "C8"}


def plots(rows: list[Row]) -> list[Plot]:
    """The drawings that the rows have figures for."""
    found = [_scale(rows), _curve(rows), _table_1(rows), _trade(rows)]
    return [plot for plot in found if plot is not None]


def _scale(rows: list[Row]) -> Plot | None:
    """Memory of a process against processes."""
    found = [row for row in rows if row["kind"] == "scale"]
    if not found:
        return None
    figure, panel = _panel()
    for scheme, choice in dict.fromkeys((row["scheme"], row["choice"]) for row in found):
        points = sorted((row["processes"], row["process_mb"]) for row in found
                        if (row["scheme"], row["choice"]) == (scheme, choice))
        label = scheme if not choice else f"{scheme}, {'best groups' if choice == 'best' else f'groups of {choice}'}"
        panel.plot(*zip(*points, strict=True), color=_COLOURS[scheme], linestyle="--" if choice == "best" else "-",
                   label=label)
    rings = [row["largest_process_mb"] for row in rows if row["kind"] == "rings"]
    if rings:
        panel.axhline(rings[0], color="black", linestyle=":", label="this NIC, the largest rings there are")
    panel.set(xscale="log", yscale="log", xlabel="processes", ylabel="MB a process")
    panel.legend(fontsize=7, ncols=2)
    panel.grid(alpha=0.3)
    return Plot("Memory of a process by the formulas, 4 cores a node", _svg(figure))


def _curve(rows: list[Row]) -> Plot | None:
    """Memory against the group size."""
    found = [row for row in rows if row["kind"] == "curve"]
    if not found:
        return None
    figure, panel = _panel()
    for n_processes, scheme in dict.fromkeys((row["processes"], row["scheme"]) for row in found):
        points = [(row["group_size"], row["process_mb"]) for row in found
                  if (row["processes"], row["scheme"]) == (n_processes, scheme)]
        panel.plot(*zip(*points, strict=True), label=f"{scheme}, {n_processes:,} processes")
        for row in rows:
            if row["kind"] == "best" and (row["processes"], row["scheme"], row["cores"]) == (n_processes, scheme, 4):
                panel.plot(row["group_size"], row["process_mb"], "k.")
    panel.axvline(4096, color="grey", linestyle=":", label="4,096, the paper's")
    panel.set(xscale="log", yscale="log", xlabel="processes of a group", ylabel="MB a process")
    panel.legend(fontsize=7)
    panel.grid(alpha=0.3)
    return Plot("Memory of a process by group size; the best ones dotted", _svg(figure))


def _table_1(rows: list[Row]) -> Plot | None:
    """Printed numbers and formulas of table 1, side by side."""
    found = [row for row in rows if row["kind"] == "printed" and row["place"].startswith("table")
             and row["unit"] == "MB"]
    if not found:
        return None
    figure, panel = _panel()
    where = range(len(found))
    panel.bar([place - 0.2 for place in where], [float(row["printed"]) for row in found], 0.4, label="printed")
    panel.bar([place + 0.2 for place in where], [row["value"] for row in found], 0.4, label="formula")
    panel.set_xticks(list(where), [row["what"] for row in found], rotation=70, ha="right", fontsize=6)
    panel.set(yscale="log", ylabel="MB")
    panel.legend(fontsize=7)
    return Plot("Tables 1 and 2, printed and by formula", _svg(figure))


def _trade(rows: list[Row]) -> Plot | None:
    """Memory against what processes wait, a mark a run."""
    found = [row for row in rows if row["kind"] == "run" and not row["trace"].startswith("schedule")]
    if not found:
        return None
    figure, panel = _panel()
    for name in dict.fromkeys(row["policy"] for row in found):
        mine = [row for row in found if row["policy"] == name]
        panel.scatter([row["critical_ms"] for row in mine], [row["process_mb"] for row in mine], label=name, s=18)
        for row in mine:
            panel.annotate(row["trace"].partition(",")[0], (row["critical_ms"], row["process_mb"]), fontsize=5)
    panel.set(xscale="symlog", yscale="log", xlabel="added latency along the slowest processes, ms",
              ylabel="MB of the largest process")
    panel.legend(fontsize=7)
    panel.grid(alpha=0.3)
    return Plot("Memory against added latency", _svg(figure))


def _panel() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    return figure, figure.subplots()


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg"):]
