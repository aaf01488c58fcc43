"""Credits of single peers and of multicast groups, and loans."""

import pytest

from firmware_models.config.load import parse_config
from rtl.cou.credit_table import CreditTable
from testbench.runner import run_bench


@pytest.mark.parametrize(("peer_credits", "lends", "pipelined"), [
    (1, False, False), (2, False, False), (1, True, False), (2, True, False), (6, True, False),
    (2, False, True), (2, True, True),
])
def test_credit_table(peer_credits, lends, pipelined):
    yaml = (
        f"datapath: {{pipelined: {['cou'] if pipelined else []}}}\n"
        f"cou: {{n_jobs: 2, n_peers: 4, peer_credits: {peer_credits}, buffer_bytes: 32768,"
        f" lending: {str(lends).lower()}}}\n"
    )
    result = run_bench(
        CreditTable(parse_config(yaml, source="test")), bench="testbench.cou.credit_bench",
        parameters={"peer_credits": peer_credits, "lends": lends, "yaml": yaml, "requests": 1200},
    )
    assert min(result.report[name] for name in ("granted", "refused", "owing", "settled")) > 0
