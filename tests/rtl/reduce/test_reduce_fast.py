"""Every operation of the reduce unit on millions of elements, against the arithmetic of this machine."""


import pytest

from rtl.reduce.operation import OPERATIONS
from testbench.reduce.reduce_fast import check
from testbench.seed import drawn


@pytest.fixture
def seed():
    return drawn()


def assert_clean(report, requests):
    log = report.pop("log")
    print(report)
    assert report["mismatches"] == 0, log
    # A DOUBLE_INT takes two requests where there is one lane.
    assert report["checked"] >= requests
    assert len(report["elements"]) == len(OPERATIONS)
    assert min(report["elements"].values()) > requests / len(OPERATIONS) / 2


@pytest.mark.parametrize(("data_width", "add_cycles"), [(64, 5), pytest.param(128, 8, marks=pytest.mark.long)])
def test_every_operation(data_width, add_cycles, seed):
    requests = 4_000_000
    assert_clean(check(requests=requests, seed=seed, data_width=data_width, add_cycles=add_cycles), requests)


@pytest.mark.long
@pytest.mark.parametrize("data_width", [64, 128, 256, 512])
@pytest.mark.parametrize("add_cycles", range(5, 17))
def test_every_width_and_depth(data_width, add_cycles, seed):
    requests = 2_000_000
    assert_clean(check(requests=requests, seed=seed, data_width=data_width, add_cycles=add_cycles), requests)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_million_requests(part, seed):
    """A tenth of them in each part, with a seed of its own."""
    requests = 10_000_000
    assert_clean(check(requests=requests, seed=seed + part), requests)
