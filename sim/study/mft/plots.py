"""Plots of the study of multicast tables, each the counterpart of a figure of the paper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.report.colours import COLOURS
from sim.report.drawing import Plot, log_axis, panel, svg, ticks_at
from sim.report.words import number, span

Row = dict[str, Any]
_WORDS = {"mr4lms": "mr4lms, the paper's", "best": "best, the improved one", "minihop": "minihop", "sssp": "sssp"}


@dataclass(frozen=True)
class _Series:
    """Bars of one thing: its colour is that of `thing`, pale where it is what the others are compared with."""

    label: str
    thing: str
    rows: list[Row]
    figure: str
    is_pale: bool = False

    @property
    def values(self) -> dict[tuple[str, str], float]:
        """Values by network and pattern."""
        return {(row["network"], row["label"]): float(row[self.figure]) for row in self.rows}


def plots(rows: list[Row]) -> list[Plot]:
    """The drawings that the rows have figures for."""
    return [plot for plot in _all(rows) if plot is not None]


def _all(rows: list[Row]) -> Iterator[Plot | None]:
    cases = [row for row in rows if row["kind"] == "case"]
    whole = {way: [row for row in cases if row["way"] == way and row["mft_size"] is None] for way in _WORDS}
    sized = {way: [row for row in cases if row["way"] == way and row["mft_size"] is not None] for way in _WORDS}
    groups = _Series("groups", "groups", whole["mr4lms"], "groups")
    colours = [_Series(_WORDS[way], way, whole[way], "colours") for way in ("mr4lms", "best")]
    yield _bars("Groups, and the colours that they need with tables of any size (figure 6)", "number",
                [groups, *colours], lambda: f"mr4lms needs {_times(*colours)} as many colours as best, which serves "
                                            f"{_times(groups, colours[1])} as many groups")
    efi = [_Series(_WORDS[way], way, whole[way], "max_efi") for way in ("minihop", "sssp", "mr4lms", "best")]
    yield _bars("Groups on the fullest link, max EFI, with tables of any size (figure 7)", "max EFI", efi,
                lambda: f"The fullest link carries {_times(efi[0], efi[3])} fewer groups under best than under minihop")
    yield _sweep([row for row in rows if row["kind"] == "sweep"])
    recommended = [
        _Series("mr4lms, tables of any size", "mr4lms", whole["mr4lms"], "max_efi", is_pale=True),
        *(_Series(f"{way}, recommended size", way, sized[way], "max_efi") for way in ("mr4lms", "best")),
    ]
    yield _bars("Groups on the fullest link, max EFI, at the recommended size of tables (figure 9)", "max EFI",
                recommended, lambda: f"At the recommended size mr4lms puts {_times(recommended[1], recommended[2])} as "
                                     "many groups on the fullest link as best")
    tfi = [_Series(_WORDS[way], way, sized[way], "max_tfi") for way in ("mr4lms", "best")]
    yield _bars("Groups that share a tree, max TFI, at the recommended size (figure 10)", "max TFI", tfi,
                lambda: f"At the recommended size mr4lms has {_times(*tfi)} as many groups in its fullest tree as best")
    for row in (row for row in rows if row["kind"] == "colours"):
        yield _colours(row)
    time = [
        _Series("mr4lms, tables of any size", "mr4lms", whole["mr4lms"], "cpu_seconds", is_pale=True),
        _Series("mr4lms, recommended size", "mr4lms", sized["mr4lms"], "cpu_seconds"),
        _Series("best, tables of any size", "best", whole["best"], "cpu_seconds"),
    ]
    yield _bars("Processor time (figure 12)", "seconds", time,
                lambda: f"best takes {_times(time[2], time[0])} as long as mr4lms, "
                        f"at most {number(max(time[2].values.values()))} s")


def _times(much: _Series, little: _Series) -> str:
    """How many times as much the one has as the other, over the cases that both have."""
    pairs = [(value, little.values[case]) for case, value in much.values.items() if little.values.get(case)]
    return f"{span(value / other for value, other in pairs)} times" if pairs else "0 times"


def _bars(about: str, axis: str, series: Sequence[_Series], finding: Any) -> Plot | None:
    """A panel a network, a cluster of bars a pattern."""
    networks = list(dict.fromkeys(row["network"] for one in series for row in one.rows))
    if not networks:
        return None
    columns = min(3, len(networks))
    figure, panels = panel(len(networks), height=0.5 + 2.9 * -(-len(networks) // columns), columns=columns)
    for axes, network in zip(panels, networks, strict=True):
        labels = list(dict.fromkeys(row["label"] for one in series for row in one.rows if row["network"] == network))
        for place, one in enumerate(series):
            found = [(labels.index(label), value) for (where, label), value in one.values.items() if where == network]
            axes.bar([at + (place - (len(series) - 1) / 2) * 0.8 / len(series) for at, _ in found],
                     [value for _, value in found], 0.8 / len(series), label=one.label, color=COLOURS[one.thing],
                     alpha=0.45 if one.is_pale else 1)
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=8)
        axes.set_title(network, fontsize=10)
        log_axis(axes, "y", [value for one in series for (where, _), value in one.values.items() if where == network])
        axes.grid(visible=False, axis="x")
    for axes in panels[::columns]:
        axes.set_ylabel(axis)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(series), frameon=False)
    return Plot(finding(), about, svg(figure))


def _sweep(rows: list[Row]) -> Plot | None:
    networks = list(dict.fromkeys(row["network"] for row in rows))
    if not networks:
        return None
    figure, panels = panel(len(networks), height=3.6, columns=len(networks))
    reached = []
    for axes, network in zip(panels, networks, strict=True):
        mine = [row for row in rows if row["network"] == network]
        for way in ("mr4lms", "best"):
            points = sorted((row["mft_size"], row["max_efi"]) for row in mine if row["way"] == way and row["mft_size"])
            axes.plot(*zip(*points, strict=True), marker="o", label=_WORDS[way], color=COLOURS[way])
            if way == "best":
                reached.append(f"{points[0][1]:,} groups with {points[0][0]} entries, {points[-1][1]:,} with "
                               f"{points[-1][0]} ({network})")
        ticks_at(axes.xaxis, [row["mft_size"] for row in mine if row["mft_size"]])
        for row in (row for row in mine if row["mft_size"] is None):
            axes.axhline(row["max_efi"], linestyle=":", color="black",
                         label=f"mr4lms, {row['colours']} colours: all it wants")
        axes.set(xlabel="entries of a table")
        axes.set_title(f"{network} {mine[0]['pattern']}", fontsize=10)
        log_axis(axes, "y", [row["max_efi"] for row in mine])
        axes.legend(fontsize=8, frameon=False)
    panels[0].set_ylabel("max EFI")
    return Plot(f"Larger tables, emptier links: best has {'; '.join(reached)}",
                "Groups on the fullest link, max EFI, by the size of the table (figure 8)", svg(figure))


def _colours(row: Row) -> Plot:
    figure, (axes,) = panel(height=3.2)
    numbers, trees, groups = (np.array(column) for column in zip(*row["colours"], strict=True))
    axes.bar(numbers, groups, 1.0, label="groups", color=COLOURS["groups"])
    axes.bar(numbers, trees, 1.0, label="trees", color=COLOURS["trees"])
    axes.set(xlabel="colour", ylabel="number")
    axes.legend(fontsize=8, frameon=False)
    where = f"{row['network']} {row['pattern']}"
    return Plot(f"{where}: {len(numbers):,} colours bear {int(trees.min())} to {int(trees.max())} trees and "
                f"{int(groups.min())} to {int(groups.max())} groups each",
                f"Trees and groups of every colour, {row['mft_size']} colours (figure 11)", svg(figure))
