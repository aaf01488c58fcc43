"""Credits of single peers and of multicast groups, and loans."""

import pytest

from firmware_models.config.load import parse_config
from rtl.credit.credit_table import CreditTable
from testbench.runner import run_bench


@pytest.mark.parametrize(("peer_credits", "lends"), [(1, False), (2, False), (1, True), (2, True), (6, True)])
def test_credit_table(peer_credits, lends):
    yaml = (
        f"cou: {{n_jobs: 2, n_peers: 4, peer_credits: {peer_credits}, buffer_bytes: 32768,"
        f" lending: {str(lends).lower()}}}\n"
    )
    result = run_bench(
        CreditTable(parse_config(yaml, source="test")), bench="testbench.credit.credit_bench",
        parameters={"peer_credits": peer_credits, "lends": lends, "yaml": yaml, "requests": 1200},
    )
    assert min(result.report[name] for name in ("granted", "refused", "owing", "settled")) > 0
