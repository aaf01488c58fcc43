"""The operand loader between a host memory and whoever takes its reports, at their leisure, against a naive copy."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase

from firmware_models.abi.encoding import Status
from firmware_models.abi.formats import PAYLOAD_BYTES
from firmware_models.config import Config
from testbench import clock
from testbench.codec import decoder
from testbench.cou.port_memory import PortMemory
from testbench.edge import bits, every_cycle
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource
from testbench.unit_config import UNIT

MEMORY, CONTEXTS, JOBS, PLACES = 4096, 4, 4, 8
"""No more contexts than loads are under way, so that loads end in the order of their requests."""
_IN_MEMORY = 3
"""Cycles from the last beat of a load until it can be read."""


def config(width: int) -> Config:
    """Of the component."""
    return UNIT.changed(
        datapath={"data_width": width, "mtu": 256},
        cou={"n_jobs": JOBS, "n_contexts": CONTEXTS, "sequence_depth": PLACES, "n_blocks": 4,
             "intermediate_bytes": 256},
    )


@dataclass(frozen=True)
class Load:
    """A load, and what it should bring."""

    fields: dict[str, Any]
    content: bytes
    bad: bool

    @property
    def is_beside(self) -> bool:
        """Its end is not reported."""
        return bool(self.fields["beside"])

    def reports(self) -> list[tuple[str, dict[str, int]]]:
        """Its reports, in order."""
        fault = {"job": self.fields["job"], "status": int(Status.MEMORY_ERROR), "detail": self.fields["addr"]}
        return [*([("o_fault", fault)] if self.bad else []), ("o", {"context": self.fields["context"]})]


class Bench:
    """Drivers and monitors of a loader."""

    def __init__(self, dut: SimHandleBase, width: int):
        from rtl.cou.operand_loader import OperandLoader

        loader = OperandLoader(config(width))
        members = loader.signature.members
        shapes = {name: members[name].signature.members["payload"].shape for name in ("i", "o", "o_fault")}
        self.dut, self.flit, self.beat_bits = dut, width // 8, loader.beat_bits
        self.numbers: random.Random = rng(f"loads {width}")
        self.memory = PortMemory(dut, width, MEMORY, write=None)
        self.memory.data[:] = self.numbers.randbytes(MEMORY)
        self.payloads = {(job, place): self.numbers.randbytes(PAYLOAD_BYTES)
                         for job in range(JOBS) for place in range(PLACES)}
        self.loads = StreamSource(dut, "i", shapes["i"])
        self.heard: list[tuple[str, dict[str, int]]] = []
        # Reports are taken slowly, so that short loads end while the one before is still being reported.
        StreamSink(dut, "o", shapes["o"], stall=0.9, callback=lambda item: self.heard.append(("o", item)))
        StreamSink(
            dut, "o_fault", shapes["o_fault"], stall=0.9, callback=lambda item: self.heard.append(("o_fault", item))
        )
        self._place = decoder(members["words"].signature.members["address"].shape)

    async def begin(self) -> None:
        """Clock and reset."""
        await clock.start(self.dut, max_cycles=200_000)
        place = bits(self.dut.words__address)

        def answer() -> None:
            asked = self._place(place())
            begin = asked["index"] * self.flit
            word = self.payloads[asked["job"], asked["position"]][begin:begin + self.flit]
            self.dut.words__word.value = int.from_bytes(word, "little")
        every_cycle(self.dut.clk, answer)

    def load(self, context: int) -> Load:
        """Any, short ones more often than not."""
        numbers = self.numbers
        job, place = numbers.randrange(JOBS), numbers.randrange(PLACES)
        size = numbers.choice((1, self.flit - 1, self.flit, self.flit + 1, numbers.randint(1, PAYLOAD_BYTES // 2)))
        count, last = numbers.choice(((1, 0), (1, 0), (2, 0), (1, numbers.randint(1, size)), (3, 0)))
        stride = size + numbers.choice((0, 1, self.flit))
        sizes = [size] * count + [last] * (last > 0)
        span = stride * (len(sizes) - 1) + sizes[-1]
        from_payload = int(span <= PAYLOAD_BYTES and numbers.randrange(2))
        source = self.payloads[job, place] if from_payload else bytes(self.memory.data)
        addr = numbers.randrange(len(source) - span + 1)
        starts = [addr + number * stride for number in range(len(sizes))]
        bad = not from_payload and any(start in self.memory.bad for start in starts)
        return Load({
            "context": context, "job": job, "position": place, "from_payload": from_payload,
            "beside": from_payload & numbers.randrange(2), "addr": addr,
            "pieces": {"count": count, "bytes": size, "last_bytes": last, "stride": stride},
        }, b"".join(source[start:start + length] for start, length in zip(starts, sizes, strict=True)), bad)

    async def stored(self, context: int, size: int) -> bytes:
        """Content of the operand memory of a context, by either of its read ports."""
        port = f"operands__{self.numbers.randrange(2)}__"
        found = b""
        for number in range(-(-size // self.flit)):
            getattr(self.dut, f"{port}address").value = context << self.beat_bits | number
            getattr(self.dut, f"{port}enable").value = 1
            getattr(self.dut, f"{port}advance").value = 1
            await clock.cycles(self.dut, 3)
            found += int(getattr(self.dut, f"{port}data").value).to_bytes(self.flit, "little")
        getattr(self.dut, f"{port}enable").value = 0
        return found[:size]


@cocotb.test()
async def every_load_is_reported_once(dut: SimHandleBase) -> None:
    """In order, faults first, those beside a pass not at all; and its bytes are there then."""
    bench = Bench(dut, parameters()["width"])
    numbers = bench.numbers
    await bench.begin()
    loads = faults = 0
    for _ in range(parameters()["batches"]):
        bench.memory.bad = set(numbers.sample(range(MEMORY), MEMORY // 8))
        contexts = numbers.sample(range(CONTEXTS), numbers.randint(1, CONTEXTS))
        batch = [bench.load(context) for context in contexts]
        expected = [one for load in batch if not load.is_beside for one in load.reports()]
        bench.heard.clear()
        for load in batch:
            bench.loads.append(load.fields)
        while bench.loads.pending or not int(dut.idle.value) or len(bench.heard) < len(expected):
            await clock.cycles(dut, 1)
        # An operand loaded beside its pass can be read once `filling` has fallen; no report follows for it.
        await clock.cycles(dut, _IN_MEMORY + 30)
        assert bench.heard == expected
        assert not int(dut.filling.value)
        for load in batch:
            if not load.bad:
                assert await bench.stored(load.fields["context"], len(load.content)) == load.content
        loads += len(batch)
        faults += sum(load.bad for load in batch)
    report(loads=loads, faults=faults)
