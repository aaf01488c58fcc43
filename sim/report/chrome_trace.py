"""Timelines in the Trace Event Format, which chrome://tracing and Perfetto open. One microsecond there is one cycle."""

from collections.abc import Iterable
from typing import Any

from sim.report.activity import Activity


def chrome_trace(activities: Iterable[Activity]) -> dict[str, Any]:
    """The trace as one JSON object: a process per node, a thread per lane.

    Examples
    --------
    >>> trace = chrome_trace([Activity(node=1, lane="tx", begin=5, end=9, name="packet")])
    >>> trace["traceEvents"][-1]
    {'name': 'packet', 'ph': 'X', 'pid': 1, 'tid': 0, 'ts': 5, 'dur': 4}
    """
    ordered = sorted(activities)
    lanes = {lane: number for number, lane in enumerate(sorted({activity.lane for activity in ordered}))}
    events: list[dict[str, Any]] = []
    for node in sorted({activity.node for activity in ordered}):
        events.append({"name": "process_name", "ph": "M", "pid": node, "args": {"name": f"node {node}"}})
        for lane, number in lanes.items():
            events.append({"name": "thread_name", "ph": "M", "pid": node, "tid": number, "args": {"name": lane}})
    for activity in sorted(ordered, key=lambda activity: activity.begin):
        place = {"pid": activity.node, "tid": lanes[activity.lane], "ts": activity.begin}
        if activity.end > activity.begin:
            events.append({"name": activity.name, "ph": "X", **place, "dur": activity.end - activity.begin})
        else:
            events.append({"name": activity.name, "ph": "i", **place, "s": "t"})
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"unit": "1 us is one cycle"}}
