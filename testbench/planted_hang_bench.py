"""Benches that do not end, each in a way of its own: what the bounds of a bench are tested with."""

import ctypes
import time

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import Event, Timer, with_timeout

from testbench import clock
from testbench.runner import parameters
from testbench.stream import StreamSink

_seen: list[str] = []


@cocotb.test()
async def before(dut: SimHandleBase) -> None:
    """Passes."""
    await clock.start(dut)
    await clock.cycles(dut, 20)
    _seen.append("before")


@cocotb.test()
async def waits(dut: SimHandleBase) -> None:
    """Does not end by itself."""
    await clock.start(dut, max_cycles=parameters().get("max_cycles"))
    await WAYS[parameters()["way"]](dut)


@cocotb.test()
async def after(dut: SimHandleBase) -> None:
    """Would hang as well."""
    await clock.start(dut, max_cycles=None)
    await Event().wait()


@cocotb.test()
async def last(dut: SimHandleBase) -> None:
    """Would pass."""
    await clock.start(dut)


async def _nothing_comes(dut: SimHandleBase) -> None:
    await StreamSink(dut, "o", 8).receive()


async def _own_limit(dut: SimHandleBase) -> None:
    for _ in range(30):
        await clock.cycles(dut, 1)
        if dut.o__valid.value:
            return
    raise AssertionError("nothing came within 30 cycles")


async def _simulated_limit(dut: SimHandleBase) -> None:
    await with_timeout(Event().wait(), 400, "ns")


async def _long_timer(dut: SimHandleBase) -> None:
    await Timer(1, unit="sec")


async def _only_after_another(dut: SimHandleBase) -> None:
    if _seen:
        await clock.cycles(dut, 1_000_000)


async def _python_loop(dut: SimHandleBase) -> None:
    count = 0
    while dut is not None:
        count += 1


async def _sleeps(dut: SimHandleBase) -> None:
    time.sleep(1000)


async def _blocks_in_c(dut: SimHandleBase) -> None:
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time it waits for itself, and no signal wakes it
        ctypes.CDLL(None).pthread_mutex_lock(mutex)


WAYS = {
    "nothing comes": _nothing_comes, "own limit": _own_limit, "simulated limit": _simulated_limit,
    "long timer": _long_timer, "only after another": _only_after_another, "python loop": _python_loop,
    "sleeps": _sleeps, "blocks in C": _blocks_in_c,
}
