"""Bit diagrams of formats and registers as SVG: what stands where, at a glance.

A row shows 32 bits, the most significant on the left, so that a 64-bit word takes two rows. A field that fills whole
words is drawn as one row for all of them. A register is one row.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from .format import WORD_BITS, Field, Format, reserved
from .register import Register
from .register_page import Page

ROW_BITS = 32
BIT_WIDTH = 30
LABEL_WIDTH = 122
CHARACTER_WIDTH = 6.7
"""Of the 11-pixel monospaced font that the names are set in."""
FLAT_HEIGHT = 30
RULER_HEIGHT = 16


@dataclass(frozen=True)
class _Cell:
    """A field's part in one row: bits `high` down to `low` of the row."""

    field: Field
    high: int
    low: int

    @property
    def width(self) -> int:
        return (self.high - self.low + 1) * BIT_WIDTH

    @property
    def text(self) -> str:
        return "" if self.field.is_reserved else self.field.name

    @property
    def is_upright(self) -> bool:
        """True if the name has to stand on its end."""
        return len(self.text) * CHARACTER_WIDTH + 4 > self.width


@dataclass(frozen=True)
class _Row:
    label: str
    cells: tuple[_Cell, ...]
    first_bit: int | None = None
    """Bit of the word that stands on the right; without it the row is for whole words and has no ruler."""

    @property
    def height(self) -> float:
        upright = [len(cell.text) * CHARACTER_WIDTH + 10 for cell in self.cells if cell.is_upright]
        return max([float(FLAT_HEIGHT), *upright])


def bit_diagram(fmt: Format) -> str:
    """The diagram of `fmt` as the text of an SVG file."""
    return _drawn(fmt.name, _rows(fmt))


def register_diagram(name: str, page: Page) -> str:
    """The diagram of those registers of a page whose bits have names, a row each; `name` is its title."""
    return _drawn(name, (_register_row(register) for register in page if not register.is_number))


def _drawn(title: str, rows: Iterable[_Row]) -> str:
    parts: list[str] = []
    top = 4.0
    for row in rows:
        if row.first_bit is not None:
            for bit in sorted({cell.high for cell in row.cells} | {cell.low for cell in row.cells}):
                number = str(row.first_bit + bit)
                parts.append(_text(_left(bit) + BIT_WIDTH / 2, top + RULER_HEIGHT - 4, number, "ruler"))
        top += RULER_HEIGHT
        middle = top + row.height / 2
        parts.append(_text(LABEL_WIDTH - 10, middle + 4, row.label, "label"))
        for cell in row.cells:
            kind = "reserved" if cell.field.is_reserved else "field"
            left = _left(cell.high)
            size = f'width="{cell.width}" height="{row.height:.1f}"'
            parts.append(f'<rect class="{kind}" x="{left}" y="{top:.1f}" {size}/>')
            centre = left + cell.width / 2
            if cell.is_upright:
                turn = f' transform="rotate(-90 {centre:.1f} {middle:.1f})"'
                parts.append(_text(centre, middle + 4, cell.text, "name", turn))
            elif cell.text:
                parts.append(_text(centre, middle + 4, cell.text, "name"))
        top += row.height
    width, height = LABEL_WIDTH + ROW_BITS * BIT_WIDTH + 4, top + 6
    style = (
        "text{font:11px monospace;fill:#1b1f24}.label{text-anchor:end}.name,.ruler{text-anchor:middle}"
        ".ruler{font-size:9px;fill:#57606a}rect{stroke:#57606a}.field{fill:#ddf4ff}.reserved{fill:#d0d7de}"
    )
    size = f'width="{width}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height:.0f}">'
    return "\n".join([head, f"<title>{escape(title)}</title>", f"<style>{style}</style>",
                      f'<rect x="0" y="0" {size} style="fill:#fff;stroke:none"/>',
                      *parts, "</svg>", ""])


def _rows(fmt: Format) -> Iterator[_Row]:
    cells: dict[int, list[_Cell]] = {}
    for field, offset in fmt.positions():
        if field.width >= WORD_BITS:
            first, last = offset // WORD_BITS, (offset + field.width) // WORD_BITS - 1
            label = f"word {first}" if first == last else f"words {first}-{last}"
            yield from _flush(cells)
            yield _Row(label, (_Cell(field, ROW_BITS - 1, 0),))
            continue
        start, end = offset, offset + field.width
        while start < end:  # a field can cross the middle of a word
            row = start // ROW_BITS
            stop = min(end, (row + 1) * ROW_BITS)
            cells.setdefault(row, []).append(_Cell(field, (stop - 1) % ROW_BITS, start % ROW_BITS))
            start = stop
    yield from _flush(cells)


def _register_row(register: Register) -> _Row:
    fields = list(register.format.fields)
    if register.width < ROW_BITS:
        fields.append(reserved(len(fields), ROW_BITS - register.width))
    cells, low = [], 0
    for field in fields:
        cells.append(_Cell(field, low + field.width - 1, low))
        low += field.width
    return _Row(register.name, tuple(cells), 0)


def _flush(cells: dict[int, list[_Cell]]) -> Iterator[_Row]:
    for row in sorted(cells):
        word, first_bit = divmod(row * ROW_BITS, WORD_BITS)
        yield _Row(f"word {word}", tuple(cells[row]), first_bit)
    cells.clear()


def _left(bit: int) -> int:
    """Left edge of `bit` of a row."""
    return LABEL_WIDTH + (ROW_BITS - 1 - bit % ROW_BITS) * BIT_WIDTH


def _text(x: float, y: float, text: str, kind: str, extra: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{extra}>{escape(text)}</text>'
