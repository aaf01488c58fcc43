"""Runs the cocotb tests of a bench on an Amaranth component.

A pytest function calls :func:`run_bench`; the bench, a module with ``@cocotb.test()`` coroutines, runs in the
simulator's process and reads what it was given with :func:`parameters` and :func:`rng`.
"""

import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from testbench import fast_notes, guard
from testbench.bench_report import report
from testbench.bounded import OutOfTimeError, on_bench, run_bounded, seconds_left
from testbench.coverage import Hits, keep, missing
from testbench.design import Design, design_of
from testbench.outcome import Failure, Outcome, moment, outcome_of
from testbench.passed import key_of, last_pass, passes_count, record_pass, record_seconds, usual_seconds
from testbench.seed import drawn
from testbench.simulator import MODEL_FLAGS, BuildError, build, simulator_name, tool_environment
from testbench.toolchain import build_folder

_log_tail_lines = 40
SECONDS = 1800.0
"""Bound of wall time of a bench's simulation where none is given."""
_fast_seconds = (20.0, 45.0)
"""In `make test-fast`, least bound of a bench that is known to pass, and bound of one that is not."""
_look = 25.0
"""Bound of the repetition of what hangs: a waveform that ends sooner shows the same."""
_reserve = 12.0
"""Seconds before the verdict of `make test-fast` at which a simulation has to have ended by itself."""


__all__ = ["BenchError", "BenchResult", "inputs", "parameters", "report", "rng", "run_bench", "seed"]


class BenchError(AssertionError):
    """A bench failed. The message says which tests, with which seed, and where the waveform is."""


@dataclass(frozen=True)
class BenchResult:
    """Result of a run of a bench."""

    seed: int
    tests: int
    report: dict[str, Any] = field(default_factory=dict)
    """Values of :func:`report` in the bench."""
    coverage: Hits = field(default_factory=dict)
    """Bins that it covered (:mod:`testbench.coverage`)."""


def run_bench(
    component: Any, *, bench: str, parameters: Mapping[str, Any] | None = None, seed: int | None = None,
    top: str | None = None, testcase: str | None = None, model_flags: Sequence[str] = MODEL_FLAGS,
    watched: Sequence[str] = (), seconds: float = SECONDS,
) -> BenchResult:
    """Converts `component` to Verilog, simulates it and runs the tests of module `bench` on it.

    A bench ends at its first test that fails (COCOTB_MAX_FAILURES in the environment says another number; 0: it runs
    all). That test is repeated by itself with the same seed and a waveform; if it passes then, with those before it.
    With CONIC_WAVES in the environment every run keeps a waveform.

    Parameters
    ----------
    component : wiring.Component or functools.partial
        The device under test; its ports are those of its signature, with ``clk`` and ``rst``. Or a class or
        function with the arguments that make it: then the Verilog is kept, too (:func:`testbench.design.design_of`).
    bench : str
        Import name of the module with the tests.
    parameters : mapping, optional
        What :func:`parameters` returns inside of the bench; must be representable as JSON.
    seed : int, optional
        Random seed. The environment variable CONIC_SEED overrides it; without either, one is drawn
        (:func:`testbench.seed.drawn`).
    top : str, optional
        Name of the Verilog module; the name of the component's class if not given.
    testcase : str, optional
        Regular expression: only tests whose name matches are run.
    model_flags : sequence of str
        How far the compiler optimises the model (Verilator).
    watched : sequence of str
        Names (patterns) of signals inside of the component that the bench looks at, beside its ports.
    seconds : float
        Bound of the wall time that the simulation takes (:mod:`testbench.guard`); a repetition with a waveform has
        three times that. CONIC_BENCH_SECONDS in the environment overrides it.

    Raises
    ------
    BenchError
        If a test or an assertion inside of the component fails, if the simulator ends early or not in time, if there
        was no test, or if a run of all tests leaves a bin of the bench's coverage empty.
    BuildError
        If the Verilog does not compile without warnings.
    """
    for call in on_bench:
        call()
    if seed is None or "CONIC_SEED" in os.environ:
        seed = drawn(bench)
    else:
        print(f"{bench}: seed {seed} (CONIC_SEED={seed} repeats this run)")
    design = design_of(component, top=top)
    key = ""
    if passes_count():
        key = key_of(design, bench=bench, parameters=parameters or {}, testcase=testcase, tools=simulator_name())
        if known := last_pass(key):
            fast_notes.spared()
            print(f"{bench}: Verilog, bench and parameters are those of its last pass, with seed {known['seed']}")
            return BenchResult(**known)

    environment = {
        "CONIC_PARAMETERS": json.dumps(dict(parameters or {})),
        "CONIC_INPUTS": json.dumps(design.inputs),
        "CONIC_SEED": str(seed),
        "PYTHONHASHSEED": "0",  # sets iterate in the same order in a replay
        # Assertions of benches say the values. Those of all that they import would: compiling it anew takes seconds.
        "COCOTB_REWRITE_ASSERTION_FILES": "testbench/*.py",
    }

    name = f"{bench} {environment['CONIC_PARAMETERS']} {testcase}"
    bound = _bound(seconds, usual_seconds(name))
    attempt = partial(
        _simulate, design, bench=bench, environment=environment, model_flags=model_flags, watched=watched,
    )
    wanted = "CONIC_WAVES" in os.environ  # someone wants to look at a run that passes
    outcome = attempt(testcase=testcase, waves=wanted, seconds=bound)
    for test in outcome.skipped:
        print(f"{bench}: {test} is skipped: it does not apply to this component")
    if outcome.cut:
        raise OutOfTimeError(f"{bench} was ended after {outcome.seconds:.0f} s, at the end of the time")
    if not outcome.tests and not outcome.failures:
        failure = Failure(f"no test was run: {bench} has none, or none that matches {testcase!r}")
        outcome = replace(outcome, failures=[failure])
    if outcome.failures:
        lines = [f"{bench} failed with seed {seed} (CONIC_SEED={seed} repeats it)", *map(str, outcome.failures)]
        fast_notes.failed(lines)
        lines += _again(attempt, outcome, testcase=testcase, seed=seed, seconds=3 * bound)
        if outcome.left_out:
            lines.append(f"left out after it: {', '.join(outcome.left_out)} (COCOTB_MAX_FAILURES=0 runs them)")
        raise BenchError("\n".join([*lines, f"last lines of the log:\n{_tail(outcome.log)}"]))

    if outcome.waves is not None:
        print(f"waveform: {outcome.waves}")
    coverage = outcome.report.pop("coverage", {})
    if testcase is None:
        if empty := missing(coverage):
            raise BenchError("\n".join([f"{bench} passed with seed {seed}, but did too little", *empty]))
        keep(bench, coverage)
    record_seconds(name, outcome.seconds)
    result = BenchResult(seed=seed, tests=outcome.tests, report=outcome.report, coverage=coverage)
    if key:
        record_pass(key, vars(result))
    return result


def _bound(seconds: float, usual: float | None) -> float:
    """Bound of wall time of a run that usually takes `usual`, in seconds."""
    if guard.SECONDS_VARIABLE in os.environ:
        return float(os.environ[guard.SECONDS_VARIABLE])
    if seconds_left() is None:
        return seconds
    least, unknown = _fast_seconds
    return min(seconds, unknown if usual is None else max(least, 3 * usual))


def _again(attempt: Any, first: Outcome, *, testcase: str | None, seed: int, seconds: float) -> list[str]:
    """Repeats what failed, with a waveform; what is reported of that."""
    command = f"CONIC_SEED={seed} make waves TEST='{_pytest_name()}'"
    failed, waves, lines = first.failures[-1].test, first.waves, []
    if waves is not None:
        return _shown(waves, first.failures[-1])
    if first.killed:
        return [f"no waveform: a simulator that had to be killed leaves none; repeat it: {command}"]
    if any("did not end" in one.message for one in first.failures):
        seconds = min(seconds, _look if seconds_left() is not None else max(_look, 2 * first.seconds))
    alone = rf"(^|\.){re.escape(failed)}$" if failed else testcase
    for which, what in ((alone, "alone "), (testcase, "")):
        try:
            outcome = attempt(testcase=which, waves=True, seconds=seconds)
        except (BuildError, OutOfTimeError) as error:
            return [*lines, f"no waveform: {str(error).splitlines()[0]}", f"repeat it: {command}"]
        if outcome.failures:
            last = outcome.failures[-1]
            if outcome.waves is None:
                return [*lines, "no waveform: the simulator left none when it was ended", f"repeat it: {command}"]
            return [*_shown(outcome.waves, last), *lines]
        if which == testcase:
            break
        lines.append(f"{failed} does not fail {what}with this seed, but after the tests before it")
    return [
        *(_shown(outcome.waves, None) if outcome.waves else []),
        "the replay with the same seed did not fail: something in the bench is not derived from rng()",
    ]


def _shown(waves: Path, failure: Failure | None) -> list[str]:
    """Where a waveform is, the command that shows it, and where to look."""
    viewer = next((one for one in ("surfer", "gtkwave") if shutil.which(one)), "surfer")
    at = "" if failure is None or failure.time_ns is None else f"look at {moment(failure.time_ns)}"
    return [f"waveform: {waves}", f"show it: {viewer} {waves}", *([f"  {at} of this waveform"] if at else [])]


def _pytest_name() -> str:
    """The test of pytest that runs now."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]


def parameters() -> dict[str, Any]:
    """Inside of a bench: the parameters that :func:`run_bench` was given."""
    return json.loads(os.environ.get("CONIC_PARAMETERS", "{}"))


def inputs() -> list[str]:
    """Inside of a bench: the names of the component's inputs, without clock and reset."""
    return json.loads(os.environ.get("CONIC_INPUTS", "[]"))


def seed() -> int:
    """Inside of a bench: the seed of this run."""
    return int(os.environ.get("CONIC_SEED", "0"))


def rng(name: str) -> random.Random:
    """Inside of a bench: random numbers of their own for `name`, derived from the seed of this run."""
    return random.Random(f"{seed()}/{name}")


def _simulate(
    design: Design, *, bench: str, environment: dict[str, str], testcase: str | None, waves: bool, seconds: float,
    model_flags: Sequence[str], watched: Sequence[str],
) -> Outcome:
    runner, _ = build(design.verilog, top=design.top, waves=waves, model_flags=model_flags, watched=watched)
    wanted = seconds
    if (left := seconds_left()) is not None:
        seconds = max(1.0, min(seconds, left - _reserve))
    runs = build_folder() / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    seed = int(environment["CONIC_SEED"])
    run_dir = Path(tempfile.mkdtemp(prefix=f"{bench.rsplit('.', 1)[-1]}-{seed}-", dir=runs))
    log, report_file, dump = run_dir / "run.log", run_dir / "report.json", run_dir / "dump.fst"
    bounds = guard.ENTRY | {guard.SECONDS_VARIABLE: str(seconds), guard.FOLDER_VARIABLE: str(run_dir)}
    most = {"COCOTB_MAX_FAILURES": os.environ.get("COCOTB_MAX_FAILURES", "1")}
    runner._execute_cmds = partial(_execute, seconds=seconds + 2 * guard.patience(seconds), env=runner)
    ended, began = "", time.monotonic()
    with tool_environment():
        try:
            runner.test(
                test_module=bench, hdl_toplevel=design.top, hdl_toplevel_lang="verilog", seed=seed % (1 << 32),
                test_dir=run_dir, results_xml=str(run_dir / "results.xml"), log_file=log, test_filter=testcase,
                waves=waves,
                test_args=["--trace-file", str(dump)] if waves and simulator_name() == "verilator" else [],
                plusargs=[f"+dumpfile_path={dump}"] if waves and simulator_name() == "icarus" else [],
                extra_env=environment | bounds | most | {"CONIC_REPORT": str(report_file)},
            )
        except subprocess.TimeoutExpired:
            ended = f"from outside, after {seconds:.0f} s"
        except (RuntimeError, SystemExit) as error:
            ended = str(error)
    outcome = outcome_of(
        run_dir, log.read_text(errors="replace") if log.exists() else "", ended=ended,
        seconds=time.monotonic() - began,
        report=json.loads(report_file.read_text()) if report_file.exists() else {},
    )
    kept = None
    if waves and dump.exists() and not outcome.killed:
        kept = build_folder() / "waves" / f"{bench.rsplit('.', 1)[-1]}-{design.top}-{seed}.fst"
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(dump, kept)
    shutil.rmtree(run_dir, ignore_errors=True)
    is_late = outcome.killed or any("of wall time" in one.message for one in outcome.failures)
    return replace(outcome, waves=kept, cut=is_late and seconds < wanted)


def _execute(
    commands: Sequence[Sequence[str]], folder: Any, stdout: Any = None, *, seconds: float, env: Any,
) -> None:
    """Runs the commands of a simulator as cocotb's runner does, but bounded."""
    for command in commands:
        done = run_bounded(command, seconds=seconds, cwd=folder, env=env.env, stdout=stdout, stderr=subprocess.STDOUT)
        if done.returncode:
            raise RuntimeError(f"Command failed with return code: {done.returncode}")


def _tail(log: str) -> str:
    ends = ("Aborting...", "Regression stopped after")  # behind them stands what was not run
    lines = list(takewhile(lambda line: not any(end in line for end in ends), log.splitlines()))
    return "\n".join(lines[-_log_tail_lines:])
