"""An honest operation under attack: no bit is wrong, and it keeps its part of links and buffers."""

from functools import cache
from pathlib import Path

import pytest

from firmware_models.config import Config, load_preset
from sim.fuzz import siege
from sim.fuzz.siege import ATTACKS, Siege, besiege

MOST = 2.2
"""Times the cycles without an attack: half of a link is left, and some for packets that are just on their way."""
SIZE = 1 << 14


@cache
def under(attack: str, size: int) -> Siege:
    config: Config = load_preset("small")
    library: Path = siege.build(config)
    return besiege(library, config, attack, size=size)


@pytest.mark.parametrize("attack", [
    "packets without credits", "credits that nobody waits for", "long PUTs of another VP", "doorbells of another VP",
])
def test_siege(attack: str) -> None:
    result = under(attack, SIZE)
    assert result.mismatched_bits == 0
    assert result.cycles <= MOST * under("none", SIZE).cycles


@pytest.mark.long
@pytest.mark.parametrize("attack", ATTACKS)
def test_long_siege(attack: str) -> None:
    result = under(attack, 1 << 16)
    assert result.mismatched_bits == 0
    assert result.cycles <= MOST * under("none", 1 << 16).cycles


def test_the_attackers_packets_come() -> None:
    result = under("packets of jobs that nobody has", SIZE)
    assert result.uncovered > 100
