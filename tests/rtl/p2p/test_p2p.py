"""The point-to-point path."""

import pytest

from rtl.p2p.tracker import Tracker
from testbench.p2p.driver import bundle
from testbench.runner import run_bench

SIZES = pytest.mark.parametrize(
    ("operations", "rounds"), [(60, 1), pytest.param(400, 6, marks=pytest.mark.long)], ids=["short", "long"]
)


@SIZES
def test_p2p(operations, rounds):
    run_bench(bundle(), bench="testbench.p2p.p2p_bench", parameters={"operations": operations, "rounds": rounds})


@SIZES
def test_get(operations, rounds):
    run_bench(bundle(), bench="testbench.p2p.get_bench", parameters={"operations": operations, "rounds": rounds})


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
