"""Page of a study: plots, claims and tables, and the same tables on a terminal."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from firmware_models.files import write_text
from sim.report.drawing import Plot
from sim.report.table import Row as Cells
from sim.report.words import words


class PageTable(NamedTuple):
    """A table of a page.

    Members
    -------
    title : str
        What it shows.
    words : int
        Columns with words, which come first; those with numbers follow.
    lines : sequence of tuple
        Heads, then a tuple for each line, all of the same length.
    """

    title: str
    words: int
    lines: Sequence[Cells]


def write_page(
    folder: Path, *, title: str, about: str, plots: Sequence[Plot] = (), claims: Sequence[Mapping[str, Any]] = (),
    tables: Iterable[PageTable] = (),
) -> None:
    """Writes ``index.html`` into `folder`; `about` may hold HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.study.report", "."), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True)
    environment.filters["words"] = words
    text = environment.get_template("page.html.j2").render(
        title=title, about=about, plots=plots, claims=claims, tables=list(tables))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "index.html", text)


def text_tables(tables: Iterable[PageTable]) -> str:
    """The tables as a terminal shows them."""
    out = io.StringIO()
    for title, n_words, lines in tables:
        texts = [[str(cell) for cell in line] for line in lines]
        widths = [max(len(line[place]) for line in texts) for place in range(len(texts[0]))]
        print(f"{title}\n", file=out)
        for line in texts:
            cells = [cell.ljust(width) if place < n_words else cell.rjust(width)
                     for place, (cell, width) in enumerate(zip(line, widths, strict=True))]
            print("  ".join(cells).rstrip(), file=out)
        print(file=out)
    return out.getvalue()
