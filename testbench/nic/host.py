"""The host of a NIC in its bench: memory behind AXI4, registers behind AXI4-Lite, ports at fixed addresses."""

from cocotb.handle import SimHandleBase

from firmware_models.abi.encoding import Right
from firmware_models.abi.formats import COMPLETION, DESCRIPTOR
from firmware_models.host import Memory, PortSteps, RingBases, Rings
from testbench.dma.memory import AxiMemory
from testbench.host import BenchHost
from testbench.queue.axil import axi_lite_master

RING_LOG2 = 3


class Port(PortSteps):
    """VP v: its rings stand at 0x2000 x (v + 1), its window at 0x40000 + 0x4000 x v."""

    def __init__(self, vp: int, memory: Memory):
        base, start = 0x2000 * (vp + 1), 0x40000 + 0x4000 * vp
        completions = base + (DESCRIPTOR.bytes << RING_LOG2)
        super().__init__(
            vp, memory, sizes=Rings(dq_log2=RING_LOG2, cq_log2=RING_LOG2, rq_log2=RING_LOG2),
            bases=RingBases(dq=base, cq=completions, rq=completions + (COMPLETION.bytes << RING_LOG2)),
        )
        self.window = range(start, start + 0x4000)


class NicHost(BenchHost):
    """Memory, registers and ports of a NIC."""

    def __init__(self, dut: SimHandleBase):
        super().__init__(dut, axi_lite_master(dut, "s_axil"), AxiMemory(dut, "", size=1 << 20))

    def port(self, vp: int) -> Port:
        """A VP that is not enabled."""
        return Port(vp, self.shared)

    async def open(self, vp: int) -> Port:
        """Sets up and enables a VP."""
        port = self.port(vp)
        await self.carry_out(port.enable(port.window.start, port.window.stop))
        return port

    async def register(self, port: Port, index: int, window: range, *rights: Right) -> None:
        """Registers a further window of a VP; without rights it is withdrawn."""
        if rights:
            await self.carry_out(port.register_window(index, window.start, window.stop, rights))
        else:
            await self.carry_out(port.withdraw_window(index))
