"""The point-to-point path."""

from functools import partial

import pytest

from rtl.p2p.tracker import Tracker
from testbench.p2p.driver import bundle
from testbench.runner import run_bench

SIZES = pytest.mark.parametrize(
    ("pipelined", "operations", "rounds"),
    [
        (False, 60, 1), pytest.param(True, 20, 1, marks=pytest.mark.long),
        pytest.param(False, 400, 6, marks=pytest.mark.long), pytest.param(True, 400, 6, marks=pytest.mark.long),
    ],
    ids=["short", "short-pipelined", "long", "long-pipelined"],
)


def run(bench, pipelined, operations, rounds):
    """Runs a bench on an instance of each width; short runs with registers, and of GET, on the narrow one alone."""
    narrow = rounds == 1 and (pipelined or bench.endswith("get_bench"))
    run_bench(
        partial(bundle, pipelined=pipelined, widths=(64,) if narrow else (64, 256)), bench=bench,
        parameters={"operations": operations, "rounds": rounds}, testcase="width=64" if narrow else None,
    )


@SIZES
def test_p2p(pipelined, operations, rounds):
    run("testbench.p2p.p2p_bench", pipelined, operations, rounds)


@SIZES
def test_get(pipelined, operations, rounds):
    run("testbench.p2p.get_bench", pipelined, operations, rounds)


@pytest.mark.parametrize(("bench", "address_bits"), [
    ("p2p_bench", 32), pytest.param("get_bench", 40, marks=pytest.mark.long),
])
def test_narrow_addresses(bench, address_bits):
    run_bench(
        partial(bundle, widths=(64,), address_bits=address_bits), bench=f"testbench.p2p.{bench}",
        parameters={"operations": 40, "rounds": 1}, testcase="width=64",
    )


@pytest.mark.parametrize("preset", ["small", "paper"])
def test_presets_elaborate(preset):
    from amaranth.back import rtlil

    from firmware_models.config import load_preset
    from rtl.p2p.p2p import P2p

    rtlil.convert(P2p(load_preset(preset)))


@pytest.mark.parametrize("bad", [0, 1, 12, 512])
def test_places_are_checked(bad):
    with pytest.raises(ValueError, match=f"^n must be a power of two from 2 to 256, not {bad}$"):
        Tracker(n=bad)
