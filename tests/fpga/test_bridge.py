"""The host's way in over a serial line, and the units behind it."""

import pytest
from amaranth.lib import data

from fpga.selftest.access import Access, Answer
from fpga.selftest.access_router import AccessRouter
from fpga.selftest.bridge import Bridge
from fpga.selftest.frame_receiver import FrameReceiver
from fpga.selftest.uart import UartTransmitter
from testbench.runner import run_bench


def fields(layout: data.StructLayout) -> list[tuple[str, int]]:
    """A layout as parameters of a bench."""
    return list(layout.members.items())


@pytest.mark.parametrize("divisor", [pytest.param(4, marks=pytest.mark.long), 7])
def test_bridge(divisor: int) -> None:
    run_bench(Bridge(divisor=divisor), bench="testbench.fpga.bridge_bench", parameters={
        "divisor": divisor, "requests": 40, "layouts": {"access": fields(Access), "answer": fields(Answer)},
    })


@pytest.mark.usefixtures("refusal")
def test_refusals() -> None:
    with pytest.raises(ValueError, match="divisor must be an integer of at least 4, not 3"):
        UartTransmitter(divisor=3)
    with pytest.raises(ValueError, match="timeout must be at least 1, not 0"):
        FrameReceiver(timeout=0)
    with pytest.raises(ValueError, match="targets must be different numbers from 0 to 255"):
        AccessRouter(targets=[1, 1])
