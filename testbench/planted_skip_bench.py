"""Bench with a test that does not apply to every component."""

import cocotb
from cocotb.handle import SimHandleBase

from testbench import clock
from testbench.runner import parameters


@cocotb.test()
async def applies(dut: SimHandleBase) -> None:
    """Applies always."""
    await clock.start(dut, max_cycles=100)


@cocotb.test()
@cocotb.skipif(not parameters().get("complete"), reason="the build is not complete")
async def applies_to_some(dut: SimHandleBase) -> None:
    """Applies to complete builds only."""
    await clock.start(dut, max_cycles=100)
