"""Timelines in the Trace Event Format, which chrome://tracing and Perfetto open. One microsecond there is one cycle."""

from collections.abc import Iterable
from typing import Any

from sim.report.activity import Activity


def chrome_trace(activities: Iterable[Activity]) -> dict[str, Any]:
    """The trace as one JSON object: a process per node, a thread per lane and track.

    Examples
    --------
    >>> trace = chrome_trace([Activity(node=1, lane="tx", begin=5, end=9, name="packet")])
    >>> trace["traceEvents"][-1]
    {'name': 'packet', 'pid': 1, 'tid': 0, 'ts': 5, 'args': {'detail': ''}, 'ph': 'X', 'dur': 4}
    """
    ordered = sorted(activities, key=lambda activity: (activity.begin, -activity.end, activity))
    events: list[dict[str, Any]] = []
    threads: dict[tuple[int, str, int], int] = {}
    for place in sorted({(activity.node, activity.lane, activity.track) for activity in ordered}):
        node, lane, track = place
        if node not in {known[0] for known in threads}:
            events.append({"name": "process_name", "ph": "M", "pid": node, "args": {"name": f"node {node}"}})
        threads[place] = sum(known[0] == node for known in threads)
        name = lane if not lane.startswith("unit") else f"{lane} context {track}"
        events.append({"name": "thread_name", "ph": "M", "pid": node, "tid": threads[place], "args": {"name": name}})
    for activity in ordered:
        event: dict[str, Any] = {
            "name": activity.name, "pid": activity.node, "tid": threads[activity.node, activity.lane, activity.track],
            "ts": activity.begin, "args": {"detail": activity.detail},
        }
        if activity.end > activity.begin:
            events.append(event | {"ph": "X", "dur": activity.end - activity.begin})
        else:
            events.append(event | {"ph": "i", "s": "t"})
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"unit": "1 us is one cycle"}}
