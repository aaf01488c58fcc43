"""The point-to-point path."""

from functools import partial

import pytest

from rtl.p2p.tracker import Tracker
from testbench.p2p.driver import bundle
from testbench.runner import run_bench

SIZES = pytest.mark.parametrize(
    ("operations", "rounds"), [(60, 1), pytest.param(400, 6, marks=pytest.mark.long)], ids=["short", "long"],
)


def run(bench, operations, rounds):
    """Runs a bench on an instance of each width; short runs of GET on the narrow one alone."""
    narrow = rounds == 1 and ".get_" in bench
    run_bench(
        partial(bundle, widths=(64,) if narrow else (64, 256)), bench=bench,
        parameters={"operations": operations, "rounds": rounds}, testcase="width=64" if narrow else None,
    )


@SIZES
def test_p2p(operations, rounds):
    run("testbench.p2p.p2p_bench", operations, rounds)


@SIZES
def test_get(operations, rounds):
    run("testbench.p2p.get_bench", operations, rounds)


@SIZES
def test_turns_of_gets(operations, rounds):
    run("testbench.p2p.get_turns_bench", operations, rounds)


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


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("bad", [0, 1, 12, 512])
def test_places_are_checked(bad):
    with pytest.raises(ValueError, match=f"^n must be a power of two from 2 to 256, not {bad}$"):
        Tracker(n=bad)
