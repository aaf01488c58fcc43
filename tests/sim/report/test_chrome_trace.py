"""Traces keep to the Trace Event Format: a checker of its rules, over a real run and over what breaks them.

The rules are those of the format's description ("Trace Event Format", the JSON object form): fields of each phase,
complete events of a thread that nest, flow events that are bound to a slice.
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from firmware_models.config import Config
from sim.cluster.activities import WAITS
from sim.collective import CollectiveRequest, run_collective
from sim.report.activity import Activity
from sim.report.chrome_trace import chrome_trace, write_chrome_trace

FIELDS = {
    "M": {"name", "pid", "args"}, "X": {"name", "pid", "tid", "ts", "dur"}, "i": {"name", "pid", "tid", "ts", "s"},
    "s": {"name", "cat", "pid", "tid", "ts", "id"}, "f": {"name", "cat", "pid", "tid", "ts", "id", "bp"},
}


def broken(trace: dict[str, Any]) -> list[str]:
    """Every rule that a trace breaks."""
    found = [
        f"{event.get('ph')}: lacks {field}" for event in trace["traceEvents"]
        for field in FIELDS.get(event.get("ph"), {"a known phase"}) - event.keys()
    ]
    if found:
        return found
    timed = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    times = [event["ts"] for event in timed]
    if times != sorted(times):
        found.append("events are not in order of time")
    if any(not isinstance(event["ts"], int) or event["ts"] < 0 or event.get("dur", 1) <= 0 for event in timed):
        found.append("a time is none")
    named = {(event["pid"], event.get("tid")) for event in trace["traceEvents"] if event["name"] == "thread_name"}
    slices = defaultdict(list)
    for event in timed:
        if (event["pid"], event["tid"]) not in named:
            found.append("a thread has no name")
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for place, spans in slices.items():
        ends: list[int] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while ends and ends[-1] <= begin:
                ends.pop()
            if ends and end > ends[-1]:
                found.append(f"slices of {place} overlap in part")
            ends.append(end)
    return found + list(broken_flows(timed, slices))


def broken_flows(timed: Iterable[dict[str, Any]], slices: dict[Any, list[tuple[int, int]]]) -> Iterable[str]:
    """Rules of flow events: one start, one end later, each within a slice of its thread."""
    begun: dict[int, int] = {}
    ended: Counter[int] = Counter()
    for event in timed:
        if event["ph"] not in "sf":
            continue
        if not any(begin <= event["ts"] < end for begin, end in slices[event["pid"], event["tid"]]):
            yield "a flow is bound to no slice"
        if event["ph"] == "s":
            if event["id"] in begun:
                yield "a flow begins twice"
            begun[event["id"]] = event["ts"]
        elif event["id"] not in begun:
            yield "a flow ends before it begins"
        else:
            ended[event["id"]] += 1
    if ended != Counter(dict.fromkeys(begun, 1)):
        yield "a flow does not end once"


def span(begin: int, end: int, *, node: int = 0, lane: str = "tx", packet: int = 0) -> Activity:
    return Activity(node=node, lane=lane, begin=begin, end=end, name="data packet", packet=packet)


def test_a_run(small: Config, tmp_path: Path) -> None:
    """Every packet that arrives has an arrow, from another node, and every pulse its waits."""
    result = run_collective(CollectiveRequest(
        collective="allreduce", algorithm="rabenseifner", nodes=4, size=2048, config=small, preset="small",
    ))
    path = tmp_path / "t.json"
    write_chrome_trace(path, result.events)
    trace = json.loads(path.read_text())
    assert trace == chrome_trace(result.events)
    assert broken(trace) == []
    events = trace["traceEvents"]
    sent = {event["id"]: event["pid"] for event in events if event["ph"] == "s"}
    assert len(sent) == sum(each.lane == "rx" for each in result.events) > 20
    assert all(sent[event["id"]] != event["pid"] for event in events if event["ph"] == "f")
    assert {event["name"] for event in events} >= {"descriptor", "pulse", "data packet", "credit packet", *WAITS}


def test_a_packet_that_many_receive() -> None:
    """An arrow to each; a number that comes again is that of the packet which left last."""
    trace = chrome_trace([
        span(0, 5, packet=7), span(9, 12, node=1, lane="rx", packet=7), span(10, 13, node=2, lane="rx", packet=7),
        span(20, 22, packet=7), span(30, 33, node=1, lane="rx", packet=7), span(40, 41, node=1, lane="rx", packet=8),
    ])
    assert broken(trace) == []
    begun = {event["id"]: event["ts"] for event in trace["traceEvents"] if event["ph"] == "s"}
    ended = {event["id"]: (event["pid"], event["ts"]) for event in trace["traceEvents"] if event["ph"] == "f"}
    assert sorted((begun[flow], *ended[flow]) for flow in begun) == [(0, 1, 9), (0, 2, 10), (20, 1, 30)]


def test_what_overlaps_in_part_has_a_thread_of_its_own() -> None:
    rng = random.Random(3)
    spans = [span(begin, begin + rng.randint(0, 30), node=rng.randint(0, 1)) for begin in range(0, 600, 3)]
    trace = chrome_trace(spans)
    assert broken(trace) == []
    assert sum(event["ph"] in "Xi" for event in trace["traceEvents"]) == len(spans)


@pytest.mark.parametrize(("field", "value", "rule"), [
    ("ts", 1000, "events are not in order of time"), ("dur", 0, "a time is none"), ("dur", 500, "overlap in part"),
    ("tid", 9, "a thread has no name"), ("pid", None, "lacks pid"), ("ph", "Q", "a known phase"),
])
def test_what_breaks_a_rule_is_found(field: str, value: Any, rule: str) -> None:
    """The checker is no ornament."""
    trace = chrome_trace([span(0, 50), span(2, 9), span(12, 20)])
    event = next(each for each in trace["traceEvents"] if each.get("ts") == 2)
    event[field] = value
    if value is None:
        del event[field]
    assert any(rule in each for each in broken(trace))
