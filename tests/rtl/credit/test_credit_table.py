"""Credits of single peers and of multicast groups, and loans."""

import pytest

from rtl.credit.credit_table import CreditTable
from testbench.runner import run_bench
from testbench.unit_config import UNIT


@pytest.mark.parametrize(("peer_credits", "lends"), [(1, False), (2, False), (1, True), (2, True), (6, True)])
def test_credit_table(peer_credits, lends):
    cou = {"n_jobs": 2, "n_peers": 4, "peer_credits": peer_credits, "buffer_bytes": 32768, "lending": lends}
    result = run_bench(
        CreditTable(UNIT.changed(cou=cou)), bench="testbench.credit.credit_bench",
        parameters={"peer_credits": peer_credits, "lends": lends, "cou": cou, "requests": 1200},
    )
    assert min(result.report[name] for name in ("granted", "refused", "owing", "settled", "written_off")) > 0
