"""Work of drivers and monitors in every cycle, with little of Python's time: a bench spends most of its time here."""

from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.task import Task
from cocotb.triggers import RisingEdge

_running: dict[str, tuple[Task[Any], list[Callable[[], None]]]] = {}
"""By the path of a clock: the task of this test, and what it calls."""


def every_cycle(clk: SimHandleBase, call: Callable[[], None]) -> None:
    """Calls `call` right after each rising edge of `clk` from now on, until the test ends.

    One task serves all: waking one for each monitor costs more than what they do. What `call` raises fails the test.
    """
    task, calls = _running.get(clk._path, (None, []))
    if task is None or task.done():
        calls = [call]
        _running[clk._path] = (cocotb.start_soon(_run(clk, calls)), calls)
    else:
        calls.append(call)


async def _run(clk: SimHandleBase, calls: list[Callable[[], None]]) -> None:
    edge = RisingEdge(clk)
    while True:
        await edge
        for call in calls:
            call()


def level(handle: SimHandleBase) -> Callable[[], bool]:
    """A function that says whether the signal, of one bit, is high.

    It, and :func:`bits`, pass over the objects that cocotb makes of a value (``handle.value``), which take most of the
    time of a read. An undefined signal is not high.
    """
    read = handle._handle.get_signal_val_binstr
    return lambda: read() == "1"


def bits(handle: SimHandleBase) -> Callable[[], int]:
    """A function that gives the value of the signal.

    Raises
    ------
    ValueError
        From the function, if a bit is undefined.
    """
    read = handle._handle.get_signal_val_binstr
    return lambda: int(read(), 2)
