"""Timelines show every activity, in the figure and in the trace, and are the same text each time."""

import json
import xml.etree.ElementTree as ElementTree

from sim.report.activity import Activity
from sim.report.chrome_trace import chrome_trace
from sim.report.timeline import timeline_svg

ACTIVITIES = [
    Activity(node=0, lane="host", begin=3, end=3, name="doorbell"),
    Activity(node=0, lane="unit 0", begin=40, end=55, name="fire"),
    Activity(node=1, lane="unit 0", begin=70, end=90, name="fire"),
    Activity(node=1, lane="host", begin=99, end=99, name="completion"),
]


def test_chrome_trace() -> None:
    trace = chrome_trace(reversed(ACTIVITIES))
    assert json.loads(json.dumps(trace)) == trace
    events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    assert [(event["ts"], event["name"], event["pid"], event.get("dur")) for event in events] == [
        (3, "doorbell", 0, None), (40, "fire", 0, 15), (70, "fire", 1, 20), (99, "completion", 1, None),
    ]
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert [threads[event["pid"], event["tid"]] for event in events] == [
        "host", "unit 0 context 0", "unit 0 context 0", "host",
    ]
    assert [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"] == ["node 0", "node 1"]


def test_figure() -> None:
    text = timeline_svg(ACTIVITIES)
    assert text == timeline_svg(ACTIVITIES)
    root = ElementTree.fromstring(text)
    words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"0  host", "0  unit 0", "1  host", "1  unit 0"} <= words
    assert {"cycles since the first event", "doorbell", "fire", "completion"} <= words


def test_figure_leaves_out_names() -> None:
    text = timeline_svg(ACTIVITIES, without={"fire"})
    assert "completion" in text
    assert "fire" not in text
