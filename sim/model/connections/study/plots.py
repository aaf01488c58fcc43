"""Plots of the study of connection memory."""

from typing import Any

from sim.report.colours import COLOURS, colours_of
from sim.report.drawing import Plot, log_axis, panel, svg, ticks_at
from sim.report.words import number

Row = dict[str, Any]


def plots(rows: list[Row]) -> list[Plot]:
    """The drawings that the rows have figures for."""
    found = [_scale(rows), _curve(rows), _table_1(rows), _trade(rows)]
    return [plot for plot in found if plot is not None]


def _scale(rows: list[Row]) -> Plot | None:
    """Memory of a process against processes."""
    found = [row for row in rows if row["kind"] == "scale"]
    if not found:
        return None
    figure, (axes,) = panel(height=4.4)
    most = max(row["processes"] for row in found)
    ends = {}
    for scheme, choice in dict.fromkeys((row["scheme"], row["choice"]) for row in found):
        points = sorted((row["processes"], row["process_mb"]) for row in found
                        if (row["scheme"], row["choice"]) == (scheme, choice))
        label = scheme if not choice else f"{scheme}, {'best groups' if choice == 'best' else f'groups of {choice}'}"
        axes.plot(*zip(*points, strict=True), color=COLOURS[scheme], linestyle="--" if choice == "best" else "-",
                  label=label)
        ends[label] = points[-1]
    rings = [row["largest_process_mb"] for row in rows if row["kind"] == "rings"]
    if rings:
        axes.axhline(rings[0], color="black", linestyle=":", label="this NIC, the largest rings there are")
    log_axis(axes, "x", [row["processes"] for row in found])
    log_axis(axes, "y", [*(row["process_mb"] for row in found), *rings[:1]])
    axes.set(xlabel="processes", ylabel="MB a process")
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    low, high = (pick(ends, key=lambda label: ends[label][1]) for pick in (min, max))
    finding = f"{number(most)} processes: {number(ends[high][1])} MB a process under {high}, " \
              f"{number(ends[low][1])} MB under {low}"
    if rings:
        finding += f"; this NIC takes {number(rings[0])} MB whatever their number"
    return Plot(finding, "Memory of a process by the formulas, 4 cores a node", svg(figure))


def _curve(rows: list[Row]) -> Plot | None:
    """Memory against the group size."""
    found = [row for row in rows if row["kind"] == "curve"]
    if not found:
        return None
    figure, (axes,) = panel(height=4.2)
    sizes = sorted({row["processes"] for row in found})
    gains = []
    for n_processes, scheme in dict.fromkeys((row["processes"], row["scheme"]) for row in found):
        points = [(row["group_size"], row["process_mb"]) for row in found
                  if (row["processes"], row["scheme"]) == (n_processes, scheme)]
        axes.plot(*zip(*points, strict=True), label=f"{scheme}, {number(n_processes)} processes",
                  color=COLOURS[scheme], linestyle=("-", "--", ":")[sizes.index(n_processes) % 3])
        for row in rows:
            if row["kind"] == "best" and (row["processes"], row["scheme"], row["cores"]) == (n_processes, scheme, 4):
                axes.plot(row["group_size"], row["process_mb"], "ko", markersize=4)
                gains.append((n_processes, scheme, row["group_size"]))
    axes.axvline(4096, color="black", linestyle=":", linewidth=0.8, label="4,096, the paper's")
    log_axis(axes, "x", [row["group_size"] for row in found])
    log_axis(axes, "y", [row["process_mb"] for row in found])
    axes.set(xlabel="processes of a group", ylabel="MB a process")
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    best = ", ".join(f"{number(size)} of {number(n)} ({scheme})" for n, scheme, size in gains)
    return Plot(f"The best groups are smaller than the paper's 4,096: {best}" if gains and
                all(size < 4096 for *_, size in gains) else f"The best groups: {best}",
                "Memory of a process by the size of groups; the best one of each has a dot", svg(figure))


def _table_1(rows: list[Row]) -> Plot | None:
    """Printed numbers and formulas of table 1, side by side."""
    found = [row for row in rows if row["kind"] == "printed" and row["place"].startswith("table")
             and row["unit"] == "MB"]
    if not found:
        return None
    figure, (axes,) = panel(height=4.8)
    printed, values = [float(row["printed"]) for row in found], [float(row["value"]) for row in found]
    for offset, name, numbers in ((-0.2, "printed", printed), (0.2, "formula", values)):
        axes.bar([place + offset for place in range(len(found))], numbers, 0.4, label=name, color=COLOURS[name])
    axes.set_xticks(range(len(found)), [row["what"] for row in found], rotation=60, ha="right", fontsize=8)
    axes.grid(visible=False, axis="x")
    log_axis(axes, "y", printed + values)
    axes.set(ylabel="MB")
    axes.legend(frameon=False)
    worst = max(abs(value / other - 1) for value, other in zip(values, printed, strict=True))
    return Plot(f"Printed numbers and formulas differ by {100 * worst:.2g}% at most",
                "Tables 1 and 2, as printed and by the formula", svg(figure))


def _trade(rows: list[Row]) -> Plot | None:
    """Memory against what processes wait, a mark a run."""
    found = [row for row in rows if row["kind"] == "run" and not row["trace"].startswith("schedule")]
    if not found:
        return None
    figure, (axes,) = panel(height=4.6)
    policies = colours_of(dict.fromkeys(row["policy"] for row in found))
    marks = dict(zip(dict.fromkeys(row["trace"].partition(",")[0] for row in found), "os^vDP*Xdh<>ph", strict=False))
    for name, colour in policies.items():
        for trace, mark in marks.items():
            mine = [row for row in found if row["policy"] == name and row["trace"].partition(",")[0] == trace]
            axes.scatter([row["critical_ms"] for row in mine], [row["process_mb"] for row in mine], s=30, color=colour,
                         marker=mark, alpha=0.8)
    axes.set(xlabel="added latency along the slowest processes, ms", ylabel="MB of the largest process")
    axes.set_xscale("symlog", linthresh=0.1)
    most = max(row["critical_ms"] for row in found)
    ticks_at(axes.xaxis, [0, *(step for step in (0.1, 1, 10, 100, 1000, 10_000) if step <= 2 * most)])
    log_axis(axes, "y", [row["process_mb"] for row in found])
    handles = [axes.scatter([], [], s=30, color=colour, label=name) for name, colour in policies.items()]
    handles += [axes.scatter([], [], s=30, color="black", marker=mark, label=name) for name, mark in marks.items()]
    axes.legend(handles=handles, fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    waits = {name: max(row["critical_ms"] for row in found if row["policy"] == name) for name in policies}
    least, longest = min(waits, key=waits.__getitem__), max(waits, key=waits.__getitem__)
    return Plot(f"Policy '{least}' waits least, at most {number(waits[least])} ms; '{longest}' up to "
                f"{number(waits[longest])} ms", "Memory and added latency, a mark for each run", svg(figure))
