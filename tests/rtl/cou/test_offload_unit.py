"""The offload unit as a whole: trigger, aggregator, credits."""

from functools import partial

import pytest

from rtl.cou.offload_unit import OffloadUnit
from testbench.runner import run_bench
from testbench.unit_config import UNIT


def unit_and_parameters(
    *, data_width=64, ecc=False, n_peers=4, peer_credits=3, lending=True, mode="cuckoo", address_bits=64
):
    """A unit of four jobs, and what its benches are told of it. With `lending` it has a pool."""
    config = UNIT.changed(
        datapath={"data_width": data_width, "mtu": 256},
        cou={"n_jobs": 4, "n_contexts": 8, "sequence_depth": 8, "n_peers": n_peers, "peer_credits": peer_credits,
             "buffer_bytes": 16384 if lending else 32768, "lending": lending, "ecc": ecc, "buffer_mode": mode},
        nic={"address_bits": address_bits},
    )
    return partial(OffloadUnit, config), {
        "data_width": data_width, "mtu": 256, "n_jobs": 4, "ecc": ecc, "peer_credits": peer_credits,
        "n_slots": config.buffer_slots, "pool": config.pool_packets,
    }


@pytest.mark.parametrize(("data_width", "ecc", "n_peers", "peer_credits", "lending", "rounds"), [
    (64, True, 4, 3, True, 6),
    pytest.param(64, False, 4, 3, True, 60, marks=pytest.mark.long),
    pytest.param(64, True, 8, 2, False, 60, marks=pytest.mark.long),
    pytest.param(256, True, 4, 3, True, 60, marks=pytest.mark.long),
    pytest.param(256, False, 8, 2, False, 60, marks=pytest.mark.long),
])
def test_offload_unit(data_width, ecc, n_peers, peer_credits, lending, rounds):
    """Random operations and every special case, at a narrow and a wide data path, without and with check bits, with a
    pool and without."""
    unit, parameters = unit_and_parameters(
        data_width=data_width, ecc=ecc, n_peers=n_peers, peer_credits=peer_credits, lending=lending,
    )
    result = run_bench(
        unit, bench="testbench.cou.offload_unit_bench", parameters=parameters | {"rounds": rounds},
    )
    print(f"{result.report['operations']} operations, {result.report['fired']} descriptors executed")
    assert result.report["operations"] == 4 * rounds


@pytest.mark.long
def test_narrow_addresses():
    """Operands and results of random operations, and addresses that are refused, where an address has 32 bits."""
    unit, parameters = unit_and_parameters(address_bits=32)
    result = run_bench(
        unit, bench="testbench.cou.offload_unit_bench", testcase="random_operations|end_flag",
        parameters=parameters | {"rounds": 4},
    )
    assert result.report["operations"] == 4 * 4


@pytest.mark.long
def test_linear_probing():
    """The same, credits and loans included, with the paper's packet buffer."""
    unit, parameters = unit_and_parameters(mode="linear")
    result = run_bench(unit, bench="testbench.cou.offload_unit_bench", parameters=parameters | {"rounds": 8})
    assert result.report["operations"] == 4 * 8
    unit, parameters = unit_and_parameters(mode="linear")
    run_bench(unit, bench="testbench.cou.lending_bench", parameters=parameters)


@pytest.mark.parametrize("lending", [True, pytest.param(False, marks=pytest.mark.long)])
def test_credits_and_loans(lending):
    """Both ends of credits and loans, with a pool and without."""
    unit, parameters = unit_and_parameters(lending=lending)
    assert (parameters["pool"] > 0) == lending
    run_bench(unit, bench="testbench.cou.lending_bench", parameters=parameters)
