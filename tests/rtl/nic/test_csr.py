"""Register file and AXI4-Lite front."""

from dataclasses import replace
from functools import partial

import pytest

from firmware_models.config.load import load_preset
from rtl.kit.axi_lite import AxiLiteFront
from rtl.nic.csr import RegisterFile
from rtl.nic.event_counters import EventCounters
from rtl.nic.state_counters import StateCounters
from testbench.runner import run_bench


def test_register_file():
    run_bench(partial(RegisterFile, load_preset("small")), bench="testbench.nic.csr_bench")


@pytest.mark.parametrize("address_bits", [32, 40])
def test_narrow_addresses(address_bits):
    small = load_preset("small")
    config = replace(small, nic=replace(small.nic, address_bits=address_bits))
    run_bench(
        partial(RegisterFile, config), bench="testbench.nic.csr_bench", parameters={"address_bits": address_bits},
        testcase="registers_hold|commits|windows_pass|unmapped",
    )


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("bad", [2, 65])
def test_address_bits_are_checked(bad):
    with pytest.raises(ValueError, match=f"^address_bits must be 3 to 64, not {bad}$"):
        AxiLiteFront(address_bits=bad)


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("bad", [0, 32])
def test_events_of_a_cycle_are_checked(bad):
    with pytest.raises(ValueError, match=f"^max_events must be from 1 to 31, not {bad}$"):
        EventCounters(max_events=bad)


def test_state_counters():
    run_bench(StateCounters(), bench="testbench.nic.states_bench", parameters={"cycles": 20_000, "before": 1})
