"""Curves of a sweep over the load of tag tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.buffer.measure import RESERVE
from sim.report.colours import COLOURS
from sim.report.drawing import log_axis, panel, save, ticks_at
from sim.report.words import number


def plot_curves(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws insertion steps and look-up cycles over the load, both modes, to an SVG or PNG file."""
    figure, (steps, look, full) = panel(3, height=8.5)
    for mode in ("cuckoo", "linear"):
        mine, colour = [row for row in rows if row["mode"] == mode], COLOURS[mode]
        loads = [100 * row["load"] for row in mine]
        for axes, key in ((steps, "insert_steps"), (look, "lookup_cycles")):
            axes.plot(loads, [row[key]["mean"] for row in mine], "o-", color=colour, label=f"{mode}, mean")
            axes.plot(loads, [row[key]["max"] for row in mine], "^--", color=colour, label=f"{mode}, most")
        full.plot(loads, [100 * row["load_peak"] for row in mine], "o-", color=colour, label=f"{mode}, peak")
    for axes, text in ((steps, "reads of an insertion"), (look, "cycles of a look-up"), (full, "occupancy, %")):
        axes.set_ylabel(text)
        axes.axvline(100 * (1 - RESERVE), color="black", linestyle=":", linewidth=0.8,
                     label=f"the paper's reserve of {RESERVE:.0%}")
        ticks_at(axes.xaxis, [100 * row["load"] for row in rows])
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    for axes, key in ((steps, "insert_steps"), (look, "lookup_cycles")):
        log_axis(axes, "y", [value for row in rows for value in (row[key]["mean"], row[key]["max"])])
        axes.set_title(_finding(rows, key), fontsize=10)
    full.set_xlabel("load: keys over entries, %")
    cuckoo, linear = (
        max(row["load_peak"] for row in rows if row["mode"] == mode) for mode in ("cuckoo", "linear")
    )
    full.set_title(f"cuckoo fills up to {cuckoo:.0%} of the entries, linear {linear:.0%}", fontsize=10)
    save(figure, path)


def _finding(rows: Sequence[dict[str, Any]], key: str) -> str:
    """The most that either mode takes, at its highest load."""
    what = {"insert_steps": "An insertion takes at most", "lookup_cycles": "A look-up takes at most"}[key]
    unit = {"insert_steps": "reads", "lookup_cycles": "cycles"}[key]
    most = {mode: max(row[key]["max"] for row in rows if row["mode"] == mode) for mode in ("cuckoo", "linear")}
    return f"{what} {number(most['cuckoo'])} {unit} with cuckoo, {number(most['linear'])} with linear"
