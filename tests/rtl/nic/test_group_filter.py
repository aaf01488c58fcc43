"""Membership in multicast groups."""

import pytest

from rtl.nic.group_filter import GroupFilter
from testbench.runner import run_bench


@pytest.mark.parametrize("n_groups", [1, 4])
def test_group_filter(n_groups):
    result = run_bench(
        GroupFilter(data_width=64, n_groups=n_groups), bench="testbench.nic.group_bench",
        parameters={"n_groups": n_groups, "data_width": 64, "batches": 15},
    )
    assert 0 < result.report["dropped"] < result.report["multicasts"]
