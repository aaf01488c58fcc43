"""A small switch at full load, from C++: every packet once, nearly the line rate."""

import pytest

from firmware_models.config import load_preset
from testbench.switch.load_driver import drive

CYCLES = 10_000


@pytest.fixture(scope="module")
def config():
    return load_preset("small").changed(
        switch={"radix": 4, "table_entries": 4, "mft_entries": 16}, link={"buffer_flits": 512},
    )


@pytest.mark.parametrize(("pattern", "payload", "least"), [
    ("uniform", 0, 0.95), ("permutation", 0, 0.99), ("permutation", 32, 0.99), ("multicast", 0, 0.85),
])
def test_throughput(config, pattern, payload, least):
    counts = drive(config, pattern, payload_flits=payload, fanout=2, cycles=CYCLES)
    assert (counts["lost"], counts["mismatches"], counts["credits_back"]) == (0, 0, True)
    assert counts["flits"] / 4 / CYCLES >= least


def test_hop(config):
    counts = drive(config, "latency")
    assert counts["mismatches"] == 0
    assert counts["max"] <= 7


def test_bad_requests(config):
    with pytest.raises(ValueError, match=r"^pattern must be one of uniform, .*, not 'random'$"):
        drive(config, "random")
    with pytest.raises(ValueError, match=r"^fanout must be from 1 to 3, not 4$"):
        drive(config, "multicast", fanout=4)
