"""The tables of the README are those of the measured figures, and the figures can be measured again."""

import json
from pathlib import Path

import pytest

from sim.page.figures import CASES, measure
from sim.page.pages import filled_in
from sim.page.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"


PAGES = [
    path.relative_to(ROOT)
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("rtl/*/README.md"))]
    if "<!-- table " in path.read_text()
]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_is_fresh(page: Path) -> None:
    text = (ROOT / page).read_text()
    assert text == filled_in(text, FIGURES), f"{page} is stale: run `make docs`"


def test_every_figure_is_shown() -> None:
    pages = "".join((ROOT / page).read_text() for page in PAGES)
    assert [name for name in TABLES if f"<!-- table {name} -->" not in pages] == []


def test_wrong_marks() -> None:
    with pytest.raises(ValueError, match=r"^the table 'fpga' must end with a mark '<!-- /table fpga -->'$"):
        filled_in("<!-- table fpga -->\n", FIGURES)
    with pytest.raises(ValueError, match=r"^a table must be one of boards, .*, not 'wrong'$"):
        filled_in("<!-- table wrong -->\n<!-- /table wrong -->", FIGURES)


@pytest.mark.parametrize("figure", CASES)
def test_nothing_mismatched(figure: str) -> None:
    assert not any(row["mismatched_bits"] for row in json.loads((FIGURES / f"{figure}.json").read_text()))


@pytest.mark.parametrize("figure", [
    "cluster", *(pytest.param(name, marks=pytest.mark.long) for name in ("multicast", "paper", "pool")),
])
def test_figures_repeat(figure: str) -> None:
    assert list(measure(figure)) == json.loads((FIGURES / f"{figure}.json").read_text()), "run `make bench`"
