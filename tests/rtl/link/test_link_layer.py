"""The reliable link."""

import pytest

from rtl.link.link_layer import LinkLayer
from testbench.link.go_back_n import HOP_CYCLES, go_back_n_bound
from testbench.link.layer_parts import SIZES, SIZES_4KIB, WIRE_CYCLES, layer_bundle
from testbench.link.training_bench import end
from testbench.runner import run_bench

GOOD = {"data_width": 64, "buffer_flits": 16, "replay_flits": 16, "replay_cycles": 64, "silence_cycles": 64,
        "dead_cycles": 128}


@pytest.mark.parametrize(
    "size", [name if name == "narrow" else pytest.param(name, marks=pytest.mark.long) for name in SIZES],
)
def test_layer(size):
    run_bench(
        layer_bundle(SIZES[size]), bench="testbench.link.layer_bench", parameters={"size": size, "packets": 16},
    )


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES_4KIB)
def test_layer_costs_little(size):
    report = run_bench(
        layer_bundle(SIZES_4KIB[size]), bench="testbench.link.cost_bench",
        parameters={"size": size, "rates": [1e-3], "packets": 30},
    ).report
    assert report["latency"] <= 6
    assert report["one_way"] >= 0.97
    assert report["both_ways"] >= 0.97
    # Luck with thirty packets: a tenth more than the bound.
    assert 0.7 < report["faults"][0]["goodput"] / bound(SIZES_4KIB[size].longest, 1e-3) < 1.1


def test_training():
    run_bench(end(), bench="testbench.link.training_bench")


def bound(flits, rate):
    return go_back_n_bound(flits=flits, rate=rate, trip_cycles=2 * (WIRE_CYCLES + HOP_CYCLES))


def test_bound_of_go_back_n():
    """Throughput without errors; half of that if every second packet comes whole, and this is known at once."""
    assert bound(516, 0) == 516 / 517
    assert bound(516, 1e-2) < bound(516, 1e-3) < bound(516, 0)
    half = 1 - 0.5 ** (1 / 517)
    assert go_back_n_bound(flits=516, rate=half, trip_cycles=0) == pytest.approx(516 / 517 / 2)
    assert go_back_n_bound(flits=516, rate=half, trip_cycles=517) == pytest.approx(516 / 517 / 3)
    assert bound(516, 1.0) == 0


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(("field", "bad", "message"), [
    ("replay_flits", 24, "replay_flits must be a power of two from 2 to 2048, not 24"),
    ("replay_flits", 4096, "replay_flits must be a power of two from 2 to 2048, not 4096"),
    ("buffer_flits", 32, r"buffer_flits must be from 1 to replay_flits \(16\), not 32"),
    ("replay_cycles", 100, "replay_cycles must be a power of two from 2 on, not 100"),
    ("silence_cycles", 3, "silence_cycles must be a power of two from 4 on, not 3"),
    ("dead_cycles", 100, "dead_cycles must be a power of two from 4 on, not 100"),
])
def test_sizes_are_checked(field, bad, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        LinkLayer(**GOOD | {field: bad})
