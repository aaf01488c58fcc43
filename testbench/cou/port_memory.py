"""Host memory as a block sees it behind its DMA ports."""

import random
from collections import deque

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from rtl.interface import ReadSignature, WriteSignature
from testbench.packet import beat_count, to_beats
from testbench.runner import rng
from testbench.stream import StreamSink, StreamSource


class PortMemory:
    """Answers one ``ReadSignature`` and one ``WriteSignature`` of the component, in order, after random delays.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    data_width : int
        Bits of a flit.
    size : int
        Bytes of memory.
    read, write : str, optional
        Names of the ports; None: the component has none.

    Attributes
    ----------
    data : bytearray
        The memory.
    bad : set of int
        Addresses of requests that are answered with an error.
    """

    def __init__(
        self, dut: SimHandleBase, data_width: int, size: int, *, read: str | None = "read", write: str | None = "write"
    ):
        self.data = bytearray(size)
        self.bad: set[int] = set()
        self.clock = dut.clk
        self.data_width = data_width
        self._rng: random.Random = rng("host memory")
        reading = ReadSignature(data_width).members
        writing = WriteSignature(data_width).members
        if read is not None:
            self._reads = StreamSink(dut, f"{read}__request", reading["request"].signature.members["payload"].shape)
            self._read_data = StreamSource(dut, f"{read}__data", reading["data"].signature.members["payload"].shape)
            cocotb.start_soon(self._serve_reads())
        if write is not None:
            self._writes = StreamSink(dut, f"{write}__request", writing["request"].signature.members["payload"].shape)
            self._write_data = StreamSink(dut, f"{write}__data", writing["data"].signature.members["payload"].shape)
            self._done = StreamSource(dut, f"{write}__done", writing["done"].signature.members["payload"].shape)
            cocotb.start_soon(self._serve_writes())

    def set_stall(self, rate: float) -> None:
        """Writes are taken with this probability of a pause each cycle."""
        for sink in (self._writes, self._write_data):
            sink.set_stall(rate)

    def read(self, address: int, count: int) -> bytes:
        """Content of the memory."""
        return bytes(self.data[address:address + count])

    def write(self, address: int, content: bytes) -> None:
        """Puts `content` there."""
        assert address + len(content) <= len(self.data), f"host memory ends before {address + len(content):#x}"
        self.data[address:address + len(content)] = content

    async def _serve_reads(self) -> None:
        while True:
            request = await self._reads.receive()
            start, length = request["addr"], request["bytes"]
            assert length, "a read of no bytes"
            assert start + length <= len(self.data), f"a read outside of the memory: {start:#x}"
            for _ in range(self._rng.choice((0, 3, 60))):
                await RisingEdge(self.clock)
            error = int(start in self.bad)
            head = start % (self.data_width // 8)
            for item in to_beats(bytes(self.data[start - head:start + length]), self.data_width):
                self._read_data.append(item | {"error": error})

    async def _serve_writes(self) -> None:
        waiting: deque[dict[str, int]] = deque()
        while True:
            waiting.append(await self._writes.receive())
            request = waiting.popleft()
            start, length = request["addr"], request["bytes"]
            assert length, "a write of no bytes"
            assert start + length <= len(self.data), f"a write outside of the memory: {start:#x}"
            head = start % (self.data_width // 8)
            beats = await self._write_data.receive_all(beat_count(head + length, self.data_width))
            assert [item["last"] for item in beats] == [0] * (len(beats) - 1) + [1], "last is not at the last beat"
            written = b"".join(item["data"].to_bytes(self.data_width // 8, "little") for item in beats)
            for _ in range(self._rng.choice((0, 3, 60))):
                await RisingEdge(self.clock)
            if start not in self.bad:
                self.data[start:start + length] = written[head:head + length]
            self._done.append({"error": int(start in self.bad)})
