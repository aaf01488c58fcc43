"""Credits of single peers and of multicast groups."""

import pytest

from firmware_models.config.load import parse_config
from rtl.cou.credit_table import CreditTable
from testbench.runner import run_bench


@pytest.mark.parametrize("peer_credits", [1, 2, 6])
def test_credit_table(peer_credits):
    yaml = f"cou: {{n_jobs: 2, n_peers: 4, peer_credits: {peer_credits}, buffer_bytes: 32768}}\n"
    result = run_bench(
        CreditTable(parse_config(yaml, source="test")), bench="testbench.cou.credit_bench",
        parameters={"peer_credits": peer_credits, "yaml": yaml, "requests": 400},
    )
    assert min(result.report[name] for name in ("granted", "refused", "owing", "settled")) > 0
