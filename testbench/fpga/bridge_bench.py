"""Bench of the bridge from a serial line to accesses: every frame is carried out whole, or not at all."""

from random import Random
from typing import Any

import cocotb
from amaranth.lib import data
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.board import MAX_WORDS, FrameStatus, Op, pack_answer, pack_request
from testbench import clock
from testbench.fpga.serial_line import SerialLine
from testbench.runner import parameters, rng
from testbench.stream import StreamSink, StreamSource

MAX_CYCLES = 2_000_000


class Words:
    """Answers accesses from a store of words; those of targets from 0x80 on fail."""

    def __init__(self, dut: SimHandleBase):
        shapes = {name: data.StructLayout(dict(fields)) for name, fields in parameters()["layouts"].items()}
        self.accesses = StreamSink(dut, "access__access", shapes["access"])
        self.answers = StreamSource(dut, "access__answer", shapes["answer"])
        self.dut = dut
        self.words: dict[tuple[int, int], int] = {}
        self.done: list[tuple[int, int, int, int]] = []
        """Target, address, whether written, data of every access."""

    async def serve(self) -> None:
        """Answers one access after the other."""
        while True:
            await RisingEdge(self.dut.clk)
            while self.accesses.received:
                access = self.accesses.received.pop(0)
                place = access["target"], access["addr"]
                self.done.append((*place, access["write"], access["data"]))
                error = int(access["target"] >= 0x80)
                if access["write"] and not error:
                    self.words[place] = access["data"]
                value = 0 if access["write"] or error else self.words.get(place, 0)
                await self.answers.send({"data": value, "error": error})


async def prepare(dut: SimHandleBase) -> tuple[SerialLine, Words]:
    """A bench that is ready: line and words."""
    line, words = SerialLine(dut, divisor=parameters()["divisor"]), Words(dut)
    await clock.start(dut, max_cycles=MAX_CYCLES)
    await line.start()
    cocotb.start_soon(words.serve())
    return line, words


def random_request(numbers: Random) -> dict[str, Any]:
    """Fields of a request that is in order."""
    op = numbers.choice(list(Op))
    count = numbers.choice((1, 2, 3, 8, MAX_WORDS)) if numbers.random() < 0.3 else numbers.randint(1, 6)
    count += op is Op.LIST and count % 2
    target = numbers.choice((0, 1, 0x40, 0x80))
    words = tuple(numbers.getrandbits(32) for _ in range(count))
    if op is Op.LIST:
        words = tuple(
            word if place % 2 else numbers.choice((0, 1, 0x40)) << 24 | numbers.getrandbits(8) * 4
            for place, word in enumerate(words)
        )
    return {
        "op": op, "tag": numbers.getrandbits(8), "target": target, "address": numbers.getrandbits(8) * 4,
        "words": () if op is Op.READ else words, "count": count,
    }


def expected(request: dict[str, Any], words: dict[tuple[int, int], int]) -> tuple[bytes, list[tuple[int, ...]]]:
    """The answer to a request and the writes that it makes; `words` is brought up to date."""
    op, target, address = request["op"], request["target"], request["address"]
    if op is Op.LIST:
        pairs = zip(request["words"][::2], request["words"][1::2], strict=True)
        writes = [(place >> 24, place & 0xFFFFFF, value) for place, value in pairs]
    else:
        writes = [(target, address + 4 * place, value) for place, value in enumerate(request["words"])]
    if target >= 0x80 and op is not Op.LIST:
        return pack_answer(status=FrameStatus.BUS_ERROR, tag=request["tag"]), []
    if op is Op.READ:
        found = tuple(words.get((target, address + 4 * place), 0) for place in range(request["count"]))
        return pack_answer(status=FrameStatus.OK, tag=request["tag"], words=found), []
    words.update({(where, place): value for where, place, value in writes})
    return pack_answer(status=FrameStatus.OK, tag=request["tag"]), writes


@cocotb.test()
async def carries_out_requests(dut: SimHandleBase) -> None:
    """Random reads, writes and lists: the right accesses in the right order, and the right answers."""
    line, words = await prepare(dut)
    numbers, model = rng("requests"), {}
    for _ in range(parameters()["requests"]):
        request = random_request(numbers)
        words.done.clear()
        await line.send(pack_request(**request))
        answer, writes = expected(request, model)
        assert await line.receive(len(answer), most=60_000) == answer
        if request["op"] is not Op.READ:
            assert [(target, addr, value) for target, addr, write, value in words.done if write][:len(writes)] == writes
            assert len(words.done) == (len(writes) or 1), "accesses after one that failed, or too many"
    assert words.words == model


@cocotb.test()
async def leaves_out_damaged_frames(dut: SimHandleBase) -> None:
    """A frame with a wrong bit, or without its end, does nothing; the one after it is carried out."""
    line, words = await prepare(dut)
    numbers, model = rng("damage"), {}
    for _ in range(parameters()["requests"]):
        request = random_request(numbers)
        frame = bytearray(pack_request(**request))
        words.done.clear()
        if numbers.random() < 0.3:
            frame = frame[:numbers.randrange(1, len(frame))]
        else:
            place = numbers.randrange(1, len(frame))
            frame[place] ^= 1 << numbers.randrange(8)
        await line.send(bytes(frame))
        # Longer than the board waits for the rest: whatever it says, it is no answer that everything is well.
        heard = await line.receive(1 << 16, most=(64 + 4) * 10 * parameters()["divisor"] + 2_000)
        bad = {pack_answer(status=status, tag=tag)[:2] for status in (FrameStatus.BAD_CRC,) for tag in range(256)}
        assert not heard or heard[:2] in bad, heard
        assert not words.done, "a damaged frame was carried out"
        request = random_request(numbers)
        await line.send(pack_request(**request))
        answer, _ = expected(request, model)
        assert await line.receive(len(answer), most=60_000) == answer


@cocotb.test()
async def refuses_what_it_does_not_know(dut: SimHandleBase) -> None:
    """Unknown ops, no words, half a pair: BAD_REQUEST and no access."""
    line, words = await prepare(dut)
    for op, request in ((9, (1, 2)), (Op.LIST, (1,))):
        await line.send(pack_request(op=op, tag=5, target=0, address=0, words=request))
        answer = pack_answer(status=FrameStatus.BAD_REQUEST, tag=5)
        assert await line.receive(len(answer)) == answer
    assert not words.done


@cocotb.test()
async def survives_noise(dut: SimHandleBase) -> None:
    """Glitches, breaks and bytes that begin no frame before a request that is answered."""
    line, _ = await prepare(dut)
    numbers = rng("noise")
    divisor = parameters()["divisor"]
    for _ in range(20):
        dut.rx.value = 0
        await clock.cycles(dut, numbers.choice((1, divisor // 4, 12 * divisor)))
        dut.rx.value = 1
        await clock.cycles(dut, 70 * 10 * divisor)
        await line.send(bytes(byte for byte in numbers.randbytes(3) if byte != 0xA5), hurry=True)
        request = {"op": Op.READ, "tag": numbers.getrandbits(8), "target": 0, "address": 0, "count": 1}
        await line.send(pack_request(**request))
        answer = pack_answer(status=FrameStatus.OK, tag=request["tag"], words=(0,))
        assert await line.receive(len(answer)) == answer
