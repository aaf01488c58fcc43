"""Treatment of closed jobs by an offload unit."""

from rtl.cou.command import CouShapes
from rtl.cou.job_closer import JobCloser
from testbench.cou.closer_bench import config
from testbench.runner import run_bench


def test_closer():
    """Some jobs, closed and opened at random, beside operations and packets that come and go."""
    unit = config()
    closer = JobCloser(shapes=CouShapes(unit), n_jobs=unit.cou.n_jobs, n_slots=unit.buffer_slots)
    result = run_bench(closer, bench="testbench.cou.closer_bench", parameters={"orders": 100})
    print(result.report)
    assert min(result.report.values()) > 0
