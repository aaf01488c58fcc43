"""Where blocks and slices lie."""

from testbench.cou.blocks_bench import SIZES, bundle
from testbench.runner import run_bench


def test_blocks():
    """Cutter and meter of several sizes, among them odd widths of a block number."""
    result = run_bench(bundle(), bench="testbench.cou.blocks_bench", parameters={"messages": 60})
    print(result.report)
    assert all(result.report[f"slices_{most}"] > 500 for most, _ in SIZES)
