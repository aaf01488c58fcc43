"""Ends a bench that does not end by itself: this is what runs in the simulator's process.

Three bounds, each behind the one before it, so that as much as possible is known of what hangs:

1. :func:`watch`, a task of every test (``clock.start``): cycles, and wall time while the clock runs.
2. A signal every second. Once the time is over it raises where the bench's own Python code stands, as soon as it stands
   there: a loop that never ends, or that waits for a program.
3. A thread of ``faulthandler``, which needs neither Python nor the simulator to come back: it writes where every
   thread stands and ends the process.

The runner ends the process from outside if all of them fail.
"""

import atexit
import faulthandler
import json
import linecache
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from testbench.bounded import end_with_parent, is_foreign

SECONDS_VARIABLE = "CONIC_BENCH_SECONDS"
"""The bound of wall time of a bench, in seconds."""
FOLDER_VARIABLE = "CONIC_GUARD"
ENTRY = {"PYGPI_USERS": "testbench.guard:begin"}
"""The environment with which cocotb calls :func:`begin` first."""
PERIOD_NS = 10
"""Period of the clock of every bench."""

_patience = 5.0
_ROOT = Path(__file__).resolve().parents[1]
_CHUNK = 200
"""Cycles between two looks at the wall clock."""
_state: dict[str, Any] = {"end": None, "seconds": None, "task": None, "folder": None}


class BenchTimeoutError(AssertionError):
    """The bench did not end within the cycles, or the wall time, that it was given."""


def begin() -> None:
    """Entry point of cocotb: sets the bounds, then goes on with what cocotb begins with."""
    from pygpi.entry import load_entry

    del os.environ["PYGPI_USERS"]
    end_with_parent()
    arm(float(os.environ[SECONDS_VARIABLE]), Path(os.environ[FOLDER_VARIABLE]))
    load_entry()


def patience(seconds: float) -> float:
    """Seconds from one bound to the next, where the first is `seconds`."""
    return min(_patience, seconds)


def arm(seconds: float, folder: Path) -> None:
    """Begins to count `seconds`; what is known of a process that had to be ended comes into `folder`."""
    _state.update(end=time.monotonic() + seconds, seconds=seconds, folder=folder)
    signal.signal(signal.SIGALRM, _tick)
    signal.setitimer(signal.ITIMER_REAL, min(1.0, seconds), 1.0)
    # Python gives signals back at its end, and this one would end the process.
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)
    trace = (folder / "stacks.txt").open("w")
    faulthandler.dump_traceback_later(seconds + patience(seconds), exit=True, file=trace)


async def watch(clk: Any, max_cycles: int | None) -> None:
    """A task beside a test: fails it after `max_cycles` (None: never), or when the wall time of the bench is over."""
    from cocotb.triggers import ClockCycles

    left = max_cycles
    while left is None or left > 0:
        count = _CHUNK if left is None else min(left, _CHUNK)
        await ClockCycles(clk, count)
        left = None if left is None else left - count
        if is_over():
            raise BenchTimeoutError(over())
    raise BenchTimeoutError(f"the test did not end within {max_cycles} cycles{waiting()}")


def is_over() -> bool:
    """True if the wall time of this bench is over."""
    return _state["end"] is not None and time.monotonic() >= _state["end"]


def over() -> str:
    """The message then."""
    return f"the bench did not end within {_state['seconds']:.0f} s of wall time{waiting()}"


def watch_test(task: Any) -> None:
    """Notes the task of the test that runs now, to tell where it waits."""
    _state["task"] = task
    _note_alive("")


def waiting() -> str:
    """Where the test waits: "; it waits at testbench/x_bench.py:12, in f: await sink.receive()"; or nothing."""
    at, place = getattr(_state["task"], "_coro", None), None
    if getattr(at, "cr_running", False):
        return ""  # it does not wait
    while frame := getattr(at, "cr_frame", None):
        if not is_foreign(frame.f_code.co_filename):
            place = _place(frame)
        at = at.cr_await
    return f"; it waits at {place}" if place else ""


def _tick(_signal: int, frame: FrameType | None) -> None:
    is_late = is_over()
    _note_alive(waiting() or _innermost(frame))
    if not is_late:
        return
    if _may_raise(frame):
        _state["end"] += 2.0  # again, should the bench catch it
        raise BenchTimeoutError(over() + ("" if waiting() else _innermost(frame)))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 1.0)


def _note_alive(place: str) -> None:
    if _state["folder"] is not None:
        with suppress(OSError):
            (_state["folder"] / "alive.json").write_text(json.dumps({"time_ns": _time_ns(), "place": place}))


def _time_ns() -> float | None:
    found = sys.modules.get("cocotb.simtime")
    try:
        return found.get_sim_time("ns") if found else None
    except Exception:  # too early: there is no simulator yet
        return None


def _may_raise(frame: FrameType | None) -> bool:
    """True if code of the bench stands inside of the innermost code of cocotb, which an exception must not meet."""
    while frame is not None:
        name = frame.f_code.co_filename
        if f"{os.sep}cocotb{os.sep}" in name or f"{os.sep}pygpi{os.sep}" in name:
            return False
        if not is_foreign(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _innermost(frame: FrameType | None) -> str:
    while frame is not None and is_foreign(frame.f_code.co_filename):
        frame = frame.f_back
    return f"; it stands at {_place(frame)}" if frame else ""


def _place(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    shown = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path
    # An instruction of no line, which a signal may meet, counts as of the first one.
    line = frame.f_lineno or frame.f_code.co_firstlineno
    return f"{shown}:{line}, in {frame.f_code.co_name}: {linecache.getline(str(path), line).strip()}"
