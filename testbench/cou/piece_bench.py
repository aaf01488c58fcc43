"""Bench of the piece writer at a narrow and a wide data path, against slices of a byte array."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb
from amaranth.lib.wiring import Component
from cocotb.handle import SimHandleBase

from testbench import clock
from testbench.bundle import Bundle
from testbench.cou.port_memory import PortMemory
from testbench.edge import every_cycle, level
from testbench.packet import to_beats
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource
from testbench.unit_config import UNIT

WIDTHS = (64, 256)
MEMORY = 8192
JOBS = 4
N_GAPLESS = 8
"""Runs of up to two pieces that follow each other: no more pieces than can be unacknowledged at once (16)."""


def writer(width: int) -> Component:
    """The component."""
    from rtl.cou.piece_writer import PieceWriter
    from rtl.cou.shapes import CouShapes

    config = UNIT.changed(datapath={"data_width": width, "mtu": 256}, cou={"n_jobs": JOBS, "n_blocks": 16})
    return PieceWriter(shapes=CouShapes(config))


def bundle() -> Bundle:
    """A writer of each width."""
    return Bundle({f"writer_{width}": writer(width) for width in WIDTHS})


def stream_shapes(width: int) -> dict[str, Any]:
    """Payload shapes of the writer's streams."""
    members = writer(width).signature.members
    return {name: members[name].signature.members["payload"].shape for name in ("i", "i_beat", "o_written")}


@dataclass(frozen=True)
class Run:
    """Pieces that follow each other in the stream and lie `stride` apart in memory."""

    job: int
    addr: int
    sizes: tuple[int, ...]
    stride: int

    def fields(self) -> dict[str, Any]:
        """As the writer takes it: pieces of one size, and a smaller one behind them that may be empty."""
        whole = max(self.sizes)
        count = sum(size == whole for size in self.sizes)
        last = self.sizes[-1] if count < len(self.sizes) else 0
        return {
            "job": self.job, "addr": self.addr,
            "pieces": {"count": count, "bytes": whole, "last_bytes": last, "stride": self.stride},
        }


def random_run(numbers: random.Random, flit: int) -> Run:
    """Any; sizes and addresses around the boundaries of a flit."""
    size = numbers.choice((1, flit - 1, flit, flit + 1, 2 * flit, numbers.randint(1, 256 // 4)))
    count = numbers.choice((1, 1, 2, numbers.randint(1, 256 // size), 16))
    count = max(1, min(count, 256 // size, 15))
    sizes = [size] * count
    if numbers.random() < 0.5 and size > 1:
        sizes.append(numbers.choice((1, size - 1, numbers.randint(1, size - 1))))
    stride = size + numbers.choice((0, 1, flit - 1, flit, numbers.randrange(3 * flit)))
    room = MEMORY - (len(sizes) * stride + size)
    addr = numbers.choice((0, numbers.randrange(room), numbers.randrange(room) // flit * flit, room))
    return Run(numbers.randrange(JOBS), addr, tuple(sizes), stride)


@cocotb.test()
@cocotb.parametrize(width=WIDTHS)
async def pieces_go_where_they_belong(dut: SimHandleBase, width: int) -> None:
    """Every byte of a run is at its address, no other byte changes, refused writes are reported to their job."""
    name, flit = f"writer_{width}", width // 8
    ports = stream_shapes(width)
    memory = PortMemory(dut, width, MEMORY, read=None, write=f"{name}__write")
    runs = StreamSource(dut, f"{name}__i", ports["i"])
    beats = StreamSource(dut, f"{name}__i_beat", ports["i_beat"])
    reports = StreamSink(dut, f"{name}__o_written", ports["o_written"])
    await clock.start(dut, max_cycles=400_000)
    numbers = rng(f"runs {width}")
    memory.data[:] = numbers.randbytes(MEMORY)
    pieces = n_runs = 0
    for _ in range(parameters()["batches"]):
        # Runs of a batch may overlap: they are written in order.
        expected, answers = bytearray(memory.data), []
        memory.bad.clear()
        batch = [random_run(numbers, flit) for _ in range(numbers.randint(1, 6))]
        if numbers.random() < 0.3:
            memory.bad.add(batch[-1].addr + batch[-1].stride * numbers.randrange(len(batch[-1].sizes)))
        for run in batch:
            content = numbers.randbytes(sum(run.sizes))
            runs.append(run.fields())
            for item in to_beats(content, width, padding=numbers.getrandbits(width)):
                beats.append(item["data"])
            error, position = 0, 0
            for number, size in enumerate(run.sizes):
                start = run.addr + number * run.stride
                if start in memory.bad:
                    error = 1
                else:
                    expected[start:start + size] = content[position:position + size]
                position += size
            answers.append({"job": run.job, "error": error})
            pieces += len(run.sizes)
        found = await reports.receive_all(len(batch))
        assert found == answers
        assert memory.data == expected
        n_runs += len(batch)
    await clock.cycles(dut, 50)
    assert len(reports.received) == n_runs
    report(**{f"pieces_{width}": pieces})


@cocotb.test()
@cocotb.parametrize(width=WIDTHS)
async def runs_follow_each_other_without_a_gap(dut: SimHandleBase, width: int) -> None:
    """If nobody waits, a beat goes to memory in every cycle from the first run's first to the last run's last one."""
    name, flit = f"writer_{width}", width // 8
    ports = stream_shapes(width)
    memory = PortMemory(dut, width, MEMORY, read=None, write=f"{name}__write")
    memory.set_stall(0)
    runs = StreamSource(dut, f"{name}__i", ports["i"], idle=0)
    beats = StreamSource(dut, f"{name}__i_beat", ports["i_beat"], idle=0)
    reports = StreamSink(dut, f"{name}__o_written", ports["o_written"])
    await clock.start(dut, max_cycles=10_000)
    valid = level(getattr(dut, f"{name}__write__data__valid"))
    busy: list[int] = []
    every_cycle(dut.clk, lambda: busy.append(valid()))
    numbers = rng(f"gapless {width}")
    # As short as can be: two beats of memory while the next piece of a run is worked out, three for the next run.
    n_beats = 0
    for _ in range(N_GAPLESS):
        job, addr = numbers.randrange(JOBS), numbers.randrange(MEMORY // 2)
        run = Run(job, addr, (flit * numbers.randint(3, 6),), 0)
        if numbers.randrange(2):
            run = Run(job, addr // flit * flit, (2 * flit,) * 2, 2 * flit + 1)
        sizes = run.sizes
        runs.append(run.fields())
        for item in to_beats(numbers.randbytes(sum(sizes)), width):
            beats.append(item["data"])
        for number, size in enumerate(sizes):
            start = run.addr + number * run.stride
            n_beats += (start + size - 1) // flit - start // flit + 1
    await reports.receive_all(N_GAPLESS)
    first, last = busy.index(1), len(busy) - 1 - busy[::-1].index(1)
    assert sum(busy) == n_beats
    assert last - first + 1 == n_beats, f"{last - first + 1 - n_beats} cycles without a beat"
