"""The memory of a NIC's host in the FPGA."""

import pytest

from fpga.selftest.access import Access, Answer
from fpga.selftest.host_memory import HostMemory
from testbench.runner import run_bench


@pytest.mark.parametrize("data_width", [64, 128])
def test_host_memory(data_width: int) -> None:
    run_bench(HostMemory(n_bytes=2048, data_width=data_width), bench="testbench.fpga.host_memory_bench", parameters={
        "bytes": 2048, "layouts": {"access": list(Access.members.items()), "answer": list(Answer.members.items())},
    })


def test_refusals() -> None:
    with pytest.raises(ValueError, match="n_bytes must be a power of two from 16 to 16777216, not 1000"):
        HostMemory(n_bytes=1000, data_width=64)
