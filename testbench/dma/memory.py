"""Host memory behind an AXI4 bus: cocotbext-axi's model, with pauses and with ranges that answer errors."""

import logging
from collections.abc import Iterable

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiRam

from testbench.pause import pauses
from testbench.runner import rng


class AxiMemory:
    """Memory that a component reaches over ``<prefix>m_axi``.

    The model asserts that no burst crosses 4 KiB and that `wlast` is where it belongs. `bad` addresses answer SLVERR;
    a refused beat is not written.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    prefix : str
        What stands before ``m_axi`` in the names of the ports.
    size : int
        Bytes; addresses beyond it wrap.
    idle : float, optional
        Probability of a pause on each channel in each cycle; bursts of different density if not given.
    bad : iterable of range
        Byte addresses (below `size`) that are refused.
    """

    def __init__(
        self, dut: SimHandleBase, prefix: str = "", *, size: int = 1 << 20, idle: float | None = None,
        bad: Iterable[range] = (),
    ):
        self.size = size
        self.bad = list(bad)
        self.ram = AxiRam(AxiBus.from_prefix(dut, f"{prefix}m_axi_"), dut.clk, dut.rst, size=size)
        self._channels = {
            "ar": self.ram.read_if.ar_channel, "r": self.ram.read_if.r_channel, "aw": self.ram.write_if.aw_channel,
            "w": self.ram.write_if.w_channel, "b": self.ram.write_if.b_channel,
        }
        for name, channel in self._channels.items():
            channel.log.setLevel(logging.WARNING)
            if idle != 0:
                channel.set_pause_generator(pauses(rng(f"{prefix} {name}"), idle))
        for part, name in ((self.ram.read_if, "_read"), (self.ram.write_if, "_write")):
            part.log.setLevel(logging.ERROR)
            setattr(part, name, self._guarded(getattr(part, name)))

    def _guarded(self, access):
        async def guarded(address, data):
            if any(address % self.size in addresses for addresses in self.bad):
                raise PermissionError(hex(address))
            return await access(address, data)

        return guarded

    def read(self, address: int, count: int) -> bytes:
        """Content of the memory."""
        return bytes(self.ram.read(address % self.size, count))

    def write(self, address: int, content: bytes) -> None:
        """Puts `content` there."""
        self.ram.write(address % self.size, content)


async def record_bursts(dut: SimHandleBase, prefix: str, channel: str, into: list[tuple[int, int]]) -> None:
    """Appends (address, beats) of every burst on `channel` ("ar" or "aw"), for ever."""
    port = {name: getattr(dut, f"{prefix}m_axi__{channel}{name}") for name in ("valid", "ready", "addr", "len")}
    while True:
        await RisingEdge(dut.clk)
        if int(port["valid"].value) and int(port["ready"].value):
            into.append((int(port["addr"].value), int(port["len"].value) + 1))
