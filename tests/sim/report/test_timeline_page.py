"""The page of a timeline holds every span, stays of one size whatever the run, and opens in a browser."""

import json
import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.report.activity import Activity
from sim.report.timeline_page import timeline_page, unpacked

Span = tuple[int, str, int, int, str, str]


def drawn(count: int, *, seed: int = 1, nodes: int = 32) -> list[Activity]:
    """Random spans and instants, some within others, some that overlap, for so many nodes."""
    rng, found = random.Random(seed), []
    for number in range(count):
        lane = rng.choice(("host", "unit 0", "unit 1", "tx", "rx"))
        begin = 5_000 + 3 * number + rng.randint(0, 20)
        end = begin + (rng.randint(1, 400) if lane != "host" else 0)
        found.append(Activity(
            node=rng.randrange(nodes), lane=lane, track=rng.randrange(2) * lane.startswith("unit"), begin=begin,
            end=end,
            name=rng.choice(("descriptor", "pulse", "data <packet>")), detail=f"job {number % 7} & \"{number}\"",
        ))
    return found


def spans_of(page: str) -> list[Span]:
    """Spans of a page, read as its script does: node, row, begin, length, name, detail of every span."""
    data = json.loads(re.search(r"^const DATA = (.*);$", page, re.M)[1])
    packed = json.loads(re.search(r"^const PACKED = (.*);$", page, re.M)[1])
    columns = {name: np.frombuffer(unpacked(packed[name]), "<i4") for name in ("begin", "length", "kind", "detail")}
    texts = unpacked(packed["texts"]).decode().split("\n")
    found: list[Span] = []
    place = 0
    for node, name, _depth, count in data["lanes"]:
        part = {key: column[place:place + count] for key, column in columns.items()}
        place += count
        begins, details = data["first"] + np.cumsum(part["begin"]), np.cumsum(part["detail"])
        ends = begins + part["length"]
        assert (begins[1:] >= ends[:-1]).all(), "bars of a row overlap"
        for begin, length, kind, detail in zip(begins, part["length"], part["kind"], details, strict=True):
            found.append((node, name, int(begin), int(length), data["names"][kind], texts[detail]))
    assert place == len(columns["begin"])
    assert len(data["colours"]) == len(data["names"])
    return found


def wanted(activity: Activity) -> tuple[Any, ...]:
    return activity.node, activity.begin, activity.end - activity.begin, activity.name, activity.detail


def test_every_span_is_there() -> None:
    activities = drawn(3_000)
    page = timeline_page(activities, title="<a run>")
    found = spans_of(page)
    assert Counter((node, begin, length, name, detail) for node, _, begin, length, name, detail in found) == \
        Counter(map(wanted, activities))
    assert {name.split(",")[0] for _, name, *_ in found} == \
        {"host", "tx", "rx", *(f"unit {unit} context {context}" for unit in (0, 1) for context in (0, 1))}
    assert "<title>conic: &lt;a run&gt;</title>" in page
    assert page == timeline_page(activities, title="<a run>")


def test_a_run_without_events() -> None:
    assert spans_of(timeline_page([], title="nothing")) == []


@pytest.mark.parametrize("most", [1, 500, 2_500])
def test_a_page_stays_of_one_size(most: int) -> None:
    """Neighbours become one, and cover what they covered; what stays alone keeps its name and detail."""
    activities = drawn(5_000, nodes=3)
    page = timeline_page(activities, title="many", most=most)
    found = spans_of(page)
    rows = {(node, name) for node, name, *_ in found}
    assert len(found) <= max(most, 6 * len(rows))
    assert re.search(r"those at most [\d,]+\ncycles apart are drawn as one", page)
    for each in activities:
        assert any(
            node == each.node and name.split(",")[0].startswith(each.lane) and begin <= each.begin
            and each.end <= begin + length for node, name, begin, length, *_ in found
        )
    known = Counter(map(wanted, activities))
    assert all(known[node, begin, length, name, detail] for node, _, begin, length, name, detail in found if detail)
    if most == 2_500:
        assert {name for *_, name, _ in found} > {"several"}


@pytest.mark.long
def test_a_million_spans_open_in_a_browser(tmp_path: Path) -> None:
    """The browser's own script reads all of them and draws."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no browser here")
    page = tmp_path / "t.html"
    page.write_text(timeline_page(drawn(1_000_000), title="many"))
    assert page.stat().st_size < 40e6
    outcome = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1600,1000",
         "--virtual-time-budget=60000", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )
    opened = re.search(r'data-opened="(\d+) spans in (\d+) rows, \d+ ms; (\d+) bars', outcome.stdout)
    assert opened is not None
    assert int(opened[1]) == 1_000_000
    assert int(opened[3]) > 1_000
