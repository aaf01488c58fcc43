"""Delay line: each value comes out so many enabled cycles later, and waits while the line is not enabled."""

import random

import pytest
from amaranth import Value
from amaranth.lib import data

from rtl.reduce.delay_line import DelayLine
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.simulation import run

PAIR = data.StructLayout({"tag": 3, "word": 90})


def check(line: DelayLine, rng: random.Random) -> None:
    """Shifts any values, for a while in every cycle and for a while now and then."""
    came: list[int] = []
    n_compared, n_held, cycle, value, enable = 0, 0, 0, 0, 0
    port, out = Value.cast(line.i), Value.cast(line.o)

    def drive(put) -> None:
        nonlocal value, enable, cycle
        value, enable = rng.getrandbits(len(port)), int(rng.random() < (1 if cycle // 50 % 2 else 0.5))
        put(port, value)
        put(line.enable, enable)
        cycle += 1

    def settle(read) -> None:
        nonlocal n_compared, n_held
        # The value that came so many enabled cycles ago stands until the next one of them ends.
        if len(came) >= line.cycles:
            assert read(out) == came[-line.cycles]
            n_compared += 1
            n_held += not enable
        if enable:
            came.append(value)

    run(line, [Inputs(drive, settle)], cycles=300, rng=rng)
    assert n_compared > 150
    assert n_held > 30


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("cycles", [2, 3, 4, 5, 8, 9, 17])
def test_delays(cycles: int, seed: int) -> None:
    check(DelayLine(shape=16, cycles=cycles), random.Random(seed))


def test_structs() -> None:
    check(DelayLine(shape=PAIR, cycles=6), random.Random(0))


@pytest.mark.parametrize(("old", "new"), [
    ("depth = self.cycles - 1", "depth = self.cycles"),
    ("depth = self.cycles - 1", "depth = max(self.cycles - 2, 1)"),
    ("address == depth - 1", "address == depth"),
    ("with m.If(self.enable):", "with m.If(1):"),
    ("write.en.eq(self.enable)", "write.en.eq(1)"),
    ("read.en.eq(self.enable)", "read.en.eq(1)"),
], ids=["too late", "too early", "a place too many", "the ring turns on", "writes go on", "reads go on"])
def test_planted(old: str, new: str) -> None:
    """An error of the line is found."""
    with pytest.raises(AssertionError):
        check(changed(DelayLine, old, new)(shape=16, cycles=6), random.Random(1))
