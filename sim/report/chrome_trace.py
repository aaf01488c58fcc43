"""Timelines in the Trace Event Format, which chrome://tracing and Perfetto open. One microsecond there is one cycle."""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from firmware_models.files import written
from sim.report.activity import Activity
from sim.report.rows import Row, row_name, rows

_PART = 10_000
"""Events that are written at once: a trace of millions is never in memory as text."""


def chrome_trace(activities: Iterable[Activity]) -> dict[str, Any]:
    """The trace as one JSON object: a process per node, a thread per row (:mod:`sim.report.rows`), an arrow per packet.

    Examples
    --------
    >>> trace = chrome_trace([Activity(node=1, lane="tx", begin=5, end=9, name="packet")])
    >>> trace["traceEvents"][-1]
    {'name': 'packet', 'pid': 1, 'tid': 0, 'ts': 5, 'args': {'detail': ''}, 'ph': 'X', 'dur': 4}
    """
    return {"traceEvents": list(_events(rows(activities)))} | _BESIDE


def write_chrome_trace(path: Path, activities: Iterable[Activity]) -> None:
    """Writes that object, whole or not at all."""
    beside = json.dumps(_BESIDE)[1:]
    with written(path) as file:
        file.write('{"traceEvents": [')
        part: list[str] = []
        comma = ""
        for event in _events(rows(activities)):
            part.append(json.dumps(event, separators=(",", ":")))
            if len(part) == _PART:
                file.write(comma + ",\n".join(part))
                comma, part = ",\n", []
        file.write((comma if part else "") + ",\n".join(part) + "\n], " + beside + "\n")


_BESIDE = {"displayTimeUnit": "ms", "otherData": {"unit": "1 us is one cycle"}}


def _events(found: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Names of processes and threads, then everything in order of time."""
    threads: dict[int, int] = {}
    counts: dict[int, int] = defaultdict(int)
    for place, row in enumerate(found):
        if not counts[row.node]:
            yield {"name": "process_name", "ph": "M", "pid": row.node, "args": {"name": f"node {row.node}"}}
        threads[place] = counts[row.node]
        counts[row.node] += 1
        where = {"ph": "M", "pid": row.node, "tid": threads[place]}
        yield {"name": "thread_name", **where, "args": {"name": row_name(row)}}
        yield {"name": "thread_sort_index", **where, "args": {"sort_index": threads[place]}}
    spans = [(span, threads[place]) for place, row in enumerate(found) for span in row.spans]
    spans.sort(key=lambda each: (each[0].begin, -each[0].end))
    arrows = _arrows([span for span, _ in spans])
    for number, (span, thread) in enumerate(spans):
        event: dict[str, Any] = {
            "name": span.name, "pid": span.node, "tid": thread, "ts": span.begin, "args": {"detail": span.detail},
        }
        if span.end == span.begin:
            yield event | {"ph": "i", "s": "t"}
            continue
        yield event | {"ph": "X", "dur": span.end - span.begin}
        for arrow, is_end in arrows.get(number, ()):
            yield {
                "name": "packet", "cat": "packet", "ph": "f" if is_end else "s", "id": arrow, "pid": span.node,
                "tid": thread, "ts": span.begin, **({"bp": "e"} if is_end else {}),
            }


def _arrows(spans: Sequence[Activity]) -> dict[int, list[tuple[int, bool]]]:
    """Numbers of the packets that leave in a span, or arrive in it: a packet that several receive is one for each.

    A packet is the one of its number that left last before it came.
    """
    left: dict[int, list[int]] = defaultdict(list)
    for number, span in enumerate(spans):
        if span.packet and span.lane == "tx":
            left[span.packet].append(number)
    found: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    count = 0
    for number, span in enumerate(spans):
        if not span.packet or span.lane != "rx":
            continue
        sent = left.get(span.packet, [])
        place = bisect_right(sent, span.begin, key=lambda each: spans[each].begin)
        if place:
            count += 1
            found[sent[place - 1]].append((count, False))
            found[number].append((count, True))
    return found
