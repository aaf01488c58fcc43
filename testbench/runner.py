"""Runs the cocotb tests of a bench on an Amaranth component.

A pytest function calls :func:`run_bench`; the bench, a module with ``@cocotb.test()`` coroutines, runs in the
simulator's process and reads what it was given with :func:`parameters` and :func:`rng`.
"""

import json
import linecache
import os
import random
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from testbench.bench_report import report
from testbench.coverage import Hits, keep, missing
from testbench.design import Design, design_of
from testbench.passed import key_of, last_pass, passes_count, record_pass
from testbench.seed import drawn
from testbench.simulator import MODEL_FLAGS, build, simulator_name, tool_environment
from testbench.toolchain import build_folder

_log_tail_lines = 40
_ROOT = Path(__file__).resolve().parents[1]


__all__ = ["BenchError", "BenchResult", "inputs", "parameters", "report", "rng", "run_bench", "seed"]


class BenchError(AssertionError):
    """A bench failed. The message says which tests, with which seed, and where the waveform is."""


@dataclass(frozen=True)
class BenchResult:
    """What a run of a bench gave."""

    seed: int
    tests: int
    report: dict[str, Any] = field(default_factory=dict)
    """Values of :func:`report` in the bench."""
    coverage: Hits = field(default_factory=dict)
    """What it covered (:mod:`testbench.coverage`)."""


@dataclass(frozen=True)
class _Outcome:
    tests: int
    failures: list[str]
    log: str
    report: dict[str, Any]
    waves: Path | None


def run_bench(
    component: Any, *, bench: str, parameters: Mapping[str, Any] | None = None, seed: int | None = None,
    top: str | None = None, testcase: str | None = None, model_flags: Sequence[str] = MODEL_FLAGS,
    watched: Sequence[str] = (),
) -> BenchResult:
    """Converts `component` to Verilog, simulates it and runs the tests of module `bench` on it.

    A run that fails is repeated with the same seed and a waveform. With CONIC_WAVES in the environment every run keeps
    one.

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

    Raises
    ------
    BenchError
        If a test or an assertion inside of the component fails, if the simulator ends early, if there was no test, or
        if a run of all tests leaves a bin of the bench's coverage empty.
    BuildError
        If the Verilog does not compile without warnings.
    """
    if seed is None or "CONIC_SEED" in os.environ:
        seed = drawn(bench)
    else:
        print(f"{bench}: seed {seed} (CONIC_SEED={seed} repeats this run)")
    design = design_of(component, top=top)
    key = ""
    if passes_count():
        key = key_of(design, bench=bench, parameters=parameters or {}, testcase=testcase, tools=simulator_name())
        if known := last_pass(key):
            print(f"{bench}: Verilog, bench and parameters are those of its last pass, with seed {known['seed']}")
            return BenchResult(**known)

    environment = {
        "CONIC_PARAMETERS": json.dumps(dict(parameters or {})),
        "CONIC_INPUTS": json.dumps(design.inputs),
        "CONIC_SEED": str(seed),
        "PYTHONHASHSEED": "0",  # sets iterate in the same order in a replay
    }

    def attempt(*, waves: bool) -> _Outcome:
        return _simulate(
            design, bench=bench, environment=environment, testcase=testcase, waves=waves, model_flags=model_flags,
            watched=watched,
        )

    wanted = "CONIC_WAVES" in os.environ  # someone wants to look at a run that passes
    outcome = attempt(waves=wanted)
    if not outcome.failures:
        if outcome.waves is not None:
            print(f"waveform: {outcome.waves}")
        coverage = outcome.report.pop("coverage", {})
        if testcase is None:
            if empty := missing(coverage):
                raise BenchError("\n".join([f"{bench} passed with seed {seed}, but did too little", *empty]))
            keep(bench, coverage)
        result = BenchResult(seed=seed, tests=outcome.tests, report=outcome.report, coverage=coverage)
        if key:
            record_pass(key, vars(result))
        return result

    replay = attempt(waves=True)
    lines = [f"{bench} failed with seed {seed} (CONIC_SEED={seed} repeats it)", *outcome.failures]
    if replay.waves is not None:
        lines.append(f"waveform: {replay.waves}")
    if not replay.failures:
        lines.append("the replay with the same seed did not fail: something in the bench is not derived from rng()")
    lines.append(f"last lines of the log:\n{_tail(outcome.log)}")
    raise BenchError("\n".join(lines))


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
    design: Design, *, bench: str, environment: dict[str, str], testcase: str | None, waves: bool,
    model_flags: Sequence[str], watched: Sequence[str],
) -> _Outcome:
    runner, _ = build(design.verilog, top=design.top, waves=waves, model_flags=model_flags, watched=watched)
    runs = build_folder() / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    seed = int(environment["CONIC_SEED"])
    run_dir = Path(tempfile.mkdtemp(prefix=f"{bench.rsplit('.', 1)[-1]}-{seed}-", dir=runs))
    results, log, report_file = run_dir / "results.xml", run_dir / "run.log", run_dir / "report.json"
    dump = run_dir / "dump.fst"
    failures: list[str] = []
    with tool_environment():
        try:
            runner.test(
                test_module=bench, hdl_toplevel=design.top, hdl_toplevel_lang="verilog", seed=seed % (1 << 32),
                test_dir=run_dir, results_xml=str(results), log_file=log, test_filter=testcase, waves=waves,
                test_args=["--trace-file", str(dump)] if waves and simulator_name() == "verilator" else [],
                plusargs=[f"+dumpfile_path={dump}"] if waves and simulator_name() == "icarus" else [],
                extra_env=environment | {"CONIC_REPORT": str(report_file)},
            )
        except (RuntimeError, SystemExit) as error:
            failures.append(f"the simulator ended early: {error}")
    text_log = log.read_text(errors="replace") if log.exists() else ""
    tests, failed, skipped = _read_results(results)
    for name in skipped:
        print(f"{bench}: {name} is skipped: it does not apply to this component")
    # An assertion inside of the component ends the simulator, and with it every test that had not run yet.
    failures += _simulator_errors(text_log)
    failures += failed[:1] if failures else failed
    if not tests and not failures:
        failures.append(f"no test was run: {bench} has none, or none that matches {testcase!r}")
    kept = None
    if waves and dump.exists():
        kept = build_folder() / "waves" / f"{bench.rsplit('.', 1)[-1]}-{design.top}-{seed}.fst"
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(dump, kept)
    known = json.loads(report_file.read_text()) if report_file.exists() else {}
    shutil.rmtree(run_dir, ignore_errors=True)
    return _Outcome(tests=tests, failures=failures, log=text_log, report=known, waves=kept)


def _read_results(path: Path) -> tuple[int, list[str], list[str]]:
    """How many tests of cocotb's result file were run, a line for each that failed, and which were skipped."""
    if not path.exists():
        return 0, [], []
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    failed, skipped = [], []
    for case in cases:
        skipped += [str(case.get("name")) for _ in case.findall("skipped")]
        for problem in (*case.findall("failure"), *case.findall("error")):
            message = problem.get("message") or problem.get("error_msg") or (problem.text or "").strip() or "failed"
            failed.append(f"{case.get('name')}: {message}{_place(problem.text or '')}")
    return len(cases) - len(skipped), failed, skipped


def _simulator_errors(log: str) -> list[str]:
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


def _tail(log: str) -> str:
    lines = log.partition("Aborting...")[0].splitlines()
    return "\n".join(lines[-_log_tail_lines:])
