"""The count of cycles without work."""

import pytest
from amaranth.sim import Simulator

from rtl.kit.quiescence import Quiescence


def run(moves: str, events: str, *, cycles: int = 4) -> str:
    """What `quiescent` is in each cycle."""
    unit, seen = Quiescence(cycles=cycles), []

    async def bench(ctx) -> None:
        for move, event in zip(moves, events, strict=True):
            ctx.set(unit.moves, int(move))
            ctx.set(unit.event, int(event))
            seen.append(str(ctx.get(unit.quiescent)))
            await ctx.tick()

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return "".join(seen)


def test_rises_after_the_cycles_and_stays() -> None:
    assert run("0" * 12, "0" * 12) == "000001111111"


def test_an_event_ends_it_in_the_next_cycle() -> None:
    assert run("0" * 14, "00000010000000") == "00000110000111"


def test_work_ends_it_a_cycle_later() -> None:
    assert run("00000010000000", "0" * 14) == "00000111000011"


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("cycles", [0, 1, 3, 6, "4"])
def test_cycles_are_a_power_of_two(cycles: object) -> None:
    with pytest.raises(ValueError, match="cycles must be a power of two from 2 on, not"):
        Quiescence(cycles=cycles)  # type: ignore[arg-type]
