"""Paths of the pieces of a slice."""

from testbench.cou.piece_bench import WIDTHS, bundle
from testbench.runner import run_bench


def test_pieces():
    """Pieces of every size at every byte of a flit, at a narrow and a wide data path."""
    result = run_bench(bundle(), bench="testbench.cou.piece_bench", parameters={"batches": 80})
    print(result.report)
    assert all(result.report[f"pieces_{width}"] > 500 for width in WIDTHS)
