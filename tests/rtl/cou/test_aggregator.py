"""The aggregator by itself."""

from functools import partial

from rtl.cou.aggregator import Aggregator
from testbench.cou.aggregator_bench import config
from testbench.runner import run_bench


def test_aggregator():
    """Eight contexts on both paths, integers: every byte that a pass keeps, sends or writes, whatever waits."""
    result = run_bench(
        partial(Aggregator, config()), bench="testbench.cou.aggregator_bench", parameters={"passes": 75}
    )
    print(result.report)
    assert result.report["passes"] == 600
