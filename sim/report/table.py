"""A Markdown table of a file of figures."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Row = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that a page shows.

    Parameters
    ----------
    source : str
        Stem of the JSON file that it is made of, from ``docs/figures``.
    words : int
        Columns with words, which come first; those with numbers follow.
    rows : callable
        Yields the heads, then a tuple for each line, all of the same length, from what the file holds.
    """

    source: str
    words: int = 1
    rows: Callable[[Any], Iterator[Row]]

    def lines(self, figures: Any) -> Iterator[str]:
        """The table's lines in Markdown."""
        heads, *rows = self.rows(figures)
        yield _line(heads)
        yield _line("---" if column < self.words else "---:" for column in range(len(heads)))
        yield from map(_line, rows)


def _line(cells: Iterator[object] | Row) -> str:
    return f"| {' | '.join(map(str, cells))} |"
