"""Bench of block cutter and slice meter, several sizes under one top, against bytes that are counted one by one."""

from collections.abc import Iterator
from dataclasses import dataclass

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import Datatype
from rtl.cou.shapes import CouShapes
from rtl.cou.slice_meter import measured_layout
from testbench import clock
from testbench.bundle import Bundle
from testbench.codec import decode
from testbench.runner import parameters, report, rng
from testbench.unit_config import UNIT

SIZES = ((2, 256), (4, 512), (8, 256), (32, 2048), (64, 4096))
"""Most blocks, bytes of the intermediate result; odd and even widths of a block number."""
ITEM = {Datatype.FLOAT64: 8, Datatype.FLOAT32: 4, Datatype.DOUBLE_INT: 16, Datatype.BYTE: 1}


def shapes_of(n_blocks: int, result: int) -> CouShapes:
    """Of a part of this size."""
    return CouShapes(UNIT.changed(
        datapath={"data_width": 64, "mtu": 256}, cou={"n_blocks": n_blocks, "intermediate_bytes": result},
    ))


def bundle() -> Bundle:
    """A cutter and a meter of each size."""
    from rtl.cou.block_cutter import BlockCutter
    from rtl.cou.slice_meter import SliceMeter

    parts = {}
    for n_blocks, result in SIZES:
        parts[f"cutter_{n_blocks}"] = BlockCutter(n_blocks=n_blocks)
        parts[f"meter_{n_blocks}"] = SliceMeter(shapes=shapes_of(n_blocks, result))
    return Bundle(parts)


@dataclass(frozen=True)
class Message:
    """Bytes, and how they are cut."""

    elements: int
    item: int
    n_blocks: int

    @property
    def block_elements(self) -> int:
        """Of a full block."""
        return -(-self.elements // self.n_blocks)

    def block(self, number: int) -> range:
        """Addresses of a block's bytes."""
        size = self.block_elements
        return range(
            self.item * min(number * size, self.elements), self.item * min((number + 1) * size, self.elements)
        )

    def pieces(self, first: int, count: int, offset: int, pulse: int) -> list[range]:
        """Parts of the blocks of a slice that a pulse takes."""
        blocks = range(first, first + count) if count else range(self.n_blocks)
        return [self.block(number)[offset:offset + pulse] for number in blocks if number < self.n_blocks]


class Part:
    """Inputs and outputs of one part."""

    def __init__(self, dut: SimHandleBase, name: str):
        self.dut, self.name = dut, name

    def set(self, **values: int) -> None:
        """Drives inputs."""
        for key, value in values.items():
            getattr(self.dut, f"{self.name}__{key}").value = value

    def get(self, key: str) -> int:
        """Reads an output."""
        return int(getattr(self.dut, f"{self.name}__{key}").value)


async def cut(part: Part, message: Message, datatype: Datatype) -> tuple[int, int, int]:
    """Has the message cut and checks the sizes; (bytes of a block, full ones, bytes of the one behind them)."""
    part.set(
        start=1, clear=1, length=message.elements * message.item, block_count=message.n_blocks, datatype=int(datatype)
    )
    await RisingEdge(part.dut.clk)
    part.set(start=0, clear=0, length=0, block_count=0)  # they need not stay
    await RisingEdge(part.dut.clk)
    while part.get("busy"):
        await RisingEdge(part.dut.clk)
    size, full, tail = part.get("block_bytes"), part.get("n_full"), part.get("tail_bytes")
    lengths = [len(message.block(number)) for number in range(message.n_blocks)]
    assert size == lengths[0]
    if message.elements:
        assert full == sum(length == size for length in lengths), message
        assert tail == next((length for length in lengths if length < size), 0), message
        return size, full, tail
    assert (size, tail) == (0, 0)
    return 0, full, 0


def slices(n_blocks: int, numbers) -> Iterator[tuple[int, int]]:
    """First block and count: all, the empty one, the first, the last, any."""
    yield from ((0, 0), (n_blocks, 1), (0, 1), (n_blocks - 1, 1), (0, n_blocks))
    for _ in range(4):
        first = numbers.randrange(n_blocks)
        yield first, numbers.randint(1, n_blocks - first)


@cocotb.test()
@cocotb.parametrize(size=SIZES)
async def slices_lie_where_their_bytes_do(dut: SimHandleBase, size: tuple[int, int]) -> None:
    """Position, size and pieces of every kind of slice of messages around every boundary."""
    most, result = size
    cutter, meter = Part(dut, f"cutter_{most}"), Part(dut, f"meter_{most}")
    await clock.start(dut, max_cycles=2_000_000)
    cutter.set(start=0, clear=0)
    meter.set(run=0)
    numbers, shape = rng(f"slices {most}"), measured_layout(shapes_of(most, result))
    measured = 0
    for _ in range(parameters()["messages"]):
        n_blocks = numbers.choice((2, most, numbers.randint(2, most)))
        datatype = numbers.choice(list(ITEM))
        pulse = 16 * numbers.randint(1, min(256, result // n_blocks) // 16)
        per_block = numbers.choice((0, 1, pulse // ITEM[datatype], 3 * pulse // ITEM[datatype], numbers.randrange(99)))
        elements = max(0, per_block * n_blocks + numbers.choice((0, 1, -1, 1 - n_blocks, numbers.randrange(n_blocks))))
        message = Message(elements, ITEM[datatype], n_blocks)
        block_bytes, full, tail = await cut(cutter, message, datatype)
        if not elements:
            continue
        for offset in {0, (block_bytes - 1) // pulse * pulse, numbers.randrange(0, block_bytes, pulse)}:
            for first, count in slices(n_blocks, numbers):
                meter.set(
                    run=1, first=first, count=count, block_count=n_blocks, n_full=full, block_bytes=block_bytes,
                    tail_bytes=tail, offset=offset, bytes=min(pulse, block_bytes - offset), pulse_bytes=pulse,
                )
                await RisingEdge(dut.clk)
                while not meter.get("done"):
                    await RisingEdge(dut.clk)
                before = sum(map(len, message.pieces(0, first, offset, pulse))) if first else 0
                inside = message.pieces(first, count, offset, pulse)
                found = decode(shape, meter.get("o"))
                got = {key: found[key] for key in ("position", "size", "n_pieces", "last_bytes")}
                whole = min(pulse, block_bytes - offset)
                assert got == {
                    "position": before, "size": sum(map(len, inside)),
                    "n_pieces": sum(number < full for number in range(first, first + (count or n_blocks))),
                    "last_bytes": next((len(piece) for k, piece in enumerate(inside) if first + k == full), 0),
                }, (message, first, count, offset, pulse)
                assert got["n_pieces"] * whole + got["last_bytes"] == got["size"]
                if got["size"]:
                    assert found["start"] == inside[0].start
                meter.set(run=0)
                for _ in range(1 + numbers.randrange(2)):
                    await RisingEdge(dut.clk)
                measured += 1
    report(**{f"slices_{most}": measured})
