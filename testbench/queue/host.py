"""The host's side of the queues: what a driver and a process do."""

from dataclasses import dataclass, field
from typing import Any

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats, registers
from firmware_models.abi.encoding import Right
from testbench.cou.host_memory import HostMemory
from testbench.queue.axil import axi_lite_master
from testbench.queue.parts import DATA_WIDTH, FIRST_INDEX
from testbench.runner import parameters

CONTROL = {register.name: register.offset for register in registers.CONTROL_PAGE}
PAGE = {register.name: register.offset for register in registers.VP_PAGE}
INDEX_MASK = 0xFFFF
ADDRESS_BITS = parameters().get("address_bits", 64)
"""Bits of an address of the queues under test."""
RECEIVE_RINGS = 0x1_0000_0000 if ADDRESS_BITS > 32 else 0x8000_0000
"""Receive rings stand from here on, in memory that there is not."""
ALL_RIGHTS = (1 << len(Right)) - 1


@dataclass
class HostVp:
    """One VP as its process sees it."""

    vp: int
    dq_base: int
    dq_log2: int
    cq_base: int
    cq_log2: int
    rq_base: int
    rq_log2: int
    window: tuple[int, int]
    dq_prod: int = FIRST_INDEX
    cq_cons: int = FIRST_INDEX
    completions: list[dict[str, int]] = field(default_factory=list)
    """Completions read so far."""
    posted: int = 0
    """Descriptors written so far."""
    finished: int = 0
    """Descriptors that belong to completions read so far, as the bench counts them."""


class Host:
    """Memory, registers and rings.

    Parameters
    ----------
    dut : SimHandleBase
        A ``QueueSystem``.
    memory_bytes : int
        Bytes of host memory; rings are laid out from address 0x1000 on.
    """

    def __init__(self, dut: SimHandleBase, *, memory_bytes: int = 1 << 20):
        self.dut = dut
        self.memory = HostMemory(dut, DATA_WIDTH, memory_bytes)
        self.axil = axi_lite_master(dut)
        self.vps: dict[int, HostVp] = {}
        self._next = 0x1000

    async def write(self, name: str, value: int) -> None:
        """Writes a register of the control page."""
        await self.axil.write_dword(CONTROL[name], value)

    async def read(self, name: str) -> int:
        """Reads a register of the control page."""
        return await self.axil.read_dword(CONTROL[name])

    async def doorbell(self, vp: int, name: str, index: int) -> None:
        """Writes a register of a VP's page."""
        await self.axil.write_dword(registers.VP_PAGES + vp * registers.VP_PAGE_BYTES + PAGE[name], index)

    async def counter(self, name: str) -> int:
        """Reads an event counter."""
        index = [counter.name for counter in registers.EVENT_COUNTERS].index(name)
        low = await self.axil.read_dword(registers.COUNTERS + 8 * index)
        return low | await self.axil.read_dword(registers.COUNTERS + 8 * index + 4) << 32

    def _allocate(self, size: int) -> int:
        start = (self._next + 127) & ~127
        self._next = start + size
        assert self._next <= len(self.memory.data), "host memory is full"
        return start

    async def open(
        self, vp: int, *, dq_log2: int = 6, cq_log2: int = 6, rq_log2: int = 2,
        window: tuple[int, int] = (0x10_0000, 0x20_0000),
    ) -> HostVp:
        """Lays out the rings of a VP and enables it."""
        port = HostVp(
            vp=vp, dq_base=self._allocate(128 << dq_log2), dq_log2=dq_log2, cq_base=self._allocate(64 << cq_log2),
            cq_log2=cq_log2, rq_base=RECEIVE_RINGS + (vp << 20), rq_log2=rq_log2, window=window,
        )
        self.vps[vp] = port
        wide = {
            "dq_base": port.dq_base, "cq_base": port.cq_base, "rq_base": port.rq_base, "window_base": window[0],
            "window_limit": window[1],
        }
        values = {"vp_select": vp, "vp_dq_log2": dq_log2, "vp_cq_log2": cq_log2, "vp_rq_log2": rq_log2}
        for name, value in wide.items():
            values |= {f"vp_{name}_lo": value & 0xFFFF_FFFF, f"vp_{name}_hi": value >> 32}
        for name, value in values.items():
            await self.write(name, value)
        await self.write("vp_window_rights", ALL_RIGHTS)
        await self.write("vp_commit", 1)
        return port

    async def register(self, vp: int, index: int, window: tuple[int, int], rights: int) -> None:
        """Registers window `index` of a VP."""
        values = {"vp_select": vp, "window_select": index, "vp_window_rights": rights}
        for name, value in (("base", window[0]), ("limit", window[1])):
            values |= {f"vp_window_{name}_lo": value & 0xFFFF_FFFF, f"vp_window_{name}_hi": value >> 32}
        for name, value in values.items():
            await self.write(name, value)
        await self.write("window_commit", 1)

    async def withdraw(self, vp: int, index: int) -> None:
        """Withdraws window `index` of a VP."""
        for name, value in (("vp_select", vp), ("window_select", index), ("window_commit", 0)):
            await self.write(name, value)

    def free(self, port: HostVp) -> int:
        """Descriptors that the ring has room for, by the completions that have been read."""
        return (1 << port.dq_log2) - (port.posted - port.finished)

    def put(self, port: HostVp, descriptors: list[int | bytes]) -> list[int]:
        """Writes descriptors (their bits) into the ring; returns their addresses. The doorbell is the caller's."""
        places = []
        for bits in descriptors:
            raw = bits if isinstance(bits, bytes) else bits.to_bytes(formats.DESCRIPTOR.bytes, "little")
            place = port.dq_base + (port.dq_prod & ((1 << port.dq_log2) - 1)) * formats.DESCRIPTOR.bytes
            self.memory.data[place:place + len(raw)] = raw
            port.dq_prod = (port.dq_prod + 1) & INDEX_MASK
            port.posted += 1
            places.append(place)
        return places

    async def ring(self, port: HostVp) -> None:
        """Rings the doorbell for everything that was put."""
        await self.doorbell(port.vp, "dq_prod", port.dq_prod)

    def poll(self, port: HostVp) -> list[dict[str, int]]:
        """Reads the completions that are there, without telling the NIC."""
        new: list[dict[str, int]] = []
        while len(new) <= 1 << port.cq_log2:
            index = port.cq_cons
            place = port.cq_base + (index & ((1 << port.cq_log2) - 1)) * formats.COMPLETION.bytes
            entry = formats.COMPLETION.unpack(bytes(self.memory.data[place:place + formats.COMPLETION.bytes]))
            # The first lap after a commit starts in the middle of the index range here: its phase is its index's.
            fresh = entry["timestamp"] != 0 and entry["phase"] == (~index >> port.cq_log2 & 1)
            if not fresh:
                break
            port.cq_cons = (index + 1) & INDEX_MASK
            new.append(entry)
        port.completions += new
        return new

    async def acknowledge(self, port: HostVp) -> None:
        """Tells the NIC which completions have been read."""
        await self.doorbell(port.vp, "cq_cons", port.cq_cons)

    async def wait(self, port: HostVp, count: int, *, acknowledge: bool = True) -> list[dict[str, int]]:
        """The next `count` completions of a VP."""
        found: list[Any] = []
        while len(found) < count:
            new = self.poll(port)
            found += new
            if new and acknowledge:
                await self.acknowledge(port)
            await RisingEdge(self.dut.clk)
        assert len(found) == count, f"vp {port.vp}: {len(found)} completions, not {count}"
        return found
