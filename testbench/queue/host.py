"""The host's side of the queues: what a driver and a process do."""

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import Right
from firmware_models.abi.registers import CONTROL_PAGE
from firmware_models.host import Allocator, Memory, PortSteps, RingBases, Rings
from testbench.cou.port_memory import PortMemory
from testbench.host import BenchHost
from testbench.queue.axil import axi_lite_master
from testbench.queue.parts import DATA_WIDTH, FIRST_INDEX
from testbench.runner import parameters

ADDRESS_BITS = parameters().get("address_bits", 64)
"""Bits of an address of the queues under test."""
RECEIVE_RINGS = 0x1_0000_0000 if ADDRESS_BITS > 32 else 0x8000_0000
"""Receive rings stand from here on, in memory that there is not."""
ALL_RIGHTS = (1 << len(Right)) - 1


class HostVp(PortSteps):
    """One VP as its process sees it.

    Members
    -------
    window : (int, int)
        Its window 0.
    seen : list of dict
        Completions read so far.
    """

    def __init__(self, vp: int, memory: Memory, *, sizes: Rings, bases: RingBases, window: tuple[int, int]):
        super().__init__(vp, memory, sizes=sizes, bases=bases, first=FIRST_INDEX)
        self.window = window
        self.seen: list[dict[str, int]] = []


class Host(BenchHost):
    """Memory, registers and rings.

    Parameters
    ----------
    dut : SimHandleBase
        A ``QueueSystem``.
    memory_bytes : int
        Bytes of host memory; rings are laid out from address 0x1000 on.
    """

    def __init__(self, dut: SimHandleBase, *, memory_bytes: int = 1 << 20):
        super().__init__(dut, axi_lite_master(dut), PortMemory(dut, DATA_WIDTH, memory_bytes))
        self.vps: dict[int, HostVp] = {}
        self._rings = Allocator(first=0x1000, limit=lambda: memory_bytes, owner="the bench")

    async def open(
        self, vp: int, *, dq_log2: int = 6, cq_log2: int = 6, rq_log2: int = 2,
        window: tuple[int, int] = (0x10_0000, 0x20_0000),
    ) -> HostVp:
        """Lays out the rings of a VP and enables it."""
        port = HostVp(
            vp, self.shared, sizes=Rings(dq_log2=dq_log2, cq_log2=cq_log2, rq_log2=rq_log2), window=window,
            bases=RingBases(
                dq=self._rings.allocate(formats.DESCRIPTOR.bytes << dq_log2, alignment=formats.DESCRIPTOR.bytes),
                cq=self._rings.allocate(formats.COMPLETION.bytes << cq_log2, alignment=formats.DESCRIPTOR.bytes),
                rq=RECEIVE_RINGS + (vp << 20),
            ),
        )
        self.vps[vp] = port
        port.completions.clear()
        if max(window) < 1 << ADDRESS_BITS:
            await self.carry_out(port.enable(*window))
        else:
            await self._enable_beyond(port, window)
        return port

    async def _enable_beyond(self, port: HostVp, window: tuple[int, int]) -> None:
        """Enables a VP with a window that the library refuses: its addresses have more bits than the NIC's."""
        await self.carry_out(port.enable(0, 0))
        for name, address in (("base", window[0]), ("limit", window[1])):
            await self.write(f"vp_window_{name}_lo", address & 0xFFFF_FFFF)
            await self.write(f"vp_window_{name}_hi", address >> 32)
        await self.write("vp_commit", CONTROL_PAGE.pack("vp_commit", enable=1))

    async def register(self, vp: int, index: int, window: tuple[int, int], rights: int) -> None:
        """Registers window `index` of a VP."""
        named = [right for right in Right if rights >> right & 1]
        await self.carry_out(self.vps[vp].register_window(index, *window, named))

    async def withdraw(self, vp: int, index: int) -> None:
        """Withdraws window `index` of a VP."""
        await self.carry_out(self.vps[vp].withdraw_window(index))

    def put(self, port: HostVp, descriptors: list[int]) -> list[int]:
        """Writes descriptors (their bits) into the ring; returns their addresses. The doorbell is the caller's."""
        return port.post(b"".join(bits.to_bytes(formats.DESCRIPTOR.bytes, "little") for bits in descriptors))

    async def ring(self, port: HostVp) -> None:
        """Rings the doorbell for everything that was put."""
        await self.carry_out(port.ring())

    def poll(self, port: HostVp) -> list[dict[str, int]]:
        """Reads the completions that are there, without telling the NIC."""
        new: list[dict[str, int]] = []
        # The NIC has no room for more completions until it gets the acknowledgement.
        while len(new) < port.completions.size and (entry := port.take_completion()) is not None:
            new.append(entry)
        port.seen += new
        return new

    async def acknowledge(self, port: HostVp) -> None:
        """Tells the NIC which completions have been read."""
        await self.carry_out(port.acknowledge())

    async def wait(self, port: HostVp, count: int, *, acknowledge: bool = True) -> list[dict[str, int]]:
        """The next `count` completions of a VP."""
        found: list[dict[str, int]] = []
        while len(found) < count:
            new = self.poll(port)
            found += new
            if new and acknowledge:
                await self.acknowledge(port)
            await RisingEdge(self.dut.clk)
        assert len(found) == count, f"vp {port.vp}: {len(found)} completions, not {count}"
        return found
