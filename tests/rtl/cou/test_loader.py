"""The operand loader by itself."""

from functools import partial

import pytest

from rtl.cou.operand_loader import OperandLoader
from testbench.cou import loader_ahead_bench
from testbench.cou.loader_bench import config
from testbench.runner import run_bench


@pytest.mark.parametrize("width", [64, 256])
def test_loader(width):
    """Short loads from host memory and payloads, some of them refused, whose reports are taken slowly."""
    result = run_bench(
        partial(OperandLoader, config(width)), bench="testbench.cou.loader_bench",
        parameters={"width": width, "batches": 150},
    )
    print(result.report)
    assert result.report["loads"] > 200
    assert result.report["faults"] > 10


def test_reads_ahead():
    """At latencies around those at which it begins to read further ahead, and those that are too long for that."""
    result = run_bench(
        partial(OperandLoader, loader_ahead_bench.config()), bench="testbench.cou.loader_ahead_bench",
        parameters={"loads": 60},
    )
    print(result.report)
    assert len(result.report["found"]) > 8
