"""Curves of a sweep over the load of tag tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from sim.buffer.measure import RESERVE


def plot_curves(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws insertion steps and look-up cycles over the load, both modes, to an SVG or PNG file."""
    figure = Figure(figsize=(9, 7), layout="constrained")
    steps_axis, look_axis, full_axis = figure.subplots(3, 1, sharex=True)
    for mode, colour in (("cuckoo", "tab:blue"), ("linear", "tab:orange")):
        mine = [row for row in rows if row["mode"] == mode]
        loads = [row["load"] for row in mine]
        for axis, key in ((steps_axis, "insert_steps"), (look_axis, "lookup_cycles")):
            axis.plot(loads, [row[key]["mean"] for row in mine], "o-", color=colour, label=f"{mode}, mean")
            axis.plot(loads, [row[key]["max"] for row in mine], "^--", color=colour, label=f"{mode}, most")
        full_axis.plot(loads, [row["load_peak"] for row in mine], "o-", color=colour, label=f"{mode}, peak reached")
    for axis, text in (
        (steps_axis, "reads of an insertion"), (look_axis, "cycles of a look-up"), (full_axis, "occupancy"),
    ):
        axis.set_ylabel(text)
        axis.axvline(1 - RESERVE, color="grey", linewidth=0.8, label="reserve of 10%")
        axis.legend(fontsize="small")
        axis.grid(alpha=0.3)
    for axis in (steps_axis, look_axis):
        axis.set_yscale("log")
    full_axis.set_xlabel("load: keys over entries")
    figure.savefig(path)
