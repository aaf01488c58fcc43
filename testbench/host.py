"""The host of a NIC in a bench: the host library behind an AXI4-Lite manager that coroutines wait for."""

from typing import Protocol

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteMaster

from firmware_models.abi.registers import vp_address
from firmware_models.host import PortSteps, carry_out_async, nic
from firmware_models.host.access import Steps, T


class BenchMemory(Protocol):
    """Host memory of a bench, read and written by the host at once."""

    def read(self, address: int, count: int) -> bytes:
        """Content of the memory."""

    def write(self, address: int, content: bytes) -> None:
        """Puts `content` there."""


class SharedMemory:
    """Memory of a bench as the host library sees it."""

    def __init__(self, memory: BenchMemory):
        self.load, self.store = memory.read, memory.write


class BenchHost:
    """Carries out the steps of the host library.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    axil : AxiLiteMaster
        Reaches its registers.
    memory : BenchMemory
        Its host memory.
    """

    def __init__(self, dut: SimHandleBase, axil: AxiLiteMaster, memory: BenchMemory):
        self.dut, self.axil, self.memory = dut, axil, memory
        self.shared = SharedMemory(memory)

    async def read_register(self, address: int) -> int:
        """Reads a register."""
        return await self.axil.read_dword(address)

    async def write_register(self, address: int, value: int, *, not_before: int = 0) -> None:
        """Writes a register, now."""
        await self.axil.write_dword(address, value)

    async def carry_out(self, steps: Steps[T]) -> T:
        """Does what steps ask for."""
        return await carry_out_async(steps, self)

    async def write(self, name: str, value: int) -> None:
        """Writes a register of the control page."""
        await self.carry_out(nic.write(name, value))

    async def read(self, name: str) -> int:
        """Reads a register of the control page."""
        return await self.carry_out(nic.read(name))

    async def counter(self, name: str) -> int:
        """Reads an event counter."""
        return await self.carry_out(nic.read_counter(name))

    async def submit(self, port: PortSteps, *descriptors: bytes) -> None:
        """Writes descriptors into the ring and rings the doorbell."""
        port.post(b"".join(descriptors))
        await self.carry_out(port.ring())

    async def completion(self, port: PortSteps) -> dict[str, int]:
        """The next completion of a port; its room is free at once."""
        while (entry := port.take_completion()) is None:
            await RisingEdge(self.dut.clk)
        await self.carry_out(port.acknowledge())
        return entry

    async def message(self, port: PortSteps) -> dict[str, int]:
        """The next mini packet of a port; its room is free at once."""
        while (entry := port.take_message()) is None:
            await RisingEdge(self.dut.clk)
        await self.carry_out(port.acknowledge_messages())
        return entry

    async def doorbell(self, vp: int, name: str, index: int) -> None:
        """Writes an index of the bench's own choice to the page of a VP, which need not exist."""
        await self.write_register(vp_address(vp, name), index)
