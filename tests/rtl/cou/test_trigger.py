"""The order-preserving trigger by itself."""

from functools import partial

from testbench.cou.trigger_bench import config
from testbench.cou.trigger_board import TriggerBoard
from testbench.runner import run_bench


def test_trigger():
    """Two jobs on four contexts: packets in any order, slow neighbours, wrong lengths and addresses, packets that never
    come; every pass is the next one, every fault is reported once."""
    result = run_bench(
        partial(TriggerBoard, config()), bench="testbench.cou.trigger_bench", parameters={"operations": 40}
    )
    print(result.report)
    assert result.report["passes_late"] > 200
    assert result.report["given_up_early"] > 10
