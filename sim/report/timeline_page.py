"""A timeline as one HTML page that needs nothing else: zoom from the whole run to a cycle, on a canvas.

The page holds columns of numbers, compressed; a browser unpacks them and draws what is visible, at most one bar for
each pixel of a row, whatever the number of spans. Beyond `MOST_SPANS` neighbours become one, so the file stays of one
size.
"""

import base64
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
import numpy as np
from numpy.typing import NDArray

from sim.report.activity import Activity
from sim.report.colours import GREY, colours_of
from sim.report.rows import row_name, rows

MOST_SPANS = 1_000_000
"""Of a page."""
_SEVERAL = "several"
"""Name of a span that several neighbours have become."""


@dataclass
class _Lane:
    """A row of bars that do not overlap: begins and lengths in cycles, numbers of names and of details."""

    node: int
    name: str
    depth: int
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    kind: NDArray[np.int64]
    detail: NDArray[np.int64]


def timeline_page(activities: Iterable[Activity], *, title: str, most: int = MOST_SPANS) -> str:
    """The page.

    Parameters
    ----------
    activities : iterable of Activity
        What happened.
    title : str
        Of what.
    most : int
        Spans that the page may hold.
    """
    kinds, details = _Numbers(), _Numbers()
    details[""]
    lanes = _lanes(activities, kinds, details)
    count = sum(len(lane.begin) for lane in lanes)
    gap = 0
    while sum(len(lane.begin) for lane in lanes) > max(most, len(lanes)):
        gap = 2 * gap + 1
        lanes = [_merged(lane, gap, kinds[_SEVERAL]) for lane in lanes]
    names = kinds.names()
    used = {number for lane in lanes for number in lane.detail.tolist()} if gap else None
    texts = [text if used is None or number in used else "" for number, text in enumerate(details.names())]
    first = min((int(lane.begin[0]) for lane in lanes), default=0)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.report", "."), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )
    columns: dict[str, list[NDArray[np.int64]]] = {
        # Differences are small, and so compress well.
        "begin": [np.diff(lane.begin, prepend=first) for lane in lanes], "length": [lane.length for lane in lanes],
        "kind": [lane.kind for lane in lanes], "detail": [np.diff(lane.detail, prepend=0) for lane in lanes],
    }
    return environment.get_template("timeline_page.html.j2").render(
        title=title, count=count, gap=gap, nodes=len({lane.node for lane in lanes}),
        data={
            "first": first, "names": names, "colours": [(colours_of(names) | {_SEVERAL: GREY})[name] for name in names],
            "lanes": [[lane.node, lane.name, lane.depth, len(lane.begin)] for lane in lanes],
        },
        packed={
            **{name: _packed(np.concatenate([np.empty(0, np.int64), *parts]).astype("<i4").tobytes())
               for name, parts in columns.items()},
            "texts": _packed("\n".join(texts).encode()),
        },
    )


class _Numbers(dict[str, int]):
    """Numbers of texts, in the order in which they are asked for."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]

    def names(self) -> list[str]:
        """All texts, by number."""
        return list(self)


def _lanes(activities: Iterable[Activity], kinds: _Numbers, details: _Numbers) -> list[_Lane]:
    """Rows by what lies in what: bars of one depth do not overlap."""
    found = []
    for row in rows(activities):
        depths: dict[int, list[Activity]] = defaultdict(list)
        for span, depth in zip(row.spans, row.depths, strict=True):
            depths[depth].append(span)
        found += [
            _Lane(row.node, row_name(row), depth, *_columns(spans, kinds, details))
            for depth, spans in sorted(depths.items())
        ]
    return found


def _columns(spans: Sequence[Activity], kinds: _Numbers, details: _Numbers) -> list[NDArray[np.int64]]:
    parts = [
        (span.begin, span.end - span.begin, kinds[span.name], details[span.detail.replace("\n", " ")]) for span in spans
    ]
    return list(np.array(parts, np.int64).T)


def _merged(lane: _Lane, gap: int, several: int) -> _Lane:
    """The lane with spans as one that are at most `gap` cycles apart; what becomes one has no detail."""
    ends = lane.begin + lane.length
    is_new = np.concatenate([[True], lane.begin[1:] - np.maximum.accumulate(ends)[:-1] > gap])
    heads = np.flatnonzero(is_new)
    lows, highs = (np.asarray(extreme.reduceat(lane.kind, heads)) for extreme in (np.minimum, np.maximum))
    alone = np.diff(np.append(heads, len(is_new))) == 1
    return _Lane(
        lane.node, lane.name, lane.depth, lane.begin[heads],
        np.asarray(np.maximum.reduceat(ends, heads)) - lane.begin[heads],
        np.where(lows == highs, lows, several), np.where(alone, lane.detail[heads], 0),
    )


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()


def unpacked(text: str) -> Any:
    """The bytes that the page holds as `text`."""
    return zlib.decompress(base64.b64decode(text))
