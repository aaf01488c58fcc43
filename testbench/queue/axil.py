"""A bus manager for AXI4-Lite."""

from itertools import cycle

from cocotb.handle import SimHandleBase
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from testbench.pause import pauses
from testbench.runner import rng


def axi_lite_master(dut: SimHandleBase, prefix: str = "bus") -> AxiLiteMaster:
    """An AXI4-Lite manager on port `prefix` that pauses on all channels."""
    axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, f"{prefix}_"), dut.clk, dut.rst)
    numbers = rng("axi-lite pauses")
    for channel in (
        axil.write_if.aw_channel, axil.write_if.w_channel, axil.write_if.b_channel,
        axil.read_if.ar_channel, axil.read_if.r_channel,
    ):
        pattern = pauses(numbers, None)
        channel.set_pause_generator(cycle([next(pattern) for _ in range(509)]))
    return axil
