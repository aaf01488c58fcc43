"""Bench of the DMA engine: every byte against a model of memory, at all boundaries, with pauses everywhere."""

from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import Combine, RisingEdge

from rtl.interface import ReadSignature, WriteSignature
from testbench import clock
from testbench.bundle import Bundle
from testbench.coverage import cover
from testbench.dma.memory import AxiMemory, record_bursts
from testbench.packet import to_beats
from testbench.runner import parameters, rng
from testbench.stream import StreamSink, StreamSource

READERS = 4
WRITERS = 3
BURST_BEATS = {64: 16, 256: 64}
"""Longest burst of each width; at 256 bits it covers half a page."""
REGION = 0x20000
"""Bytes of memory that belong to one client."""


def bundle(*, address_bits: int = 64) -> Bundle:
    """An engine of each width."""
    from rtl.dma.engine import DmaEngine

    return Bundle({
        f"dma_{width}": DmaEngine(
            n_readers=READERS, n_writers=WRITERS, data_width=width, max_burst_beats=beats, id_width=4,
            address_bits=address_bits,
        )
        for width, beats in BURST_BEATS.items()
    })


def address_bits() -> int:
    """Bits of an address of the engine under test."""
    return parameters().get("address_bits", 64)


@dataclass(frozen=True)
class Transfer:
    """A request; `failed` if it touches a refused address."""

    address: int
    length: int
    failed: bool = False


def boundary_transfers(name: str, width: int, count: int, client: int) -> list[Transfer]:
    """Transfers in the client's region that end at, just before or just after a boundary: each of flit, burst and page
    with each of the three, and again.

    Half of them begin within a flit, many at a boundary or a flit before or after.
    """
    numbers = rng(name)
    flit = width // 8
    burst = flit * BURST_BEATS[width]
    transfers, position = [], client * REGION
    ends = [(boundary, distance) for boundary in (flit, burst, 4096) for distance in (-1, 0, 1)]
    for k in range(count):
        if k % len(ends) == 0:
            numbers.shuffle(ends)
        boundary, distance = ends[k % len(ends)]
        offset = numbers.choice((0, flit, boundary - flit, numbers.randrange(0, 4096, flit)))
        start = (position // 4096 + 1) * 4096 + offset + numbers.choice((0, numbers.randrange(1, flit)))
        end = (start // boundary + numbers.choice((1, 1, 2))) * boundary
        larger = {flit: burst, burst: 4096}.get(boundary)
        if larger and not end % larger:
            end += boundary
        length = max(1, end + distance - start)
        position = start + length
        if position > (client + 1) * REGION - 8192:
            position = client * REGION
        # High address bits are kept by the engine and ignored by the memory.
        transfers.append(Transfer(start + (numbers.getrandbits(30) << 33 if k % 2 else 0), length))
    return transfers


def payload_shapes(signature: Any) -> dict[str, Any]:
    """Payload of every stream of a signature."""
    return {name: member.signature.members["payload"].shape for name, member in signature.members.items()}


def end_of(transfer: Transfer, width: int) -> tuple[str, int] | None:
    """The largest boundary at which a transfer ends, or one byte before or after; None if there is none."""
    flit = width // 8
    end = transfer.address + transfer.length
    for name, boundary in (("page", 4096), ("burst", flit * BURST_BEATS[width]), ("flit", flit)):
        for distance in (-1, 0, 1):
            if not (end - distance) % boundary:
                return name, distance
    return None


noted_end = cover("end of a transfer", direction=("read", "write"), width=tuple(BURST_BEATS),
                  boundary=("flit", "burst", "page"), distance=(-1, 0, 1))
noted_start = cover("start of a transfer", direction=("read", "write"), width=tuple(BURST_BEATS),
                    within_flit=(False, True), failed=(False, True), never=[
                        (direction, width, True, True) for direction in ("read", "write") for width in BURST_BEATS
                    ])


def note(direction: str, width: int, transfer: Transfer) -> None:
    """Enters a transfer that was carried out into the coverage."""
    noted_start(direction=direction, width=width, within_flit=bool(transfer.address % (width // 8)),
                failed=transfer.failed)
    if end := end_of(transfer, width):
        noted_end(direction=direction, width=width, boundary=end[0], distance=end[1])


class Reader:
    """One client that reads: sends requests and compares what comes back."""

    def __init__(self, dut: SimHandleBase, width: int, index: int, *, pause: float | None = None):
        name = f"dma_{width}__i_read__{index}"
        shapes = payload_shapes(ReadSignature(width))
        self.width = width
        self.request = StreamSource(dut, f"{name}__request", shapes["request"], idle=pause)
        self.data = StreamSink(dut, f"{name}__data", shapes["data"], stall=pause)

    async def run(self, transfers: list[Transfer], content: bytes) -> None:
        """Reads all of `transfers`; memory holds `content`."""
        flit = self.width // 8
        self.request.extend({"addr": t.address, "bytes": t.length} for t in transfers)
        for transfer in transfers:
            head = transfer.address % flit
            count = -(-(head + transfer.length) // flit)
            beats = await self.data.receive_all(count)
            assert [beat["last"] for beat in beats] == [0] * (count - 1) + [1], transfer
            assert beats[-1]["error"] == int(transfer.failed), transfer
            if not transfer.failed:
                got = b"".join(beat["data"].to_bytes(flit, "little") for beat in beats)[head:head + transfer.length]
                start = transfer.address % len(content)
                assert got == content[start:start + transfer.length], transfer
            note("read", self.width, transfer)


class Writer:
    """One client that writes random data and enters what memory has to hold then into `content`."""

    def __init__(self, dut: SimHandleBase, width: int, index: int, *, pause: float | None = None):
        name = f"dma_{width}__i_write__{index}"
        shapes = payload_shapes(WriteSignature(width))
        self.width = width
        self.numbers = rng(f"{name} data")
        self.request = StreamSource(dut, f"{name}__request", shapes["request"], idle=pause)
        self.data = StreamSource(dut, f"{name}__data", shapes["data"], idle=pause)
        self.done = StreamSink(dut, f"{name}__done", shapes["done"], stall=pause)

    async def run(self, transfers: list[Transfer], memory: AxiMemory, content: bytearray) -> None:
        """Writes all of `transfers`; what has been reported done must be in memory."""
        written = []
        for transfer in transfers:
            payload = self.numbers.randbytes(transfer.length)
            written.append(payload)
            self.request.append({"addr": transfer.address, "bytes": transfer.length})
            # Bytes before and beyond are not zero, so that a wrong strobe shows.
            before = self.numbers.randbytes(transfer.address % (self.width // 8))
            for beat in to_beats(before + payload, self.width, self.numbers.getrandbits(self.width)):
                self.data.append(beat)
        for transfer, payload in zip(transfers, written, strict=True):
            done = await self.done.receive()
            assert done["error"] == int(transfer.failed), transfer
            if not transfer.failed:
                start = transfer.address % memory.size
                content[start:start + len(payload)] = payload
            note("write", self.width, transfer)


class Span:
    """Cycles from the first one in which a signal was high to the last one."""

    def __init__(self, dut: SimHandleBase, name: str):
        self.cycles = 0
        cocotb.start_soon(self._run(dut.clk, getattr(dut, name)))

    async def _run(self, clk: SimHandleBase, handle: SimHandleBase) -> None:
        elapsed = 0
        while True:
            await RisingEdge(clk)
            high = int(handle.value)
            elapsed += bool(elapsed or high)
            if high:
                self.cycles = elapsed


async def begin(dut: SimHandleBase, width: int, *, idle: float | None, **kwargs) -> tuple[AxiMemory, bytearray]:
    """Memory with random content, and a copy of it."""
    memory = AxiMemory(dut, f"dma_{width}__", idle=idle, **kwargs)
    content = bytearray(rng("content").randbytes(memory.size))
    memory.write(0, bytes(content))
    await clock.start(dut)
    return memory, content


@cocotb.test()
@cocotb.parametrize(width=tuple(BURST_BEATS))
async def transfers_at_boundaries(dut: SimHandleBase, width: int) -> None:
    """All clients of both directions at once; in the end memory holds exactly what was written, no byte more."""
    readers = [Reader(dut, width, k) for k in range(READERS)]
    writers = [Writer(dut, width, k) for k in range(WRITERS)]
    memory, content = await begin(dut, width, idle=None)
    count = parameters()["transfers"]
    tasks = [
        cocotb.start_soon(reader.run(boundary_transfers(f"read {k}", width, count, WRITERS + k), bytes(content)))
        for k, reader in enumerate(readers)
    ] + [
        cocotb.start_soon(writer.run(boundary_transfers(f"write {k}", width, count, k), memory, content))
        for k, writer in enumerate(writers)
    ]
    await Combine(*tasks)
    await clock.cycles(dut, 50)
    assert memory.read(0, memory.size) == bytes(content)
    assert all(len(writer.done.received) == count for writer in writers)


@cocotb.test()
@cocotb.parametrize(width=tuple(BURST_BEATS))
async def transfers_at_the_top(dut: SimHandleBase, width: int) -> None:
    """Up to the last byte that an address reaches: no burst lies elsewhere, whatever bits beyond an address has."""
    bits = address_bits()
    top, span = 1 << bits, 3 * 4096
    numbers = rng(f"top {width}")
    readers = [Reader(dut, width, k) for k in range(READERS)]
    writers = [Writer(dut, width, 0)]
    memory, content = await begin(dut, width, idle=None)
    bursts: dict[str, list[tuple[int, int]]] = {"ar": [], "aw": []}
    for channel, found in bursts.items():
        cocotb.start_soon(record_bursts(dut, f"dma_{width}__", channel, found))

    def transfers() -> list[Transfer]:
        lengths = [numbers.choice((1, 7, width // 8, 4096, 4097, numbers.randint(1, span))) for _ in range(20)]
        ends = [numbers.choice((0, 0, 1, 4096, numbers.randrange(span // 2))) for _ in lengths]
        beyond = [numbers.getrandbits(64 - bits) << bits for _ in lengths]
        return [
            Transfer(high | max(top - span, top - length - end), min(length, span - end))
            for length, end, high in zip(lengths, ends, beyond, strict=True)
        ]

    await Combine(*(cocotb.start_soon(reader.run(transfers(), bytes(content))) for reader in readers))
    await Combine(*(cocotb.start_soon(writer.run(transfers(), memory, content)) for writer in writers))
    await clock.cycles(dut, 50)
    assert memory.read(0, memory.size) == bytes(content)
    for found in bursts.values():
        assert found
        assert all(top - span <= address and address + beats * width // 8 <= top for address, beats in found)
        assert any(address + beats * width // 8 == top for address, beats in found)


@cocotb.test()
@cocotb.parametrize(width=tuple(BURST_BEATS))
async def errors_reach_their_request(dut: SimHandleBase, width: int) -> None:
    """One refused beat, wherever it lies in a request, fails that request and no other."""
    flit = width // 8
    burst = flit * BURST_BEATS[width]
    numbers = rng("errors")
    bad = [range(k * REGION + at, k * REGION + at + flit)
           for k in range(READERS) for at in (0x1000, 0x3000 - flit, 0x5000 + burst)]

    def transfers(client: int) -> list[Transfer]:
        result = []
        for _ in range(max(10, parameters()["transfers"])):
            start = client * REGION + numbers.choice((0x1000, 0x3000, 0x5000)) + numbers.randrange(-4, 5) * flit
            length = numbers.choice((1, flit, 3 * flit, burst, 2 * burst + 5))
            if not result:  # one at least fails
                start = client * REGION + 0x1000
            touched = range(start, start + length)
            result.append(Transfer(start, length, any(
                addresses.start < touched.stop and touched.start < addresses.stop for addresses in bad
            )))
        assert {transfer.failed for transfer in result} == {False, True}
        return result

    readers = [Reader(dut, width, k) for k in range(READERS)]
    writers = [Writer(dut, width, k) for k in range(WRITERS)]
    memory, content = await begin(dut, width, idle=None, bad=bad)
    # Reads first: the writes that follow change the same memory.
    await Combine(*(cocotb.start_soon(r.run(transfers(k), bytes(content))) for k, r in enumerate(readers)))
    await Combine(*(cocotb.start_soon(w.run(transfers(k), memory, content)) for k, w in enumerate(writers)))
    await clock.cycles(dut, 50)
    for addresses in bad:
        assert memory.read(addresses.start, flit) == content[addresses.start:addresses.stop]


@cocotb.test()
@cocotb.parametrize(width=tuple(BURST_BEATS))
async def slow_clients_stop_nobody(dut: SimHandleBase, width: int) -> None:
    """A reader that takes nothing, and a writer that brings no data, while the others work; then these go on too."""
    readers = [Reader(dut, width, k) for k in range(READERS)]
    writers = [Writer(dut, width, k) for k in range(WRITERS)]
    memory, content = await begin(dut, width, idle=None)
    before = bytes(content)
    late_reads = [Transfer(WRITERS * REGION + k * 4096, 4096) for k in range(8)]
    late_write = Transfer(0, 4096)
    readers[0].data.set_stall(1)
    reading = cocotb.start_soon(readers[0].run(late_reads, before))
    writers[0].request.append({"addr": late_write.address, "bytes": late_write.length})
    await clock.cycles(dut, 500)
    tasks = [
        cocotb.start_soon(readers[k].run(boundary_transfers(f"read {k}", width, 20, WRITERS + k), before))
        for k in range(1, READERS)
    ] + [
        cocotb.start_soon(writers[k].run(boundary_transfers(f"write {k}", width, 20, k), memory, content))
        for k in range(1, WRITERS)
    ]
    await Combine(*tasks)
    assert not readers[0].data.received
    assert not writers[0].done.received
    # Nothing that came in the meantime was lost.
    readers[0].data.set_stall(None)
    payload = rng("late").randbytes(late_write.length)
    writers[0].data.extend(to_beats(payload, width))
    await reading
    assert not (await writers[0].done.receive())["error"]
    content[:len(payload)] = payload
    assert memory.read(0, memory.size) == bytes(content)


@cocotb.test()
@cocotb.parametrize(width=tuple(BURST_BEATS), clients=(1, 3))
async def full_speed(dut: SimHandleBase, width: int, clients: int) -> None:
    """Without pauses both directions move a beat in nearly every cycle, and clients take turns."""
    flit = width // 8
    beats = BURST_BEATS[width] * 12
    readers = [Reader(dut, width, k, pause=0) for k in range(clients)]
    writers = [Writer(dut, width, k, pause=0) for k in range(clients)]
    memory, content = await begin(dut, width, idle=0)
    bursts: list[tuple[int, int]] = []
    cocotb.start_soon(record_bursts(dut, f"dma_{width}__", "ar", bursts))
    spans = {"r": Span(dut, f"dma_{width}__m_axi__rvalid"), "w": Span(dut, f"dma_{width}__m_axi__wvalid")}
    tasks = [
        cocotb.start_soon(reader.run([Transfer((WRITERS + k) * REGION, beats * flit)], bytes(content)))
        for k, reader in enumerate(readers)
    ] + [
        cocotb.start_soon(writer.run([Transfer(k * REGION, beats * flit)], memory, content))
        for k, writer in enumerate(writers)
    ]
    await Combine(*tasks)
    total = beats * clients
    for name, span in spans.items():
        assert span.cycles <= 1.05 * total + 10, f"{name}: {span.cycles} cycles for {total} beats"
    owners = [address // REGION - WRITERS for address, _ in bursts]
    for k in range(0, len(owners) - 2 * clients, clients):
        assert sorted(owners[k:k + clients]) == list(range(clients)), owners
