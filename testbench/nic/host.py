"""The host of a NIC in its bench: memory behind AXI4, registers behind AXI4-Lite, rings."""

from dataclasses import dataclass, field

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import registers
from firmware_models.abi.encoding import Right
from firmware_models.abi.formats import COMPLETION, DESCRIPTOR, RECEIVE
from testbench.dma.memory import HostMemory
from testbench.queue.axil import axi_lite_master

_CONTROL = {register.name: register.offset for register in registers.CONTROL_PAGE}
_PAGE = {register.name: register.offset for register in registers.VP_PAGE}
RING_LOG2 = 3


@dataclass
class Port:
    """One VP: where its rings are, and how far they have been used."""

    vp: int
    base: int
    produced: int = 0
    completed: int = 0
    received: int = 0
    window: range = field(default_factory=lambda: range(0))

    @property
    def dq(self) -> int:
        """Descriptor ring."""
        return self.base

    @property
    def cq(self) -> int:
        """Completion ring."""
        return self.base + (DESCRIPTOR.bytes << RING_LOG2)

    @property
    def rq(self) -> int:
        """Receive ring."""
        return self.cq + (COMPLETION.bytes << RING_LOG2)


class NicHost:
    """Memory, registers and rings. VP v has its rings at 0x2000 x v and its window at 0x40000 + 0x4000 x v."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        self.memory = HostMemory(dut, "", size=1 << 20)
        self.axil = axi_lite_master(dut, "s_axil")

    async def write(self, name: str, value: int) -> None:
        """Writes a register of the control page."""
        await self.axil.write_dword(_CONTROL[name], value)

    async def read(self, name: str) -> int:
        """Reads a register of the control page."""
        return await self.axil.read_dword(_CONTROL[name])

    async def counter(self, name: str) -> int:
        """Reads an event counter."""
        index = [counter.name for counter in registers.EVENT_COUNTERS].index(name)
        low = await self.axil.read_dword(registers.COUNTERS + 8 * index)
        return low | await self.axil.read_dword(registers.COUNTERS + 8 * index + 4) << 32

    async def open(self, vp: int) -> Port:
        """Sets up and enables a VP."""
        start = 0x40000 + 0x4000 * vp
        port = Port(vp, 0x2000 * (vp + 1), window=range(start, start + 0x4000))
        values = {"vp_select": vp, "vp_dq_log2": RING_LOG2, "vp_cq_log2": RING_LOG2, "vp_rq_log2": RING_LOG2}
        for name, address in (
            ("dq_base", port.dq), ("cq_base", port.cq), ("rq_base", port.rq), ("window_base", port.window.start),
            ("window_limit", port.window.stop),
        ):
            values |= {f"vp_{name}_lo": address, f"vp_{name}_hi": 0}
        for name, value in values.items():
            await self.write(name, value)
        await self.write("vp_window_rights", (1 << len(Right)) - 1)
        await self.write("vp_commit", 1)
        return port

    async def register(self, port: Port, index: int, window: range, *rights: Right) -> None:
        """Registers a further window of a VP; without rights it is withdrawn."""
        values = {
            "vp_select": port.vp, "window_select": index, "vp_window_base_lo": window.start, "vp_window_base_hi": 0,
            "vp_window_limit_lo": window.stop, "vp_window_limit_hi": 0,
            "vp_window_rights": sum(1 << right for right in rights), "window_commit": int(bool(rights)),
        }
        for name, value in values.items():
            await self.write(name, value)

    async def submit(self, port: Port, *descriptors: bytes) -> None:
        """Writes descriptors into the ring and rings the doorbell."""
        for raw in descriptors:
            place = port.produced % (1 << RING_LOG2)
            self.memory.write(port.dq + place * DESCRIPTOR.bytes, raw)
            port.produced += 1
        await self._page(port, "dq_prod", port.produced)

    async def completion(self, port: Port) -> dict[str, int]:
        """The next completion of a VP; its room is given back at once."""
        entry = await self._entry(port.cq, port.completed, COMPLETION)
        port.completed += 1
        await self._page(port, "cq_cons", port.completed)
        return entry

    async def message(self, port: Port) -> dict[str, int]:
        """The next entry of a VP's receive ring; its room is given back at once."""
        entry = await self._entry(port.rq, port.received, RECEIVE)
        port.received += 1
        await self._page(port, "rq_cons", port.received)
        return entry

    async def _entry(self, ring: int, index: int, fmt) -> dict[str, int]:
        place = ring + index % (1 << RING_LOG2) * fmt.bytes
        phase = 1 - (index >> RING_LOG2) % 2
        while True:
            entry = fmt.unpack(self.memory.read(place, fmt.bytes))
            if entry["phase"] == phase:
                return entry
            await RisingEdge(self.dut.clk)

    async def _page(self, port: Port, name: str, index: int) -> None:
        address = registers.VP_PAGES + port.vp * registers.VP_PAGE_BYTES + _PAGE[name]
        await self.axil.write_dword(address, index % (1 << 16))
