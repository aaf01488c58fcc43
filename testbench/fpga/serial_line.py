"""The host's end of a serial line."""

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import ClockCycles, RisingEdge

from testbench.runner import rng


class SerialLine:
    """Sends bytes on the design's ``rx`` with random pauses, and collects what comes on its ``tx``.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    divisor : int
        Clock cycles of a bit.
    """

    def __init__(self, dut: SimHandleBase, *, divisor: int):
        self.dut, self.divisor = dut, divisor
        self.received = bytearray()
        """Bytes that came, with a stop bit of 1."""
        self._pauses = rng("serial line pauses")

    async def start(self) -> None:
        """Lets the line idle and begins to listen; to be called after ``clock.start``."""
        self.dut.rx.value = 1
        cocotb.start_soon(self._listen())
        await ClockCycles(self.dut.clk, 4 * self.divisor)

    async def send(self, data: bytes, *, hurry: bool = False) -> None:
        """Sends bytes; without `hurry` with a pause now and then."""
        for byte in data:
            for bit in (0, *(byte >> place & 1 for place in range(8)), 1):
                self.dut.rx.value = bit
                await ClockCycles(self.dut.clk, self.divisor)
            if not hurry and self._pauses.random() < 0.1:
                await ClockCycles(self.dut.clk, self._pauses.randrange(4 * self.divisor))

    async def receive(self, count: int, *, most: int = 20_000) -> bytes:
        """The next `count` bytes, or those that came within `most` cycles."""
        for _ in range(most):
            if len(self.received) >= count:
                break
            await RisingEdge(self.dut.clk)
        data, self.received = bytes(self.received[:count]), self.received[count:]
        return data

    async def _listen(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            if self.dut.tx.value == 1:
                continue
            await ClockCycles(self.dut.clk, self.divisor // 2)
            byte = 0
            for place in range(8):
                await ClockCycles(self.dut.clk, self.divisor)
                byte |= int(self.dut.tx.value) << place
            await ClockCycles(self.dut.clk, self.divisor)
            assert self.dut.tx.value == 1, "a byte without a stop bit"
            self.received.append(byte)
