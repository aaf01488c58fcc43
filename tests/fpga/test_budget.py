"""Units keep to their budgets; what exceeds one is named with the difference."""

import pytest

from fpga.budget import UNITS, check, compare, load_budgets, with_room

QUICK = ["SkidBuffer", "BlockQueue", "AxiLiteFront", "LinkTx", "LinkRx", "Packetizer", "SlotPool"]


def test_every_unit_has_a_budget() -> None:
    assert set(load_budgets()) == set(UNITS)
    assert all(set(budget) == {"lut4eq", "ff", "block_ram", "dsp", "fmax_mhz"} for budget in load_budgets().values())


@pytest.mark.parametrize("name", QUICK)
def test_cells(name: str) -> None:
    assert [str(excess) for excess in check(name, seeds=())] == []


def test_frequency() -> None:
    assert [str(excess) for excess in check("SkidBuffer")] == []


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_cells_and_frequency(name: str) -> None:
    assert [str(excess) for excess in check(name)] == []


def test_excess_names_unit_and_difference() -> None:
    figures = {"lut4eq": 120, "ff": 80, "block_ram": 2, "dsp": 0, "fmax_mhz": 150.0}
    budget = {"lut4eq": 100, "ff": 80, "block_ram": 1, "dsp": 0, "fmax_mhz": 160.5}
    assert [str(excess) for excess in compare("Unit", figures, budget)] == [
        "Unit: lut4eq is 120, the budget 100: +20", "Unit: block_ram is 2, the budget 1: +1",
        "Unit: fmax_mhz is 150, the budget 160.5: -10.5",
    ]
    assert compare("Unit", figures, with_room(figures)) == []
