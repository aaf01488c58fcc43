"""Plots of the study of multicast tables, each the counterpart of a figure of the paper."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Row = dict[str, Any]
mpl.rcParams["svg.hashsalt"] = "conic"  # so that the same rows give the same file


@dataclass(frozen=True)
class Plot:
    """A drawing and what it shows."""

    title: str
    svg: str


def plots(rows: list[Row]) -> list[Plot]:
    """The drawings that the rows have figures for."""
    return [plot for plot in _all(rows) if plot is not None]


def _all(rows: list[Row]) -> Iterator[Plot | None]:
    cases = [row for row in rows if row["kind"] == "case"]
    whole = [row for row in cases if row["mft_size"] is None]
    sized = [row for row in cases if row["mft_size"] is not None]
    paper, best = _of(whole, "mr4lms"), _of(whole, "best")
    yield _bars("Groups, and colours that they need (figure 6)", "number", [
        ("groups", paper, _value("groups")), ("colours, paper", paper, _value("colours")),
        ("colours, best", best, _value("colours"))])
    yield _bars("Maximum EFI (figure 7)", "max EFI", [
        (way, _of(whole, way), _value("max_efi")) for way in ("minihop", "sssp", "mr4lms", "best")])
    yield _sweep([row for row in rows if row["kind"] == "sweep"])
    yield _bars("Maximum EFI at the recommended size (figure 9)", "max EFI", [
        ("unlimited, paper", paper, _value("max_efi")), ("recommended, paper", _of(sized, "mr4lms"), _value("max_efi")),
        ("recommended, best", _of(sized, "best"), _value("max_efi"))])
    yield _bars("Maximum TFI at the recommended size (figure 10)", "max TFI", [
        (way, _of(sized, way), _value("max_tfi")) for way in ("mr4lms", "best")])
    for row in (row for row in rows if row["kind"] == "colours"):
        yield _colours(row)
    yield _bars("Time (figure 12)", "processor seconds", [
        ("unlimited, paper", paper, _value("cpu_seconds")),
        ("recommended, paper", _of(sized, "mr4lms"), _value("cpu_seconds")),
        ("unlimited, best", best, _value("cpu_seconds"))])


def _of(rows: list[Row], way: str) -> list[Row]:
    return [row for row in rows if row["way"] == way]


def _value(name: str) -> Callable[[Row], float]:
    return lambda row: float(row[name])


def _bars(title: str, axis: str, series: list[tuple[str, list[Row], Callable[[Row], float]]]) -> Plot | None:
    """A panel a network, a cluster of bars a pattern."""
    networks = list(dict.fromkeys(row["network"] for _, rows, _ in series for row in rows))
    if not networks:
        return None
    n_columns = min(3, len(networks))
    figure = Figure(figsize=(11, 3.2 * -(-len(networks) // n_columns)), layout="constrained")
    panels = figure.subplots(-(-len(networks) // n_columns), n_columns, squeeze=False)
    for panel, network in zip(panels.flat, networks, strict=False):
        for place, (name, rows, value) in enumerate(series):
            mine = [row for row in rows if row["network"] == network]
            where = np.arange(len(mine)) + (place - (len(series) - 1) / 2) * 0.8 / len(series)
            panel.bar(where, [value(row) for row in mine], 0.8 / len(series), label=name)
        labels = [row["label"] for row in series[0][1] if row["network"] == network]
        panel.set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=7)
        panel.set(title=network, yscale="log")
    for panel in panels.flat[len(networks):]:
        panel.set_axis_off()
    panels[0][0].set_ylabel(axis)
    panels[0][0].legend(fontsize=7)
    return Plot(title, _svg(figure))


def _sweep(rows: list[Row]) -> Plot | None:
    networks = list(dict.fromkeys(row["network"] for row in rows))
    if not networks:
        return None
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    panels: Any = figure.subplots(1, len(networks), squeeze=False)[0]
    for panel, network in zip(panels, networks, strict=True):
        mine = [row for row in rows if row["network"] == network]
        for way in ("mr4lms", "best"):
            points = sorted((row["mft_size"], row["max_efi"]) for row in mine if row["way"] == way and row["mft_size"])
            panel.plot(*zip(*points, strict=True), marker="o", label=way)
        for row in (row for row in mine if row["mft_size"] is None):
            panel.axhline(row["max_efi"], linestyle=":", color="grey", label=f"unlimited: {row['colours']} colours")
        panel.set(title=f"{network} {mine[0]['pattern']}", xlabel="table entries", ylabel="max EFI", yscale="log")
        panel.legend(fontsize=7)
    return Plot("Maximum EFI against the size of the table (figure 8)", _svg(figure))


def _colours(row: Row) -> Plot:
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    panel: Axes = figure.subplots()
    number, trees, groups = (np.array(column) for column in zip(*row["colours"], strict=True))
    panel.bar(number, groups, 1.0, label="groups")
    panel.bar(number, trees, 1.0, label="trees")
    panel.set(xlabel="colour", title=f"{row['network']} {row['pattern']}, {row['mft_size']} colours")
    panel.legend(fontsize=7)
    return Plot("Trees and groups of every colour (figure 11)", _svg(figure))


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg"):]
