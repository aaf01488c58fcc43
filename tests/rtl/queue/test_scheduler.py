"""The scheduler by itself."""

from functools import partial

import pytest

from rtl.queue.scheduler import Scheduler
from testbench.runner import run_bench


@pytest.mark.parametrize(("n_cous", "depth", "batch"), [(4, 4, 3), (1, 2, 2)])
def test_scheduler(n_cous, depth, batch):
    """Turns of four VPs: every kind of unit, refused and blocked in every way, fetched in one piece or several."""
    result = run_bench(
        partial(Scheduler, n_cous=n_cous, sequence_depth=depth, batch=batch),
        bench="testbench.queue.scheduler_bench",
        parameters={"n_cous": n_cous, "depth": depth, "batch": batch, "units": 600},
    )
    print(result.report)
    assert result.report["turns"] > 100


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_cous": 3}, "n_cous must be a power of two, not 3"),
        ({"batch": 0}, "batch must be 1 to 65535, not 0"),
        ({"batch": 1 << 16}, "batch must be 1 to 65535, not 65536"),
    ],
)
def test_parameters_are_checked(change, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Scheduler(**{"n_cous": 1, "sequence_depth": 4} | change)
