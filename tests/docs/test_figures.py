"""The tables of the README are those of the measured figures, and the figures can be measured again."""

import json
from pathlib import Path

import pytest

from sim.report.figures import measure
from sim.report.readme import filled_in

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"


def test_readme_is_fresh() -> None:
    page = (ROOT / "README.md").read_text()
    assert page == filled_in(page, FIGURES), "README.md is stale: run `make docs`"


def test_missing_mark() -> None:
    with pytest.raises(ValueError, match="must have the marks of 'cluster' once, not 0 times"):
        filled_in("no marks", FIGURES)


def test_nothing_mismatched() -> None:
    assert not any(row["mismatched_bits"] for row in json.loads((FIGURES / "cluster.json").read_text()))


@pytest.mark.long
def test_figures_repeat() -> None:
    assert list(measure()) == json.loads((FIGURES / "cluster.json").read_text()), "run `make bench`"
