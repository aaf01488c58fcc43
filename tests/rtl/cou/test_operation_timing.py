"""The operation table, cycle by cycle: pulses that follow each other, and progress just before a time-out."""

import random
from itertools import pairwise

import pytest

from rtl.cou.operation_table import OperationTable
from rtl.cou.shapes import CouShapes
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, pack
from testbench.parts.simulation import run
from testbench.unit_config import UNIT

SIZES = {"n_jobs": 2, "n_contexts": 4}
SHAPES = CouShapes(UNIT.changed(cou=SIZES))
WATCHDOG, SLACK = 20, 4
"""Cycles without progress before a time-out, and most cycles until that shows."""


def test_pulses_follow_each_other() -> None:
    """The next pulse of an operation is on offer five cycles after the last one was, if that was taken at once."""
    part = OperationTable(shapes=SHAPES, **SIZES)
    shapes, taken = SHAPES, []
    bits = pack(shapes.operation, {"pulse_bytes": 64, "blocks": pack(shapes.blocks, {"bytes": 300})})
    state = {"cycle": 0}

    def drive(put) -> None:
        put(part.i.valid, state["cycle"] == 3)
        put(part.i.payload.as_value(), bits)
        put(part.trigger.n_free, 4)
        put(part.o_start.ready, 1)

    def step(read) -> None:
        if read(part.o_start.valid):
            taken.append(state["cycle"])
        state["cycle"] += 1

    run(part, [Inputs(drive)], step=step, rng=random.Random(0), cycles=40)
    assert len(taken) == 5
    assert {after - before for before, after in pairwise(taken)} == {5}


def expiry(part: OperationTable, progress_at: int | None) -> int:
    """Cycle of the time-out of an operation with one progress at most."""
    shapes, cycle, found = SHAPES, 0, -1
    bits = pack(shapes.operation, {"pulse_bytes": 64, "blocks": pack(shapes.blocks, {"bytes": 64})})

    def drive(put) -> None:
        put(part.i.valid, cycle == 3)
        put(part.i.payload.as_value(), bits)
        put(part.trigger.n_free, 3)
        put(part.trigger.active, cycle > 3)
        put(part.trigger.progress, cycle == progress_at)
        put(part.o_start.ready, 1)
        put(part.watchdog, WATCHDOG)

    def step(read) -> None:
        nonlocal cycle, found
        if found < 0 and read(part.trigger.expire):
            found = cycle
        cycle += 1

    run(part, [Inputs(drive)], step=step, rng=random.Random(0), cycles=65)
    return found


def check_last_moment(part: type[OperationTable]) -> None:
    """Compares time-outs with progress in each of the cycles around the last one that counts."""
    never = expiry(part(shapes=SHAPES, **SIZES), None)
    found = {cycle: expiry(part(shapes=SHAPES, **SIZES), cycle) for cycle in range(never - 6, never + 1)}
    late = [cycle for cycle, at in found.items() if at == never]
    assert late == [*range(never + 1 - len(late), never + 1)], "the last moment is not the last"
    assert len(late) <= 2
    delays = {at - cycle for cycle, at in found.items() if cycle not in late}
    assert len(delays) == 1
    assert WATCHDOG <= delays.pop() <= WATCHDOG + SLACK


def test_progress_at_the_last_moment() -> None:
    """A progress puts the time-out off, unless it comes too late for it."""
    check_last_moment(OperationTable)


@pytest.mark.parametrize(("old", "new"), [
    ("(idle_cycles >= self.watchdog) & ~seen.progress[j]", "(idle_cycles >= self.watchdog)"),
    ("with m.If(seen.progress[j]):\n            m.d.sync += idle_cycles.eq(0)",
     "with m.If(seen.progress[j] & ~late):\n            m.d.sync += idle_cycles.eq(0)"),
], ids=["a comparison that is old", "a progress beside the time-out"])
def test_planted(old: str, new: str) -> None:
    with pytest.raises(AssertionError):
        check_last_moment(changed(OperationTable, old, new))
