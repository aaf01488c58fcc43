# amaranth: UnusedElaboratable=no
"""A bench that does not end: ended at its first time-out and in bounded time, with what is known of where it stood."""

import os
import re
import time

import pytest

from testbench.bounded import descendants
from testbench.planted import FaultyRegister
from testbench.runner import BenchError, run_bench
from testbench.toolchain import build_folder

BENCH = "testbench.planted_hang_bench"
SECONDS = 2.0

SAID = {
    # way: (parameters, what is said of it, where it waits)
    "nothing comes": ({"max_cycles": 40}, "did not end within 40 cycles", "in receive: await self._arrival.wait()"),
    "own limit": ({}, "nothing came within 30 cycles", "in _own_limit: raise"),
    "simulated limit": ({}, "SimTimeoutError", "in _simulated_limit: await with_timeout"),
    "long timer": ({}, "did not end within 2 s of wall time", "in _long_timer: await Timer"),
    "many cycles": ({}, "did not end within 2 s of wall time", "in _many_cycles: await ClockCycles"),
    "python loop": ({}, "did not end within 2 s of wall time", "in _python_loop: "),
    "sleeps": ({}, "did not end within 2 s of wall time", "in _sleeps: time.sleep(1000)"),
    "blocks in C": ({}, "did not come back from Python code", "in _blocks_in_c: "),
}


def failure(monkeypatch, *, component=None, **options) -> tuple[list[str], float]:
    """Lines of the message, and the seconds to it. Nothing that was started is left behind."""
    monkeypatch.delenv("CONIC_SEED", raising=False)
    before = set(descendants(os.getpid()))
    began = time.monotonic()
    with pytest.raises(BenchError) as caught:
        run_bench(component or FaultyRegister(fault="none"), seed=3, **{"bench": BENCH} | options)
    assert not set(descendants(os.getpid())) - before
    return str(caught.value).splitlines(), time.monotonic() - began


@pytest.mark.parametrize("way", SAID)
def test_ways_to_wait(way, monkeypatch):
    parameters, said, place = SAID[way]
    bound = SECONDS if "wall time" in said or "come back" in said else 60.0
    lines, seconds = failure(monkeypatch, parameters=parameters | {"way": way}, seconds=bound)
    assert seconds < 40
    assert lines[0].startswith(f"{BENCH} failed with seed 3 ")
    assert lines[1].startswith("waits: ")
    text = "\n".join(lines)
    assert said in lines[1]
    assert re.search(rf"testbench/planted_hang_bench\.py:\d+, .*{re.escape(place)}|{re.escape(place)}", text)
    assert re.fullmatch(r"  at \d+ ns of simulation, cycle \d+", lines[2])
    assert "after: " not in text  # it would have hung as well
    if way != "blocks in C":  # the simulator was killed: nothing is written of the tests, and no waveform
        assert "left out after it: after, last (COCOTB_MAX_FAILURES=0 runs them)" in lines
        waves = build_folder() / "waves" / "planted_hang_bench-FaultyRegister-3.fst"
        assert f"waveform: {waves}" in lines
        assert any(line.startswith("show it: ") and line.endswith(str(waves)) for line in lines)
        assert re.search(r"  look at \d+ ns of simulation, cycle \d+ of this waveform", text)
        waves.unlink()
