"""A plugin of pytest that says where the time of a run went: the slowest tests, and wall and CPU time of each folder.

CPU time is user and system time of the test with all programs that it ran, so it does not depend on what else the
machine does. A fixture is charged to the test that wanted it first.
"""

import json
import os
import resource
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from testbench.fast_notes import all_spared
from testbench.toolchain import build_folder

PROPERTY = "cost"
SHOWN = 10


def cpu_seconds() -> tuple[float, float]:
    """User and system time of this process and of its children that ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime for usage in usages), sum(usage.ru_stime for usage in usages)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Adds what this phase of a test cost to its report."""
    wall, user, system = time.perf_counter(), *cpu_seconds()
    before = item.stash.get(_mark, None)
    report = yield
    if before is not None:
        report.user_properties.append((PROPERTY, [wall - before[0], user - before[1], system - before[2]]))
    item.stash[_mark] = (wall, user, system)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Notes when a test begins."""
    item.stash[_mark] = (time.perf_counter(), *cpu_seconds())
    return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints both tables, if there was more than one test."""
    reports = [report for several in terminalreporter.stats.values() for report in several]
    costs = costs_of(reports)
    passed = {report.nodeid for report in reports if getattr(report, "when", "") == "call" and report.passed}
    # Only passed tests are remembered: a failed, hung or skipped test does not show the cost of a pass.
    remember({test: cost for test, cost in costs.items() if test in passed - all_spared()})
    if len(costs) < 2:
        return
    terminalreporter.section(f"slowest {SHOWN} tests, by CPU time")
    terminalreporter.write_line(f"{'wall s':>8} {'CPU s':>8}")
    for test, (wall, user, system) in sorted(costs.items(), key=lambda item: -sum(item[1][1:]))[:SHOWN]:
        terminalreporter.write_line(f"{wall:8.1f} {user + system:8.1f}  {test}")
    terminalreporter.section("time of each folder")
    terminalreporter.write_line(f"{'wall s':>8} {'user s':>8} {'sys s':>8} {'tests':>6}")
    for folder, (count, total) in by_folder(costs).items():
        terminalreporter.write_line("".join(f"{part:8.1f} " for part in total) + f"{count:6}  {folder}")


def costs_of(reports: Iterable[Any]) -> dict[str, list[float]]:
    """Wall, user and system seconds of each test in `reports`."""
    costs: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for report in reports:  # one for each phase of a test
        for name, value in getattr(report, "user_properties", ()):
            if name == PROPERTY:
                costs[report.nodeid] = [one + other for one, other in zip(costs[report.nodeid], value, strict=True)]
    return dict(costs)


def remember(costs: dict[str, list[float]]) -> None:
    """Keeps the wall time of each test that passed, by which :mod:`testbench.fast` knows what fits."""
    path = build_folder() / "test-costs.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(known | {test: wall for test, (wall, _, _) in costs.items()}))
    part.replace(path)


def by_folder(costs: dict[str, list[float]]) -> dict[str, tuple[int, list[float]]]:
    """Number of tests and sum of `costs` of each folder, and of all; the dearest first."""
    sums: dict[str, tuple[int, list[float]]] = {}
    for test, cost in costs.items():
        for folder in (test.partition("::")[0].rpartition("/")[0], "all"):
            count, total = sums.get(folder, (0, [0.0] * 3))
            sums[folder] = (count + 1, [one + other for one, other in zip(total, cost, strict=True)])
    return dict(sorted(sums.items(), key=lambda item: -sum(item[1][1][1:])))


_mark = pytest.StashKey[tuple[float, float, float]]()
