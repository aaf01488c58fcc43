"""Credits of single peers and of multicast groups, and loans."""

import pytest

from firmware_models.abi.formats import WIRE
from rtl.credit.credit_table import CreditTable
from testbench.runner import run_bench


@pytest.mark.parametrize(("peer_credits", "lends"), [(1, False), (2, False), (1, True), (2, True), (6, True)])
def test_credit_table(peer_credits, lends):
    result = run_bench(
        CreditTable(formats=WIRE, n_peers=4, peer_credits=peer_credits, shares=lends),
        bench="testbench.credit.credit_bench",
        parameters={"n_peers": 4, "peer_credits": peer_credits, "lends": lends, "requests": 1200},
    )
    assert min(result.report[name] for name in ("granted", "refused", "owing", "settled", "written_off")) > 0
