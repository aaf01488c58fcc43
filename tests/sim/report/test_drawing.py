"""Plots: ticks that are numbers, one colour for one thing, titles that say what was found."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from sim.model.congestion.study import collectives as congestion_collectives
from sim.model.congestion.study import dumbbell as congestion_dumbbell
from sim.model.congestion.study import large as congestion_large
from sim.model.congestion.study import small as congestion_small
from sim.model.connections.study.plots import plots as connections_plots
from sim.report.colours import _THINGS, COLOURS, FURTHER, colours_of
from sim.report.drawing import Plot, log_axis, log_ticks, svg
from sim.report.words import number
from sim.study.mft.plots import plots as mft_plots

ROOT = Path(__file__).resolve().parents[3]
PLOTS: dict[str, Callable[[list[dict[str, Any]]], list[Plot]]] = {
    "routing": mft_plots, "connections": connections_plots, "congestion_small": congestion_small.STUDY.plots,
    "congestion_large": congestion_large.STUDY.plots, "congestion_dumbbell": congestion_dumbbell.STUDY.plots,
    "congestion_collectives": congestion_collectives.STUDY.plots,
}
TICK = re.compile(r"-?[\d,]+(\.\d+)?( M)?")


def texts(drawing: str) -> list[str]:
    """All words of a drawing."""
    return ["".join(e.itertext()) for e in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", PLOTS)
def test_study_plots(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plot of the measured rows: a title with a number in it, ticks without powers of ten."""
    drawn: list[Figure] = []
    savefig = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *args, **kwargs: (drawn.append(self),
                                                                        savefig(self, *args, **kwargs)))
    found = PLOTS[name](json.loads((ROOT / "docs" / "figures" / f"{name}.json").read_text())["rows"])
    assert len(drawn) == len(found) > 0
    ticks = [tick.get_text() for figure in drawn for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)
             for tick in axis.get_ticklabels()]
    assert [tick for tick in ticks if "$" in tick] == []
    for plot in found:
        assert re.search(r"\d", plot.title), plot.title
        assert plot.about
        assert plot.title != plot.about
        words = texts(plot.svg)
        assert [word for word in words if re.search(r"[×$^]|mathdefault|e[+-]\d", word)] == []
        assert sum(bool(TICK.fullmatch(word.replace("\N{MINUS SIGN}", "-"))) for word in words) >= 2


@pytest.mark.parametrize(("low", "high"), [
    (low * 10.0 ** scale, high * low * 10.0 ** scale)
    for low, high, scale in itertools.product((1, 3.7), (1.0, 1.2, 2, 9, 40, 1e3, 1e5, 1e9), (-4, 0, 5))
])
def test_log_ticks(low: float, high: float) -> None:
    """Any range of a logarithmic axis has two to twelve ticks, each a plain number."""
    axes = Figure().subplots()
    log_axis(axes, "y", [low, high, 0])
    bottom, top = axes.get_ylim()
    ticks = [tick for tick in axes.yaxis.get_majorticklocs() if bottom <= tick <= top]
    assert bottom < low <= high < top
    assert 1 <= len(ticks) <= 12
    assert len(ticks) >= 2 or high / low < 2
    assert list(axes.yaxis.get_minorticklocs()) == []
    words = [number(tick) for tick in ticks]
    assert len(set(words)) == len(words)


def test_ticks_of_a_narrow_range() -> None:
    """Where a power of ten is too far away, ticks are 2, 3 and 5."""
    assert log_ticks(2, 6) == [2, 3, 5]


def test_one_colour_for_one_thing() -> None:
    """A name means one colour; what one plot may show together differs."""
    names = Counter(name for things in _THINGS for name in things)
    assert [name for name, count in names.items() if count > 1] == []
    for things in _THINGS:
        together = [colour for name, colour in things.items() if name not in ("trees", "pulse")]
        assert len(set(together)) == len(together), things
    assert len(set(FURTHER)) == len(FURTHER)
    assert colours_of(["descriptor", "fetch"])["fetch"] not in (COLOURS["descriptor"], None)


def test_colours_stand_in_one_place() -> None:
    """No other module of `sim` has a colour of its own but black and white."""
    colour = re.compile(r"""["'](C\d|tab:\w+|(light|dark)?gr[ae]y|#[0-9a-fA-F]{6})["']""")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}" for path in sorted((ROOT / "sim").rglob("*.py"))
        if path.name != "colours.py" for match in colour.finditer(path.read_text())
    ]
    assert found == []


def test_same_figure_same_text() -> None:
    """So that a page changes only if what it shows does."""
    def draw() -> str:
        figure = Figure()
        log_axis(figure.subplots(), "x", [1, 100])
        return svg(figure)

    assert draw() == draw()
