"""The plugin of pytest behind `make test-fast`: order, what fits, and an end for what does not end by itself.

It is in every worker, and in the process that leads them. What it learns it writes into the notes
(:mod:`testbench.fast_notes`), so that the front can tell it, however pytest ends.
"""

import faulthandler
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Any

import pytest

from testbench.bounded import DEADLINE_VARIABLE, HungError, OutOfTimeError, end_with_parent, is_foreign, on_bench
from testbench.fast_notes import VARIABLE, note

STEPS_VARIABLE, COSTS_VARIABLE = "CONIC_FAST_STEPS", "CONIC_FAST_COSTS"
UNKNOWN_COST = 20.0
"""Seconds that a test is taken to need of which no pass is known."""
LEAST_BOUND = 100.0
"""No test is ended sooner than this, but at the end of the time: it may have to build."""
_FACTOR, _SLACK = 3.0, 60.0
_GRACE = 4.0


class Deadline:
    """The nearest tests first, of these the cheap ones; leaves out what would not end in time, ends what does not.

    Parameters
    ----------
    end : float
        Time (``time.time``) at which all tests are to have ended.
    costs : dict of str to float
        Seconds of the last pass of each test.
    steps : dict of str to int
        How far each test file is from the change.
    owed : set of str
        Tests that did not pass, or did not end, last time: they come first, whatever they cost.
    """

    def __init__(self, end: float, costs: dict[str, float], steps: dict[str, int], owed: frozenset[str] = frozenset()):
        self._end = end
        self._costs = costs
        self._steps = steps
        self._owed = owed
        self._trace: IO[str] | None = None

    def cost(self, test: str) -> float:
        """Seconds that a test is likely to take; what is owed always fits while there is time at all."""
        return 1.0 if test in self._owed else self._costs.get(test, UNKNOWN_COST)

    def bound(self, test: str) -> float:
        """Seconds after which it is taken to hang."""
        return max(LEAST_BOUND, _FACTOR * self._costs.get(test, 0.0))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Puts them in order; it is the same in every worker."""
        items.sort(key=lambda item: (
            item.nodeid not in self._owed, self._steps.get(item.nodeid.partition("::")[0], 99),
            self._costs.get(item.nodeid, UNKNOWN_COST),
        ))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skips a test that is likely to take longer than there is time."""
        left = self._end - time.time()
        if self.cost(item.nodeid) > left:
            usual = self._costs.get(item.nodeid, 0.0)
            note("left out", test=item.nodeid, why=f"takes {usual:.0f} s" if usual > LEAST_BOUND else "no time")
            pytest.skip("left out: no time")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Bounds a test, with what it sets up: by a signal, and by a thread if nothing hears that."""
        now = time.time()
        note("began", test=item.nodeid)
        left = max(0.1, min(self.bound(item.nodeid), self._end - now))

        def ended(_signal: int, frame: FrameType | None) -> None:
            signal.setitimer(signal.ITIMER_REAL, 1.0)  # again, should the test catch it
            self.give_up(item.nodeid, time.time() - now, place_of(frame))

        before = signal.signal(signal.SIGALRM, ended)
        self._arm(left)
        on_bench[:] = [lambda: self._arm(max(0.1, self._end - time.time()))]
        try:
            return (yield)
        finally:
            on_bench.clear()
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            note("ended", test=item.nodeid)

    def _arm(self, seconds: float) -> None:
        if self._trace is None:
            self._trace = Path(f"{os.environ[VARIABLE]}.{os.getpid()}").open("w")  # noqa: SIM115  as long as the process
        signal.setitimer(signal.ITIMER_REAL, seconds)
        faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=self._trace)

    def give_up(self, test: str, seconds: float, place: str = "") -> None:
        """Raises the report of a test that ran for `seconds`, stands at `place`, and is ended."""
        known = self._costs.get(test)
        if seconds >= self.bound(test) - 1 or (known is not None and seconds > _FACTOR * known + _SLACK):
            usual = "no pass of it is known" if known is None else f"its last pass took {known:.0f} s"
            raise HungError(f"did not end within {seconds:.0f} s; {usual}{place}")
        raise OutOfTimeError(f"ended after {seconds:.0f} s, at the end of the time{place}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """A test that is out of time is left out: that is no failure."""
        with _left_out(item):
            return (yield)


class Setup:
    """The same for fixtures; apart, because a class has each hook once."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """A test that is out of time is left out: that is no failure."""
        with _left_out(item):
            return (yield)


def place_of(frame: FrameType | None) -> str:
    """Where a test stands: the innermost line that is neither Python's nor a package's."""
    while frame is not None and is_foreign(frame.f_code.co_filename):
        frame = frame.f_back
    return f"; it stands at {frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}" if frame else ""


@contextmanager
def _left_out(item: pytest.Item) -> Iterator[None]:
    try:
        yield
    except HungError:
        raise
    except OutOfTimeError as error:
        note("unfinished", test=item.nodeid, why=str(error))
        pytest.skip(f"left out: {error}")


class Teller:
    """Notes which tests there are, and how each ended."""

    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """Notes them."""
        note("collected", tests=ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes it."""
        if report.failed:
            note("failed", test=report.nodeid, text=_report_of(report))
        elif report.when == "call" and report.passed:
            note("passed", test=report.nodeid, seconds=report.duration)


def _report_of(report: pytest.TestReport) -> str:
    """Text of a failure: all that a bench says; of another test the place and the exception, without its source."""
    text, crash = str(report.longrepr), getattr(report.longrepr, "reprcrash", None)
    if crash is None or "(CONIC_SEED=" in text.partition("\n")[0]:
        return text
    return f"{crash.message}\n  at {crash.path}:{crash.lineno}"


def pytest_configure(config: pytest.Config) -> None:
    """With a deadline in the environment, this module is a plugin of every worker."""
    if end := os.environ.get(DEADLINE_VARIABLE):
        known = json.loads(Path(os.environ[COSTS_VARIABLE]).read_text())
        steps = json.loads(os.environ.get(STEPS_VARIABLE, "{}"))
        if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
            end_with_parent()
            deadline = Deadline(float(end), known["costs"], steps, frozenset(known["owed"]))
            config.pluginmanager.register(deadline)
            config.pluginmanager.register(Setup())
        # In a worker, which tells at once; and in front of them, which hears of a worker that died.
        config.pluginmanager.register(Teller())
