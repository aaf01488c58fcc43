"""Columns of matrices: words whose bits are bit `n` of many values.

A switch asks for all its columns what stands in its rows: which inputs want output 3 is a bit of each input's wishes.
Bit by bit a matrix of 64 by 64 takes 4,096 shifts; as a whole, whose halves are exchanged in six steps, some hundred.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sim.cluster.lanes.layout import WORD
from sim.cluster.lanes.netlist import Value

LEAST_ROWS = 8
"""So many bits, and as many columns of the same rows, make a matrix."""
Rows = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """Some bits of a word.

    Members
    -------
    rows : tuple of (int, int, int)
        For each bit its place in the word, and the cell and the word of that cell's output that it is a bit of.
    bit : int
        Which bit of that word.
    """

    rows: Rows
    bit: int

    @property
    def places(self) -> int:
        """A bit for each row's place."""
        return sum(1 << place for place, _, _ in self.rows)


def columns_of(width: Callable[[int], int], part: Value) -> Iterator[Column]:
    """Yields the columns that bits of a word could form; `width` gives the bits of a cell's output."""
    if len(part) < LEAST_ROWS or part[0] >> 16 == part[LEAST_ROWS - 1] >> 16:
        return
    found: dict[int, list[tuple[int, int, int]]] = {}
    for place, net in enumerate(part):
        if net > 1 and width(net >> 16) > 1:
            at = net & 0xFFFF
            found.setdefault(at % WORD, []).append((place, net >> 16, at // WORD))
    for bit, rows in found.items():
        if len(rows) >= LEAST_ROWS and len({row[1:] for row in rows}) == len(rows):
            yield Column(tuple(rows), bit)


def matrices(width: Callable[[int], int], values: Iterator[Value]) -> set[Rows]:
    """The rows of which `values` ask for many columns."""
    asked: dict[Rows, set[int]] = {}
    for value in values:
        for low in range(0, len(value), WORD):
            for column in columns_of(width, value[low:low + WORD]):
                asked.setdefault(column.rows, set()).add(column.bit)
    return {rows for rows, bits in asked.items() if len(bits) >= LEAST_ROWS}


def size_of(width: Callable[[int], int], rows: Rows) -> int:
    """Rows and columns of the least square matrix, 8 to 64, that holds rows and all their bits."""
    most = max(max(place + 1, min(WORD, width(cell) - WORD * index)) for place, cell, index in rows)
    return max(LEAST_ROWS, 1 << (most - 1).bit_length())
