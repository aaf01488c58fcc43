"""Membership in multicast groups."""

import pytest

from firmware_models.config.load import parse_config
from rtl.nic.group_filter import GroupFilter
from testbench.runner import run_bench


@pytest.mark.parametrize(("n_groups", "pipelined"), [(1, []), (4, []), (4, ["nic"])])
def test_group_filter(n_groups, pipelined):
    config = parse_config(f"datapath: {{pipelined: {pipelined}}}\nnic: {{n_groups: {n_groups}}}\n", source="test")
    result = run_bench(
        GroupFilter(config), bench="testbench.nic.group_bench",
        parameters={"n_groups": n_groups, "data_width": config.datapath.data_width, "batches": 15},
    )
    assert 0 < result.report["dropped"] < result.report["multicasts"]
