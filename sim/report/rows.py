"""Activities in rows: in each, one thing lies within another or beside it, and no two overlap in part."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from sim.report.activity import Activity, lane_order


@dataclass
class Row:
    """Activities of a place.

    Members
    -------
    node, lane, track : int, str, int
        The place, as of its activities.
    copy : int
        Its number among the rows of the place: there are several if activities overlap in part.
    spans : list of Activity
        By begin; what lies within others after them.
    depths : list of int
        In how many others each lies.
    """

    node: int
    lane: str
    track: int
    copy: int
    spans: list[Activity] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)

    def takes(self, span: Activity) -> bool:
        """Adds a span that begins no earlier than all others, unless it would overlap one of them in part."""
        while self._open and self._open[-1] <= span.begin:
            self._open.pop()
        if self._open and span.end > self._open[-1]:
            return False
        self.spans.append(span)
        self.depths.append(len(self._open))
        if span.end > span.begin:
            self._open.append(span.end)
        return True


def rows(activities: Iterable[Activity]) -> list[Row]:
    """All rows, by node, lane and track.

    Examples
    --------
    >>> times = (0, 9), (2, 4), (5, 12)
    >>> spans = [Activity(node=0, lane="tx", begin=begin, end=end, name="p") for begin, end in times]
    >>> [[(span.begin, depth) for span, depth in zip(row.spans, row.depths)] for row in rows(spans)]
    [[(0, 0), (2, 1)], [(5, 0)]]
    """
    found: dict[tuple[int, str, int], list[Row]] = defaultdict(list)
    for span in sorted(activities, key=lambda each: (each.begin, -each.end)):
        place = (span.node, span.lane, span.track)
        if not any(row.takes(span) for row in found[place]):
            found[place].append(Row(*place, copy=len(found[place])))
            found[place][-1].takes(span)
    places = sorted(found, key=lambda place: (place[0], lane_order(place[1]), place[2]))
    return [row for place in places for row in found[place]]


def row_name(row: Row) -> str:
    """Name of a row, in words.

    Examples
    --------
    >>> row_name(Row(0, "unit 0", 3, 0)), row_name(Row(0, "tx", 0, 1))
    ('unit 0 context 3', 'tx, 2')
    """
    name = f"{row.lane} context {row.track}" if row.lane.startswith("unit") else row.lane
    return f"{name}, {row.copy + 1}" if row.copy else name
