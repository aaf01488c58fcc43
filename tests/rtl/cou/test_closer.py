"""Treatment of closed jobs by an offload unit."""

import pytest

from rtl.cou.job_closer import JobCloser
from rtl.cou.shapes import CouShapes
from testbench.cou.closer_bench import config
from testbench.runner import run_bench


@pytest.mark.parametrize("orders", [40, pytest.param(100, marks=pytest.mark.long)])
def test_closer(orders):
    """Some jobs, closed and opened at random, beside operations and packets that come and go."""
    unit = config()
    closer = JobCloser(shapes=CouShapes(unit), n_jobs=unit.cou.n_jobs, n_slots=unit.buffer_slots)
    result = run_bench(closer, bench="testbench.cou.closer_bench", parameters={"orders": orders})
    print(result.report)
    assert min(result.report.values()) > 0
