"""The bars of what offload units did."""

import xml.etree.ElementTree as ET

from firmware_models.abi.registers import STATE_COUNTERS
from sim.report.stalls_chart import stalls_svg


def test_a_bar_for_each_unit_that_had_something_to_do():
    idle = {counter.name: 0 for counter in STATE_COUNTERS} | {"nothing": 100}
    busy = idle | {"working": 60, "credit": 30, "nothing": 10}
    svg = stalls_svg([{"node": 0, "cou": 0, **busy}, {"node": 0, "cou": 1, **idle}, {"node": 3, "cou": 1, **busy}])
    text = "".join(ET.fromstring(svg).itertext())
    assert "0  unit 0" in text
    assert "3  unit 1" in text
    assert "0  unit 1" not in text
    assert all(counter.name in text for counter in STATE_COUNTERS)


def test_the_same_bars_are_the_same_text():
    row = {counter.name: 7 for counter in STATE_COUNTERS} | {"node": 1, "cou": 0}
    assert stalls_svg([row]) == stalls_svg([row])
