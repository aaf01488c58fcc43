"""The memory of a NIC's host in the FPGA."""

import pytest

from fpga.selftest.access import Access, Answer
from fpga.selftest.on_chip_memory import OnChipMemory
from testbench.runner import run_bench


@pytest.mark.parametrize("data_width", [64, 128])
def test_on_chip_memory(data_width: int) -> None:
    layouts = {"access": list(Access.members.items()), "answer": list(Answer.members.items())}
    run_bench(
        OnChipMemory(n_bytes=2048, data_width=data_width), bench="testbench.fpga.on_chip_memory_bench",
        parameters={"bytes": 2048, "layouts": layouts},
    )


@pytest.mark.usefixtures("refusal")
def test_refusals() -> None:
    with pytest.raises(ValueError, match="n_bytes must be a power of two from 16 to 16777216, not 1000"):
        OnChipMemory(n_bytes=1000, data_width=64)
