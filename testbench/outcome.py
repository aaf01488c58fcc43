"""Outcome of a run of a bench: its tests, those that failed, when and where."""

import json
import linecache
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from testbench.bounded import is_foreign
from testbench.guard import PERIOD_NS

_FROM_OUTSIDE = "from outside"
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Failure:
    """Something that failed."""

    message: str
    test: str = ""
    """The test of the bench; empty if it is not known."""
    time_ns: float | None = None
    """Simulation time at which it failed."""

    def __str__(self) -> str:
        first, _, rest = self.message.partition("\n")
        lines = [f"{self.test}: {first}" if self.test else first]
        if self.time_ns is not None:
            lines.append(f"  at {moment(self.time_ns)}")
        return "\n".join([*lines, *([rest] if rest else [])])


@dataclass(frozen=True)
class Outcome:
    """A run of a bench."""

    tests: int
    """How many were run."""
    failures: list[Failure]
    left_out: list[str]
    """Tests that were not run because of a failure before them."""
    log: str
    report: dict[str, Any]
    seconds: float
    """Wall time of the simulation."""
    killed: bool = False
    """It had to be killed: it did not come back."""
    cut: bool = False
    """It was ended before its own bound, because `make test-fast` is: that tells nothing."""
    waves: Path | None = None
    skipped: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)


def moment(time_ns: float) -> str:
    """A simulation time in words: "1230 ns of simulation, cycle 123"."""
    return f"{time_ns:.0f} ns of simulation, cycle {time_ns / PERIOD_NS:.0f}"


def outcome_of(folder: Path, log: str, *, ended: str, seconds: float, report: dict[str, Any]) -> Outcome:
    """Reads what stands in the folder of a run; `ended`: how the simulator ended if it was not by itself."""
    tests, failed, skipped, left_out, passed = _read_results(folder / "results.xml")
    # An assertion inside of the component ends the simulator, and with it every test that had not run yet.
    early = [Failure(line) for line in simulator_errors(log)]
    if ended:
        early.insert(0, _ended(folder, log, ended))
    if early and failed:
        left_out = [*(one.test for one in failed[1:]), *left_out]
        failed = failed[:1]
    if ended and not failed and not early[0].test:
        left_out = []
    return Outcome(
        tests=tests - len(left_out), failures=early + failed, left_out=left_out, log=log, report=report,
        seconds=seconds, killed=bool(ended) and _hung(folder, ended), skipped=skipped, passed=passed,
    )


def _ended(folder: Path, log: str, ended: str) -> Failure:
    """The failure of a simulator that did not end by itself, with what is known of where it stood."""
    stacks, alive = folder / "stacks.txt", folder / "alive.json"
    if not _hung(folder, ended):
        return Failure(f"the simulator ended early: {ended}")
    known: dict[str, Any] = {}
    if alive.exists():
        try:
            known = json.loads(alive.read_text())
        except ValueError:  # it was killed while it wrote
            known = {}
    running = re.findall(r"running\S* (\S+) \((\d+)/(\d+)\)", log)
    test, at, count = running[-1] if running else ("", "0", "0")
    place = _python_place(stacks.read_text()) if stacks.exists() else ""
    message = "the simulator did not come back from "
    message += f"Python code at {place}" if place else (
        "its own code, or from a call that blocks (a combinational loop? a library?)" + known.get("place", "")
    )
    message += "; it was ended"
    if _FROM_OUTSIDE in ended:
        message += f" {ended}"
    if int(count) > int(at):
        message += f"; {int(count) - int(at)} tests after it were left out"
    # It was alive for the last time when a second was over, when a test began, or when it logged something.
    logged = [float(one) for one in re.findall(r"^ *(\d+\.\d+)ns ", log, re.MULTILINE)]
    time_ns = max([known.get("time_ns") or 0.0, *logged])
    return Failure(message, test=test.rpartition(".")[2], time_ns=time_ns)


def _hung(folder: Path, ended: str) -> bool:
    """True if the last bounds ended it: the watching thread, which writes where everything stands, or the runner."""
    stacks = folder / "stacks.txt"
    return _FROM_OUTSIDE in ended or (stacks.exists() and stacks.stat().st_size > 0)


def _python_place(stacks: str) -> str:
    """The innermost line of a bench in what faulthandler wrote, of the thread that runs the simulator."""
    for path, line, function in re.findall(r'File "([^"]+)", line (\d+) in (\S+)', stacks):
        if not is_foreign(path):
            shown = Path(path).relative_to(_ROOT) if Path(path).is_relative_to(_ROOT) else path
            return f"{shown}:{line}, in {function}: {linecache.getline(path, int(line)).strip()}"
    return ""


def _read_results(path: Path) -> tuple[int, list[Failure], list[str], list[str], list[str]]:
    """Of cocotb's result file: the number of tests, those that failed, were skipped, were left out, and passed."""
    if not path.exists():
        return 0, [], [], [], []
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    failed, skipped, left_out, passed = [], [], [], []
    for case in cases:
        name = str(case.get("name"))
        problems = [*case.findall("failure"), *case.findall("error")]
        if case.find("skipped") is not None:
            skipped.append(name)
        elif not problems:
            passed.append(name)
        for problem in problems:
            if problem.get("type") == "RegressionTerminated":
                left_out.append(name)
                continue
            message = problem.get("message") or problem.get("type") or (problem.text or "").strip() or "failed"
            found = [one.get("value") for one in case.iter("property") if one.get("name") == "sim_time_stop"]
            place = "" if "; it waits at " in message or "; it stands at " in message else _place(problem.text or "")
            failed.append(Failure(message + place, test=name, time_ns=float(found[0]) if found and found[0] else None))
    return len(cases) - len(skipped), failed, skipped, left_out, passed


def simulator_errors(log: str) -> list[str]:
    """Failed assertions and warnings of the simulator itself, which need not end the run."""
    return [line for line in log.splitlines() if re.search(r"%(Error|Warning)\b|(ERROR|WARNING): \S+\.v:\d+", line)]


def _place(trace: str) -> str:
    """Where a test of a bench failed, by its traceback: the innermost line of the testbench, and its source."""
    frames = re.findall(r'File "[^"]*?(testbench/[^"]*)", line (\d+), in (\w+)', trace)
    if not frames:
        return ""
    name, line, function = frames[-1]
    source = linecache.getline(str(_ROOT / name), int(line)).strip()
    return f"\n  at {name}:{line}, in {function}: {source}"
