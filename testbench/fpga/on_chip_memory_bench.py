"""Bench of the host memory: an independent AXI4 manager and the host at once, against one array of bytes."""

from itertools import cycle

import cocotb
from amaranth.lib import data
from cocotb.handle import SimHandleBase
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

from testbench import clock
from testbench.pause import pauses
from testbench.runner import parameters, rng
from testbench.stream import StreamSink, StreamSource


class Host:
    """Accesses of the host, one at a time."""

    def __init__(self, dut: SimHandleBase):
        shapes = {name: data.StructLayout(dict(fields)) for name, fields in parameters()["layouts"].items()}
        self.accesses = StreamSource(dut, "host__access", shapes["access"])
        self.answers = StreamSink(dut, "host__answer", shapes["answer"])

    async def access(self, addr: int, *, write: bool = False, value: int = 0) -> tuple[int, int]:
        """Makes an access; its data and whether it failed."""
        await self.accesses.send({"target": 0x80, "write": int(write), "addr": addr, "data": value})
        answer = await self.answers.receive()
        return answer["data"], answer["error"]


def manager(dut: SimHandleBase) -> AxiMaster:
    """An AXI4 manager that pauses on all channels."""
    axi = AxiMaster(AxiBus.from_prefix(dut, "s_axi_"), dut.clk, dut.rst)
    numbers = rng("axi pauses")
    for channel in (
        axi.write_if.aw_channel, axi.write_if.w_channel, axi.write_if.b_channel, axi.read_if.ar_channel,
        axi.read_if.r_channel,
    ):
        pattern = pauses(numbers, None)
        channel.set_pause_generator(cycle([next(pattern) for _ in range(509)]))
    return axi


@cocotb.test()
async def holds_what_is_written(dut: SimHandleBase) -> None:
    """The bus in one half, the host in the other, at once; then each reads what the other has written."""
    host, axi = Host(dut), manager(dut)
    await clock.start(dut)
    numbers, size = rng("places"), parameters()["bytes"]
    half = size // 2
    image = bytearray(size)
    for start in range(0, size, 256):
        await axi.write(start, bytes(256))

    async def bus() -> None:
        for _ in range(60):
            length = numbers.choice((1, 7, 8, 64, 200))
            start = numbers.randrange(half - length)
            if numbers.random() < 0.5:
                image[start:start + length] = written = numbers.randbytes(length)
                assert (await axi.write(start, written)).resp is AxiResp.OKAY
            else:
                read = await axi.read(start, length)
                assert (read.resp, read.data) == (AxiResp.OKAY, bytes(image[start:start + length]))

    running = cocotb.start_soon(bus())
    words = rng("words")
    for _ in range(200):
        place = half + 4 * words.randrange(half // 4)
        if words.random() < 0.5:
            value = words.getrandbits(32)
            image[place:place + 4] = value.to_bytes(4, "little")
            assert await host.access(place, write=True, value=value) == (0, 0)
        else:
            assert await host.access(place) == (int.from_bytes(image[place:place + 4], "little"), 0)
    await running
    assert (await axi.read(half, half)).data == bytes(image[half:])
    for place in range(0, half, 4 * 17):
        assert await host.access(place) == (int.from_bytes(image[place:place + 4], "little"), 0)


@cocotb.test()
async def refuses_what_it_does_not_have(dut: SimHandleBase) -> None:
    """Beyond the end, and between words: errors, and nothing changes."""
    host, axi = Host(dut), manager(dut)
    await clock.start(dut)
    size = parameters()["bytes"]
    await axi.write(0, bytes(range(64)))
    for start in (size, 1 << 24, 1 << 40):
        assert (await axi.write(start, bytes(64))).resp is AxiResp.DECERR
        assert (await axi.read(start, 64)).resp is AxiResp.DECERR
    for addr in (size, 1, 2):
        assert await host.access(addr, write=True, value=7) == (0, 1)
        assert await host.access(addr) == (0, 1)
    assert (await axi.read(0, 64)).data == bytes(range(64))
