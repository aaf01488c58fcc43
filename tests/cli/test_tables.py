"""Tables for people: units, few digits, no brackets; the rest is in JSON."""

import re

import pytest

from firmware_models.abi.registers import STATE_COUNTERS
from sim.cli.shared.console import answer
from sim.cli.shared.unit_table import print_units

CYCLES = 20_000


def unit(node: int, cou: int, *, peak: float, working: int) -> tuple[dict[str, float], dict[str, float]]:
    """A unit that worked for so long and else had nothing to do."""
    states: dict[str, float] = {counter.name: 0 for counter in STATE_COUNTERS}
    states |= {"node": node, "cou": cou, "working": working, "nothing": CYCLES - working}
    return {"node": node, "cou": cou, "now": 0, "peak": peak, "mean": peak / 3, "unlent": 9}, states


def test_units(capsys: pytest.CaptureFixture[str]) -> None:
    """A line a unit that worked, in percent; the line of all; units at rest are left out."""
    pairs = [unit(0, 0, peak=0.123456, working=15_000), unit(0, 1, peak=0, working=0),
             unit(1, 0, peak=0.5, working=5_000)]
    print_units(*map(list, zip(*pairs, strict=True)), cycles=CYCLES)
    lines = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in line] for line in lines] == [
        ["1", "0", "16.7", "50.0", "25.0", "–", "–", "–", "–", "–", "75.0"],
        ["0", "0", "4.1", "12.3", "75.0", "–", "–", "–", "–", "–", "25.0"],
        ["all", "2", "10.4", "50.0", "50.0", "–", "–", "–", "–", "–", "50.0"],
    ]


def test_many_units(capsys: pytest.CaptureFixture[str]) -> None:
    """A cluster of 64 nodes still fits on a screen, the fullest first, and every line in 120 columns."""
    pairs = [unit(node, 0, peak=node / 100, working=100) for node in range(64)]
    print_units(*map(list, zip(*pairs, strict=True)), cycles=CYCLES)
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if line.startswith("│")]
    assert len(rows) == 17
    assert rows[0].split("│")[1].strip() == "63"
    assert "the 16 fullest of 64" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 120


def test_no_units(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [unit(0, 0, peak=0, working=0)]
    print_units(*map(list, zip(*pairs, strict=True)), cycles=CYCLES)
    assert capsys.readouterr().out == ""


def test_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """Values in words; a fraction is a percentage, a seed stays as it can be typed."""
    answer({"cycles": 17728, "goodput_fraction": 0.92411, "seed": 1234567, "seconds": 1.23456789, "op": "sum",
            "counts": {"lost": 0, "found": 12345}, "none": None}, as_json=False)
    out = capsys.readouterr().out
    assert dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines()) == {
        "cycles": "17,728", "goodput": "92.4%", "seed": "1234567", "seconds": "1.235", "op": "sum",
        "counts": "lost 0, found 12,345", "none": "–",
    }
