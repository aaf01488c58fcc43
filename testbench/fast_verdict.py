"""Output of `make test-fast`: the first failure as soon as it is known, and a verdict at the end."""

import re
import time
from pathlib import Path
from typing import Any

from testbench.bounded import is_foreign
from testbench.fast_notes import read

_shown_names = 12
_wait_for_pass = 8.0
_log_begins = "last lines of the log:"


class Verdict:
    """Reads the notes of a run, and tells them.

    Parameters
    ----------
    notes : Path
        The notes (:mod:`testbench.fast_notes`).
    began : float
        Time (``time.time``) at which everything began.
    """

    def __init__(self, notes: Path, began: float):
        self._notes = notes
        self._offset = 0
        self._began = began
        self._first: str | None = None
        self._has_reported_all = False
        self._known: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self._running: dict[str, float] = {}
        self._collected: dict[str, None] = {}
        self.failed: dict[str, str] = {}
        """The report of each test that failed."""
        self.unfinished: dict[str, str] = {}
        """Why each test that had begun was ended without a result."""
        self.left_out: dict[str, str] = {}
        """Why each test was left out."""
        self.passed: set[str] = set()
        """Tests that passed."""
        self.costs: dict[str, float] = {}
        """Seconds of those that ran for it."""
        self._spared: set[str] = set()

    @property
    def is_running(self) -> bool:
        """True if there is a test that began and did not end."""
        return bool(self._running)

    @property
    def owed(self) -> set[str]:
        """Tests that come first next time."""
        return {*self.failed, *self.unfinished} - {"all tests"}

    def tell_first(self) -> None:
        """Prints the first failure when it is known, and what is known of it later."""
        found, self._offset = read(self._notes, self._offset)
        for one in found:
            self._take(one)
        for test in self._spared & self.costs.keys():
            del self.costs[test]
        # A test may want its bench to fail: then it soon passes.
        reported = self.failed | {test: text for test, text in self._known.items() if self._is_old(test)}
        if self._first is None and reported:
            self._first = next(iter(reported))
            self._print(f"\nfirst failure, after {self._seconds()} s: {self._first}", reported[self._first])
        if self._first in self.failed and not self._has_reported_all:
            self._has_reported_all = True
            if self._first in self._known:
                known = self._known[self._first].splitlines()
                rest = [line for line in _head(self.failed[self._first]) if line not in known]
                self._print(f"\nof the first failure, after {self._seconds()} s:", "\n".join(rest))

    def _is_old(self, test: str) -> bool:
        return time.time() > self._since[test] + _wait_for_pass

    def _take(self, one: dict[str, Any]) -> None:
        kind, test = one["kind"], one.get("test", "")
        match kind:
            case "collected":
                self._collected |= dict.fromkeys(one["tests"])
            case "began":
                self._running[test] = one["time"]
            case "bench failed":
                self._known.setdefault(test, one["text"])
                self._since.setdefault(test, one["time"])
            case "failed":
                self.failed.setdefault(test, one["text"])
            case "passed":
                self.passed.add(test)
                self._known.pop(test, None)
                if self._first == test:
                    self._first = None
                    print(f"{test} passed: it wanted its bench to fail", flush=True)
                self.costs[test] = one["seconds"]
            case "spared":
                self._spared.add(test)
            case "unfinished":
                self.unfinished[test] = one["why"]
            case "left out":
                self.left_out[test] = one["why"]
        if kind == "ended" or kind in ("failed", "passed", "unfinished", "left out"):
            self._running.pop(test, None)

    def tell(self, *, killed: bool) -> bool:
        """Prints the verdict; `killed`: pytest did not end by itself. True if some began, and all of these passed."""
        for test in self._running if killed else ():
            seconds = f"it ran for {time.time() - self._running[test]:.0f} s and was killed"
            # A bench that had failed, but was not done with its waveform.
            if test in self._known:
                self.failed.setdefault(test, f"{self._known[test]}\nno waveform: {seconds}")
            else:
                self.failed.setdefault(test, f"did not end: {seconds}{self._stacks()}")
        for test, text in self.failed.items():
            if "crashed while running" in text:  # it was ended by its last bound
                self.failed[test] = f"did not end, and nothing but its process could be ended{self._stacks()}"
        for test in self._known.keys() - self.failed.keys():
            self.failed[test] = self._known[test]
        self.passed -= self.failed.keys()
        seen = {*self.passed, *self.failed, *self.unfinished, *self.left_out}
        if killed:
            self.left_out |= {test: "no time" for test in self._collected if test not in seen}
        began = self.passed or self.failed or self.unfinished
        if not began and (killed or "no time" in self.left_out.values()):
            self.unfinished["all tests"] = "none had begun" if self._collected else "none was collected"
        is_good = not self.failed and not self.unfinished
        counts = [
            (len(self.failed), "failed"), (len(self.unfinished), "did not end in time"), (len(self.passed), "passed"),
            (len(self.left_out), "left out"),
        ]
        lines = [f"\nverdict after {self._seconds()} s: " + ", ".join(f"{n} {what}" for n, what in counts if n)]
        first = self._first or next(iter(self.failed), None)
        for test in sorted(self.failed, key=lambda one: one != first):
            lines.append(f"{'failed first' if test == first else 'failed'}: {test}")
            head = _head(self.failed[test])
            lines += [f"  {line}" for line in (head if test == first else head[:2])]
        lines += [f"did not end in time: {test}: {why}" for test, why in self.unfinished.items()]
        by_why: dict[str, list[str]] = {}
        for test, why in self.left_out.items():
            by_why.setdefault("too long" if why.startswith("takes") else why, []).append(test)
        for why, tests in by_why.items():
            lines.append(f"left out, {why}: {len(tests)}")
            lines += [
                f"  {test}" + (f": {self.left_out[test]}" if why == "too long" else "") for test in tests[:_shown_names]
            ]
            if len(tests) > _shown_names:
                lines.append(f"  and {len(tests) - _shown_names} more")
        self._print("\n".join(lines))
        return is_good

    def _stacks(self) -> str:
        """Where workers stood that had to be ended."""
        texts = [path.read_text() for path in self._notes.parent.glob(f"{self._notes.name}.*")]
        found = [
            f"\n  {Path(path).name}:{line}, in {function}"
            for text in texts for path, line, function in re.findall(r'File "([^"]+)", line (\d+) in (\S+)', text)
            if not is_foreign(path)
        ]
        return "".join(found[:6])

    def _seconds(self) -> str:
        return f"{time.time() - self._began:.0f}"

    def _print(self, *texts: str) -> None:
        print("\n".join("\n".join(_head(text)) for text in texts), flush=True)


def _head(text: str) -> list[str]:
    """The report of a failure, without the end of a log."""
    return text.partition(_log_begins)[0].rstrip("\n").split("\n")
