"""The assignment of jobs to offload units, and the packets on their way to them."""

import pytest

from rtl.nic.job_locator import JobLocator
from rtl.nic.job_table import JobTable
from testbench.runner import run_bench


@pytest.mark.parametrize("n_units", [1, 2, 8])
def test_job_table(n_units):
    table = JobTable(n_units=n_units, n_packets=136, level_bits=8, n_credits=5, pool=4)
    result = run_bench(
        table, bench="testbench.nic.job_table_bench",
        parameters={"n_units": n_units, "touches": 1200, "n_credits": table.n_credits, "pool": table.pool},
    )
    print(", ".join(f"{count} {name}" for name, count in result.report.items()))
    assert min(result.report["let_in"], result.report["refused"], result.report["found"]) > 0
    assert min(result.report["closed"], result.report["opened"], result.report["not_opened"]) > 0
    assert bool(result.report["moved"]) == (n_units > 1)


@pytest.mark.parametrize("vc", [0, 1])
def test_job_locator(vc):
    result = run_bench(
        JobLocator(data_width=64, n_vps=16, vc=vc), bench="testbench.nic.locator_bench",
        parameters={"vc": vc, "n_vps": 16, "data_width": 64, "packets": 300},
    )
    assert min(result.report["asked"], result.report["unknown"], result.report["others"]) > 0


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_units": 3}, "n_units must be a power of two, 1 to 16, not 3"),
        ({"n_units": 32}, "n_units must be a power of two, 1 to 16, not 32"),
        ({"n_jobs": 100}, "n_jobs must be a power of two, 1 to 256, not 100"),
        ({"n_packets": 0}, "n_packets must be at least 1, not 0"),
        ({"n_credits": 0}, "n_credits must be at least 1, not 0"),
        ({"pool": -1}, "pool must be at least 0, not -1"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        JobTable(**{"n_units": 2, "n_packets": 8, "level_bits": 4, "n_credits": 2, "pool": 0} | parameters)
