"""Bench of the locator: each packet comes out once, in order, beside the unit that was answered for it."""

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.interface import PlacementSignature
from testbench.clock import cycles, start
from testbench.packet import Packet, PacketSink, PacketSource
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource

_query, _answer = (
    PlacementSignature().members[name].signature.members["payload"].shape for name in ("query", "answer")
)


class Locator:
    """The locator, and a job table that answers late and as it likes."""

    def __init__(self, dut: SimHandleBase, **pauses: float):
        self.dut = dut
        width = parameters()["data_width"]
        self.rng = rng("answers")
        self.source = PacketSource(dut, "i", width, idle=pauses.get("idle"))
        self.sink = PacketSink(dut, "o", width, stall=pauses.get("stall"))
        self.answers = StreamSource(dut, "placement__answer", _answer, idle=pauses.get("idle"))
        StreamSink(dut, "placement__query", _query, stall=pauses.get("stall"), callback=self._asked)
        self.asked: list[tuple[int, int, int]] = []
        """Job, `ok` and unit of each answer."""
        self.beside: list[tuple[int, int]] = []
        """Values beside each header: `known` and the unit."""

    async def start(self) -> None:
        """Clock and reset."""
        await start(self.dut, max_cycles=100_000)
        cocotb.start_soon(self._watch())

    def _asked(self, query: dict[str, int]) -> None:
        ok, unit = int(self.rng.random() < 0.8), self.rng.randrange(4)
        self.asked.append((query["job_id"], ok, unit))
        self.answers.append({"ok": ok, "unit": unit, "base_pulse": self.rng.getrandbits(16)})

    async def _watch(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            if int(self.dut.o__header__valid.value) and int(self.dut.o__header__ready.value):
                self.beside.append((int(self.dut.known.value), int(self.dut.unit.value)))


def _packet(numbers) -> Packet:
    vc = parameters()["vc"]
    kinds = (PacketType.CREDIT, PacketType.CREDIT, PacketType.ACK) if vc else (
        PacketType.COLLECTIVE, PacketType.COLLECTIVE, PacketType.SEND, PacketType.PUT
    )
    return Packet.make(
        numbers.randbytes(numbers.choice((0, 0, 1, 8, 9, 64, 256))), type=numbers.choice(kinds), version=1,
        job_id=numbers.getrandbits(8), dest_vp=numbers.choice((0, parameters()["n_vps"] - 1, parameters()["n_vps"],
                                                                (1 << formats.VP_BITS) - 1)),
    )


@cocotb.test()
async def every_packet_beside_its_unit(dut: SimHandleBase) -> None:
    """Packets of all kinds; only those are asked for that belong to jobs."""
    locator, numbers = Locator(dut), rng("packets")
    await locator.start()
    packets = [_packet(numbers) for _ in range(parameters()["packets"])]
    for packet in packets:
        locator.source.append(packet)
    received = [await locator.sink.receive() for _ in packets]
    await cycles(dut, 20)
    assert [(dict(p.header), p.payload) for p in received] == [(dict(p.header), p.payload) for p in packets]
    vc, n_vps = parameters()["vc"], parameters()["n_vps"]
    answers = iter(locator.asked)
    counts = {"asked": 0, "unknown": 0, "others": 0}
    for packet, (known, unit) in zip(packets, locator.beside, strict=True):
        header = packet.header
        if header["type"] != (PacketType.CREDIT if vc else PacketType.COLLECTIVE):
            assert known
            counts["others"] += 1
        elif not vc and header["dest_vp"] >= n_vps:
            assert not known, "a job of a VP that there is not"
            counts["unknown"] += 1
        else:
            job, ok, wanted = next(answers)
            assert (job, ok) == (header["job_id"], known)
            assert not ok or unit == wanted
            counts["asked"] += 1
            counts["unknown"] += not ok
    assert next(answers, None) is None, "asked for a packet that belongs to no job"
    report(**counts)


@cocotb.test()
async def costs_no_throughput(dut: SimHandleBase) -> None:
    """Without pauses, packets of a header and a few beats follow each other as closely as they came."""
    locator = Locator(dut, idle=0.0, stall=0.0)
    await locator.start()
    n_packets, beats = 40, 8
    kind = PacketType.CREDIT if parameters()["vc"] else PacketType.COLLECTIVE
    for job in range(n_packets):
        length = beats * parameters()["data_width"] // 8
        locator.source.append(Packet.make(bytes(length), type=kind, version=1, job_id=job))
    begun = 0
    while len(locator.sink.received) < n_packets:
        await RisingEdge(dut.clk)
        begun += 1
    assert begun <= n_packets * (beats + 1) + 30, f"{begun} cycles for {n_packets} packets of {beats + 1}"
