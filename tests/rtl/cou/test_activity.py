"""Activity of a unit: each cycle is one of its states, by the order of precedence, a cycle later."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import UnitState
from rtl.cou.activity import Activity, Doing, Path
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.simulation import fields, run


def state_of(lane: dict[str, int], engine: dict[str, int], doing: dict[str, int]) -> UnitState:
    """State of a cycle: work, waits from the end of the unit to its beginning, nothing."""
    if lane["works"] or engine["works"]:
        return UnitState.WORKING
    if lane["held"] or engine["held"]:
        return UnitState.OUTPUT
    if lane["starved"] or engine["starved"]:
        return UnitState.PACKET
    for name, state in (("decides", UnitState.TRIGGER), ("credit", UnitState.CREDIT), ("packet", UnitState.PACKET),
                        ("operand", UnitState.OPERAND), ("runs", UnitState.TRIGGER)):
        if doing[name]:
            return state
    return UnitState.NOTHING


def check(unit: Activity, rng: random.Random) -> None:
    """Runs any activity, more often little than much."""
    inputs = {"lane": Path, "engine": Path, "doing": Doing}
    before: UnitState | None = None
    seen: Counter[UnitState] = Counter()

    def step(read) -> None:
        nonlocal before
        assert before is None or read(unit.o) == before.value
        before = state_of(*(fields(shape, read(getattr(unit, name).as_value())) for name, shape in inputs.items()))
        seen[before] += 1

    def drive(put) -> None:
        for name, shape in inputs.items():
            bits = rng.getrandbits(shape.size) & rng.choice((0, rng.getrandbits(shape.size)))
            put(getattr(unit, name).as_value(), bits)

    run(unit, [Inputs(drive)], step=step, rng=rng, cycles=700)
    assert min(seen[state] for state in UnitState) > 8


@pytest.mark.parametrize("seed", range(2))
def test_states(seed: int) -> None:
    check(Activity(), random.Random(seed))


@pytest.mark.parametrize(("old", "new"), [
    ("paths[0].held | paths[1].held", "paths[0].held"), ("in reversed(reasons)", "in reasons"),
    ("(UnitState.CREDIT, self.doing.credit), (UnitState.PACKET, self.doing.packet)",
     "(UnitState.PACKET, self.doing.packet), (UnitState.CREDIT, self.doing.credit)"),
    ("(UnitState.TRIGGER, self.doing.runs)", "(UnitState.WORKING, self.doing.runs)"),
], ids=["the engine is held", "the other order", "credit and packet", "a pass under way"])
def test_planted(old: str, new: str) -> None:
    """An error of the order is found."""
    with pytest.raises(AssertionError):
        check(changed(Activity, old, new)(), random.Random(1))
