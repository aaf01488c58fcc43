"""Membership in multicast groups."""

import pytest

from firmware_models.config.load import parse_config
from rtl.nic.group_filter import GroupFilter
from testbench.runner import run_bench


@pytest.mark.parametrize("n_groups", [1, 4])
def test_group_filter(n_groups):
    config = parse_config(f"nic: {{n_groups: {n_groups}}}\n", source="test")
    result = run_bench(
        GroupFilter(config), bench="testbench.nic.group_bench",
        parameters={"n_groups": n_groups, "data_width": config.datapath.data_width, "batches": 15},
    )
    assert 0 < result.report["dropped"] < result.report["multicasts"]
