"""Membership in multicast groups."""

import pytest

from rtl.nic.group_filter import GroupFilter
from testbench.runner import run_bench
from testbench.unit_config import UNIT


@pytest.mark.parametrize("n_groups", [1, 4])
def test_group_filter(n_groups):
    config = UNIT.changed(nic={"n_groups": n_groups})
    result = run_bench(
        GroupFilter(config), bench="testbench.nic.group_bench",
        parameters={"n_groups": n_groups, "data_width": config.datapath.data_width, "batches": 15},
    )
    assert 0 < result.report["dropped"] < result.report["multicasts"]
