"""Packetizer and depacketizer."""

import pytest

from rtl.link.depacketizer import Depacketizer
from rtl.link.packetizer import Packetizer
from testbench.link.packetizer_bench import bundle
from testbench.runner import run_bench


def test_frames():
    run_bench(bundle(), bench="testbench.link.packetizer_bench", parameters={"packets": 100})


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("bad", [0, 32, 96, 1024])
def test_width_is_checked(bad):
    with pytest.raises(ValueError, match=f"^data_width must be 64, 128, 256 or 512, not {bad}$"):
        Packetizer(data_width=bad)
    with pytest.raises(ValueError, match=f"^data_width must be 64, 128, 256 or 512, not {bad}$"):
        Depacketizer(data_width=bad, mtu=256)


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("bad", [0, 32, 100])
def test_mtu_is_checked(bad):
    with pytest.raises(ValueError, match=f"^mtu must be a power of two and at least 64, not {bad}$"):
        Depacketizer(data_width=64, mtu=bad)
