# amaranth: UnusedElaboratable=no
"""A bench that does not end: ended at its first time-out and in bounded time, with what is known of where it stood."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from testbench.bounded import OutOfTimeError, descendants, run_bounded
from testbench.outcome import outcome_of
from testbench.planted import FaultyRegister
from testbench.runner import BenchError, run_bench
from testbench.toolchain import build_folder

BENCH = "testbench.planted_hang_bench"
SECONDS = 1.5
CYCLES, WALL = "did not end within 40 cycles", "did not end within 2 s of wall time"

SAID = {
    # way: (parameters, what is said of it, where it waits)
    "nothing comes": ({"max_cycles": 40}, CYCLES, "it waits at testbench/stream.py:186, in receive: await self."),
    "own limit": ({}, "nothing came within 30 cycles", "/planted_hang_bench.py:58, in _own_limit: raise Asser"),
    "simulated limit": ({}, "SimTimeoutError", "/planted_hang_bench.py:62, in _simulated_limit: await with_timeout("),
    "long timer": ({}, WALL, "; it waits at testbench/planted_hang_bench.py:66, in _long_timer: await Timer"),
    "python loop": ({}, WALL, ", in _python_loop: "),
    "sleeps": ({}, WALL, "in _sleeps: time.sleep(1000)"),
    "blocks in C": ({}, "did not come back from Python code at testbench/planted_hang_bench.py:", "in _blocks_in_c: "),
}

QUICK = ("nothing comes", "python loop", "blocks in C")
"""One for each of the bounds: cycles, wall time, and the end from outside."""


def failure(monkeypatch, **options) -> list[str]:
    """Lines of the message. Nothing that was started is left behind."""
    for name in ("CONIC_SEED", "CONIC_WAVES", "COCOTB_MAX_FAILURES"):
        monkeypatch.delenv(name, raising=False)
    before = set(descendants(os.getpid()))
    with pytest.raises(BenchError) as caught:
        run_bench(FaultyRegister(fault="none"), bench=BENCH, seed=3, **options)
    assert not set(descendants(os.getpid())) - before
    return str(caught.value).splitlines()


@pytest.mark.parametrize("way", [way if way in QUICK else pytest.param(way, marks=pytest.mark.long) for way in SAID])
def test_ways_to_wait(way, monkeypatch):
    parameters, said, place = SAID[way]
    place = re.sub(r":\d+, in", r":\\d+, in", re.escape(place).replace(r"\ ", " "))
    began = time.monotonic()
    bound = SECONDS if said == WALL or way == "blocks in C" else 60.0
    lines = failure(monkeypatch, parameters=parameters | {"way": way}, seconds=bound)
    assert time.monotonic() - began < 40
    text = "\n".join(lines)
    assert lines[0].startswith(f"{BENCH} failed with seed 3 ")
    assert lines[1].startswith("waits: ")
    assert said in lines[1]
    assert re.search(place, text)
    assert re.fullmatch(r"  at \d+ ns of simulation, cycle \d+", lines[2])
    assert "after: " not in text  # it would have waited as well
    if way == "blocks in C":
        assert "2 tests after it were left out" in lines[1]
        assert any(line.startswith("no waveform: a simulator that had to be killed leaves none") for line in lines)
        return
    assert "left out after it: after, last (COCOTB_MAX_FAILURES=0 runs them)" in lines
    waves = build_folder() / "waves" / "planted_hang_bench-FaultyRegister-3.fst"
    assert f"waveform: {waves}" in lines
    assert waves.stat().st_size > 100
    assert any(line.startswith("show it: ") and line.endswith(f" {waves}") for line in lines)
    if said != WALL:  # alone it fails sooner, by what the test before it took
        first, alone = (int(number) for number in re.findall(r"(\d+) ns of simulation", text))
        assert alone < first
    waves.unlink()


def test_a_wait_that_needs_the_test_before_it(monkeypatch):
    lines = failure(monkeypatch, parameters={"way": "only after another", "max_cycles": 50}, seconds=60)
    assert "waits does not fail alone with this seed, but after the tests before it" in lines
    first, shown = (int(number) for number in re.findall(r"(\d+) ns of simulation", "\n".join(lines)))
    assert shown == first


def test_all_tests_of_a_bench_where_that_is_asked_for(monkeypatch):
    monkeypatch.setenv("CONIC_BENCH_SECONDS", "60")
    monkeypatch.setenv("COCOTB_MAX_FAILURES", "0")
    with pytest.raises(BenchError) as caught:
        run_bench(FaultyRegister(fault="none"), bench=BENCH, seed=3, testcase="waits|last",
                  parameters={"way": "own limit"})
    assert "left out" not in str(caught.value)


def test_the_bound_of_the_environment_goes_first(monkeypatch):
    monkeypatch.setenv("CONIC_BENCH_SECONDS", "3")
    monkeypatch.setenv("CONIC_WAVES", "1")
    with pytest.raises(BenchError, match="did not end within 3 s of wall time"):
        run_bench(FaultyRegister(fault="none"), bench=BENCH, testcase="after")


def test_a_bench_that_the_end_of_the_time_cuts_off_has_not_failed(monkeypatch):
    monkeypatch.delenv("CONIC_BENCH_SECONDS", raising=False)
    monkeypatch.setattr("testbench.runner._reserve", 0.0)
    monkeypatch.setattr("testbench.verilated_model._reserve", -60.0)
    monkeypatch.setenv("CONIC_FAST_END", str(time.time() + 5))
    with pytest.raises(OutOfTimeError, match=r"planted_hang_bench was ended after \d+ s, at the end of the time"):
        run_bench(FaultyRegister(fault="none"), bench=BENCH, testcase="after")


def test_what_a_program_started_ends_with_it(tmp_path):
    """A compiler's driver leaves the compiler behind if it alone is killed; so does a shell."""
    with pytest.raises(subprocess.TimeoutExpired):
        run_bounded(["sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid; sleep 1000"], seconds=0.5)
    time.sleep(0.1)
    state = Path(f"/proc/{int((tmp_path / 'pid').read_text())}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"
    assert run_bounded(["sh", "-c", "sleep 1000 & exit 3"], seconds=None).returncode == 3


@pytest.mark.parametrize(("stacks", "ended", "said"), [
    ("Thread 0x1 (most recent call first):\n  <no Python frame>\n", "return code: 1", "a combinational loop?"),
    ("", "from outside, after 9 s", "; it was ended from outside, after 9 s"),
])
def test_a_simulator_that_hangs_outside_of_python(tmp_path, stacks, ended, said):
    """Its last bound ends it: what it logged, and when it was last seen, tells the test and the time."""
    (tmp_path / "stacks.txt").write_text(stacks)
    (tmp_path / "alive.json").write_text('{"time_ns": 740.0, "place": "; it waits at x_bench.py:3, in f: await g()"}')
    log = "     0.00ns INFO  cocotb.regression  running x_bench.first (1/3)\n"
    log += "   510.00ns INFO  cocotb.regression  running x_bench.second (2/3)\n"
    outcome = outcome_of(tmp_path, log, ended=ended, seconds=9.0, report={})
    assert outcome.killed
    text = str(outcome.failures[0])
    assert text.startswith("second: the simulator did not come back from its own code")
    assert said in text
    assert "it waits at x_bench.py:3" in text
    assert "1 tests after it were left out\n  at 740 ns of simulation, cycle 74" in text


def test_a_simulator_that_ends_early_is_no_hang(tmp_path):
    outcome = outcome_of(tmp_path, "", ended="return code: -11", seconds=1.0, report={})
    assert not outcome.killed
    assert [str(one) for one in outcome.failures] == ["the simulator ended early: return code: -11"]
