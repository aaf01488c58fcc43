"""Register file and AXI4-Lite front."""

from dataclasses import replace

import pytest

from firmware_models.config.load import load_preset
from rtl.kit.axi_lite import AxiLiteFront
from rtl.nic.csr import RegisterFile
from testbench.runner import run_bench


@pytest.mark.parametrize("pipelined", [(), ("nic",)], ids=["plain", "pipelined"])
def test_register_file(pipelined):
    small = load_preset("small")
    config = replace(small, datapath=replace(small.datapath, pipelined=pipelined))
    run_bench(RegisterFile(config), bench="testbench.nic.csr_bench")


@pytest.mark.parametrize("bad", [2, 65])
def test_address_bits_are_checked(bad):
    with pytest.raises(ValueError, match=f"^address_bits must be 3 to 64, not {bad}$"):
        AxiLiteFront(address_bits=bad)
