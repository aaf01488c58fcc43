"""Bench of GET: one instance reads from itself through a network in Python, beside SEND and PUT."""

from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import Kind, P2pOp, PacketType, Right, Status
from firmware_models.abi.formats import PACKET_HEADER
from rtl.p2p.records import GET_WINDOW
from testbench import clock
from testbench.p2p.driver import (
    BAD_SOURCE,
    BEARERS,
    CLOSED_VP,
    LATENCY,
    MEMORY_BYTES,
    MTU,
    NODE,
    OPEN_VP,
    RINGS,
    SOURCE,
    TAGS,
    TARGET,
    Bench,
    check_ahead,
    lengths,
    post_put,
)
from testbench.packet import Packet, answer_fields
from testbench.runner import parameters

READER, SERVER, NARROW, DIVIDED = 7, 8, 9, 10
"""VPs whose data land; from which they are read; whose window ends within what it asks for; whose memory is two windows
side by side, with nothing in front."""
DIVISIONS = (SOURCE + 0x8000, SOURCE + 0x10000)
"""Where its windows begin."""
READABLE = range(SOURCE, RINGS)
NARROW_END = TARGET + 0x2000


class GetBench(Bench):
    """With windows for GET, and PUTs that go well beside it."""

    def __init__(self, dut: SimHandleBase, width: int, **kwargs: Any):
        super().__init__(dut, width, **kwargs)
        self.vps.windows |= {
            READER: [(range(TARGET, MEMORY_BYTES), (Right.LOCAL_WRITE,))],
            SERVER: [
                (READABLE, (Right.REMOTE_READ,)),
                (range(MEMORY_BYTES - 0x1000, MEMORY_BYTES), (Right.REMOTE_WRITE, Right.LOCAL_READ, Right.LOCAL_WRITE)),
            ],
            NARROW: [(range(TARGET, NARROW_END), (Right.LOCAL_WRITE,)),
                     (range(NARROW_END, MEMORY_BYTES), (Right.LOCAL_READ, Right.REMOTE_READ, Right.REMOTE_WRITE))],
            DIVIDED: [(range(DIVISIONS[0], DIVISIONS[1]), (Right.REMOTE_READ,)),
                      (range(DIVISIONS[1], SOURCE + 0x20000), (Right.REMOTE_READ,))],
        }
        self._next_target = NARROW_END + 0x2000
        self.landed: list[tuple[int, bytes]] = []
        """Data that memory has to hold in the end."""

    def place(self) -> int:
        """Where there is something to read."""
        return SOURCE + self.numbers.randrange(0, 0x20000, self.flit)

    def content(self, addr: int, length: int) -> bytes:
        """Memory as it is now."""
        return bytes(self.memory.content[addr:addr + length])

    def get(
        self, length: int, *, expected: dict[str, int] | None = None, good: int | None = None, touched: int = 0,
        **fields: int,
    ) -> int:
        """A GET; its first `good` bytes arrive (all of them if None), `touched` more may, nothing else does."""
        source, local = fields.pop("remote_addr", self.place()), fields.pop("local_addr", None)
        local = self.target(length) if local is None else local
        good = length if good is None else good
        self.post(expected or {}, **{
            "p2p_op": P2pOp.GET, "kind": Kind.RDMA, "length": length, "local_addr": local, "remote_addr": source,
            "source_vp": READER, "dest_vp": SERVER, **fields,
        })
        end = good + touched
        rest = self.content(local + end, max(length + 64 - end, 0))
        self.landed += [(local, self.content(source, good)), (local + end, rest)]
        return local

    def check_memory(self) -> None:
        """Everything stands where it should, and nothing where it should not."""
        for addr, data in self.landed:
            assert self.content(addr, len(data)) == data, f"{len(data)} bytes at {addr:#x}"


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def all_kinds_of_gets(dut: SimHandleBase, width: int) -> None:
    """GETs that succeed or fail in every way among PUTs and SENDs: one right completion each, memory as it should."""
    bench = GetBench(dut, width)
    numbers = bench.numbers

    def good() -> None:
        bench.get(numbers.choice(lengths(bench.flit)))

    def put() -> None:
        bench.landed.append(post_put(bench, numbers.choice(lengths(bench.flit)), mini=False))

    def send() -> None:
        bench.post({}, p2p_op=P2pOp.SEND, payload_bytes=numbers.randbytes(numbers.randrange(65)))

    def disabled() -> None:
        remote = bench.place()
        bench.get(numbers.choice((1, MTU, 3 * MTU)), remote_addr=remote, dest_vp=CLOSED_VP, good=0,
                  expected={"status": Status.REMOTE_ACCESS, "detail": remote})

    def forbidden() -> None:
        # The window holds it, but others may only write to it.
        remote = MEMORY_BYTES - 0x1000 + bench.flit * numbers.randrange(8)
        bench.get(numbers.choice((1, MTU)), remote_addr=remote, good=0,
                  expected={"status": Status.REMOTE_ACCESS, "detail": remote})

    def beyond() -> None:
        # Nothing of it lands, though much of it lies inside of the window.
        inside = numbers.choice((0, bench.flit, MTU, 2 * MTU, 3 * MTU - bench.flit))
        remote = READABLE.stop - inside
        bench.get(inside + numbers.choice((1, MTU, 2 * MTU + 3)), remote_addr=remote, good=0,
                  expected={"status": Status.REMOTE_ACCESS, "detail": remote})

    def across() -> None:
        # From in front of a window into it, or from one into the next.
        remote = numbers.choice(DIVISIONS) - numbers.choice((bench.flit, MTU, 2 * MTU + bench.flit))
        bench.get(3 * MTU + numbers.choice((0, 1)), remote_addr=remote, dest_vp=DIVIDED, good=0,
                  expected={"status": Status.REMOTE_ACCESS, "detail": remote})

    def around() -> None:
        # From the top of the address space into the window that begins at its bottom.
        remote = (1 << numbers.choice((32, 40, 64))) - bench.flit
        beyond = numbers.choice((0, 1, bench.flit, MTU - bench.flit, 3 * MTU))
        bench.get(bench.flit + beyond, remote_addr=remote, good=0,
                  expected={"status": Status.REMOTE_ACCESS, "detail": remote})

    def unaligned() -> None:
        remote = bench.place() + numbers.randrange(1, bench.flit)
        bench.get(8, remote_addr=remote, good=0, expected={"status": Status.REMOTE_ACCESS, "detail": remote})

    def unreadable() -> None:
        # Fragments behind the bad one may have been asked for already.
        before = numbers.randrange(3) * MTU
        length = before + numbers.choice((1, MTU, MTU + 1, 3 * MTU))
        local = bench.get(length, remote_addr=BAD_SOURCE - before, good=before, touched=length - before,
                          expected={"status": Status.MEMORY_ERROR, "detail": BAD_SOURCE})
        bench.landed.append((local + before, bench.content(local + before, min(MTU, length - before))))

    def no_place() -> None:
        inside = numbers.randrange(3) * MTU
        local = NARROW_END - inside
        length = inside + numbers.choice((1, MTU, 2 * MTU + 3))
        # The end of that window is written again and again: only what lies beyond it must stay.
        bench.get(length, local_addr=local, source_vp=NARROW, good=0, touched=inside,
                  expected={"status": Status.BAD_ADDRESS, "detail": NARROW_END})

    def unwritable() -> None:
        before = numbers.randrange(3) * MTU
        length = before + numbers.choice((1, MTU))
        local = bench.target(length)
        bench.memory.bad.append(range(local + before, local + before + 1))
        bench.get(length, local_addr=local, good=before,
                  expected={"status": Status.MEMORY_ERROR, "detail": local + before})

    await bench.start()
    bad = (disabled, forbidden, beyond, across, around, unaligned, unreadable, no_place, unwritable)
    actions: list[Callable[[], None]] = [*bad, *(numbers.choice((good, good, put, send, *bad))
                                                 for _ in range(parameters()["operations"]))]
    for action in actions:
        action()
    await bench.settle()
    bench.check_memory()
    assert bench.unknown.count == 0


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def lost_gets_time_out(dut: SimHandleBase, width: int) -> None:
    """Lost requests and lost data end in TIMEOUT; data that come later touch no memory, though the entry is in use."""
    bench = GetBench(dut, width, delay=4)
    numbers = bench.numbers
    network = bench.network
    await bench.start()
    bench.set_watchdog(2000)
    strangers = 0
    for channel in (0, 1) * parameters()["rounds"]:  # requests and data, then answers
        network.lose[channel] = True
        for _ in range(TAGS[width]):
            bench.get(numbers.choice((1, 64, MTU)), good=0, expected={"status": Status.TIMEOUT, "detail": 1})
        await bench.settle()
        network.lose[channel] = False
        for _ in range(TAGS[width]):
            bench.landed.append(post_put(bench, numbers.choice(lengths(bench.flit)), mini=False))
            bench.get(numbers.choice(lengths(bench.flit)))
        for packet in network.lost[1]:
            network.sources[1].append(packet)
        strangers += len(network.lost[1])
        network.lost[1].clear()
        await bench.settle()
    # More fragments than may be on their way are lost, one operation after the other: the account comes out right.
    network.lose[0] = True
    for _ in range(3):
        bench.get(2 * GET_WINDOW * MTU, good=0, expected={"status": Status.TIMEOUT, "detail": 0})
        event = (await bench.events.receive(), bench.expected[bench.posted])
        while event[0]["tag"] != bench.posted:
            event = (await bench.events.receive(), bench.expected[bench.posted])
        assert GET_WINDOW <= event[0]["detail"] <= GET_WINDOW + 2
        event[1]["detail"] = event[0]["detail"]
    network.lose[0] = False
    bench.get(3 * GET_WINDOW * MTU)
    await bench.settle()
    bench.check_memory()
    assert strangers
    assert bench.unknown.count == strangers


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def strangers_land_nowhere(dut: SimHandleBase, width: int) -> None:
    """Data twice, of another operation, address, node or length, errors with data, ACKs: counted, and not written."""
    bench = GetBench(dut, width)
    numbers = bench.numbers
    strange = forged = 0

    def wrong(packet: Packet) -> Packet:
        nonlocal forged
        header = dict(packet.header)
        what = numbers.choice(("tag", "addr", "length", "error", "ack", *BEARERS))
        payload = bytes(byte ^ 0xFF for byte in packet.payload)
        if what == "tag":
            header["tag"] ^= 0x8000  # numbers start at 0 and do not get far in this test
        elif what == "addr":
            header["addr"] = (header["addr"] + numbers.choice((bench.flit, MTU, -MTU, 1 << 40))) % (1 << 64)
        elif what in BEARERS:
            header[what] ^= 1 << numbers.randrange(PACKET_HEADER[what].width)
            forged += 1
        elif what == "length":
            payload = numbers.randbytes(len(payload) - 1) if payload else b"\0"
        elif what == "error":
            header["status"], payload = Status.MEMORY_ERROR, payload or b"\0"
        else:
            header["type"], header["status"], payload = PacketType.ACK, Status.MEMORY_ERROR, b""
        return Packet(header | {"length": len(payload)}, payload)

    def answer_filter(packet: Packet) -> list[Packet]:
        nonlocal strange
        before = [wrong(packet) for _ in range(numbers.randrange(3))] if packet.header["type"] == PacketType.GET_DATA \
            else [Packet(packet.header | {"type": PacketType.GET_DATA}, b"")]
        after = [packet] * numbers.randrange(2)
        strange += len(before) + len(after)
        return [*before, packet, *after]

    def packet_filter(packet: Packet) -> list[Packet]:
        nonlocal strange
        if numbers.random() < 0.7:
            return [packet]
        strange += 1  # a GET with a payload is none
        return [Packet(packet.header | {"type": PacketType.GET, "length": 9}, bytes(9)), packet]

    bench.network.filters = [packet_filter, answer_filter]
    await bench.start()
    for _ in range(parameters()["operations"] // 2):
        bench.get(numbers.choice(lengths(bench.flit)))
        if numbers.random() < 0.4:
            # One fragment: an ACK given twice could stand for another fragment of the same PUT.
            length = numbers.choice([length for length in lengths(bench.flit) if length <= MTU])
            bench.landed.append(post_put(bench, length, mini=False))
    await bench.settle()
    await bench.network.sources[1].drain()
    await clock.cycles(dut, 300)
    bench.check_memory()
    assert (bench.unknown.count, bench.forged.count) == (strange - forged, forged)
    assert min(strange - forged, forged) > 10


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def a_long_get_is_no_bar(dut: SimHandleBase, width: int) -> None:
    """While the data of a GET do not come, PUTs and SENDs do; requests on their way are bounded."""
    bench = GetBench(dut, width, delay=4)
    held: list[Packet] = []
    holding = True

    def answer_filter(packet: Packet) -> list[Packet]:
        if holding and packet.header["type"] == PacketType.GET_DATA:
            held.append(packet)
            return []
        return [packet]

    bench.network.filters[1] = answer_filter
    await bench.start()
    bench.get(4 * GET_WINDOW * MTU)
    for _ in range(2 * TAGS[width]):
        bench.landed.append(post_put(bench, 3 * MTU, mini=False))
        bench.post({}, p2p_op=P2pOp.SEND, payload_bytes=b"meanwhile")
    while len(bench.events.received) < 4 * TAGS[width]:
        await RisingEdge(dut.clk)
    assert 1 not in {event["tag"] for event in bench.events.received}
    await clock.cycles(dut, 500)
    requests = sum(packet.header["type"] == PacketType.GET for packet in bench.network.sent[0])
    assert GET_WINDOW <= requests <= GET_WINDOW + 2
    holding = False
    for packet in held:
        bench.network.sources[1].append(packet)
    await bench.settle()
    bench.check_memory()


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def data_of_gets_always_drain(dut: SimHandleBase, width: int) -> None:
    """With VC 1 blocked on the way out, data that come in still land; what others GET waits and is served later."""
    bench = GetBench(dut, width, delay=2)
    numbers = bench.numbers
    await bench.start()
    blocked = bench.network.sinks[1]
    blocked._header.set_stall(1)
    asked = []
    for k in range(60):
        get = k % 3 > 0
        asked.append(get)
        bench.network.sources[0].append(Packet.make(
            b"" if get else bytes(8), type=PacketType.GET if get else PacketType.PUT, version=1, source_id=NODE,
            dest_vp=SERVER if get else OPEN_VP, addr=SOURCE if get else TARGET, pulse=MTU if get else 0, tag=0xFFFF,
        ))
    await clock.cycles(dut, 1500)

    def answer(packet: Packet) -> list[Packet]:
        header = packet.header
        data = bench.content(header["addr"], header["pulse"])
        bench.network.sources[1].append(Packet.make(data, type=PacketType.GET_DATA, **answer_fields(header)))
        return []

    bench.network.filters[0] = answer
    for _ in range(2 * TAGS[width]):
        bench.get(numbers.choice((3 * MTU, 2 * GET_WINDOW * MTU)))
    await bench.settle()
    bench.check_memory()
    assert not blocked.received
    blocked._header.set_stall(None)
    bench.network.filters[1] = lambda packet: []
    while len(blocked.received) < 60:
        await RisingEdge(dut.clk)
    for packet in blocked.received:
        assert (packet.header["status"], packet.header["tag"]) == (Status.OK, 0xFFFF)
        if packet.header["type"] == PacketType.GET_DATA:
            assert packet.payload == bench.content(SOURCE, MTU)
    assert sum(packet.header["type"] == PacketType.GET_DATA for packet in blocked.received) == sum(asked)


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def strange_requests_are_refused(dut: SimHandleBase, width: int) -> None:
    """Too many bytes: BAD_LENGTH; none: OK without a look; bytes beyond those asked for are zeros on the wire."""
    bench = GetBench(dut, width)
    bench.network.filters[1] = lambda packet: []
    await bench.start()
    sizes = [0, 1, bench.flit - 1, bench.flit, bench.flit + 1, MTU - 1, MTU, MTU + 1, 0xFFFF]
    for size in sizes:
        bench.network.sources[0].append(Packet.make(
            type=PacketType.GET, version=1, source_id=NODE, dest_vp=SERVER if size else CLOSED_VP, pulse=size,
            addr=SOURCE, fragment=size & 0xFFF, tag=size, source_vp=77,
        ))
    beats: list[int] = []
    payload = bench.network.sinks[1]._payload.bus
    while len(bench.network.sent[1]) < len(sizes):
        await RisingEdge(dut.clk)
        if int(payload.valid.value) and int(payload.ready.value):
            beats.append(int(payload.payload.value) & ((1 << width) - 1))
    for size, packet in zip(sizes, bench.network.sent[1], strict=True):
        status = Status.BAD_LENGTH if size > MTU else Status.OK
        length = size if status is Status.OK else 0
        header = packet.header
        assert (header["type"], header["status"], header["length"]) == (PacketType.GET_DATA, status, length)
        assert (header["tag"], header["fragment"], header["addr"]) == (size, size & 0xFFF, SOURCE)
        assert (header["dest_id"], header["dest_vp"], header["source_vp"]) == (NODE, 77, SERVER if size else CLOSED_VP)
        words, beats = beats[:-(-length // bench.flit)], beats[-(-length // bench.flit):]
        wire = b"".join(word.to_bytes(bench.flit, "little") for word in words)
        assert wire == bench.content(SOURCE, length).ljust(len(wire), b"\0")


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def ranges_are_judged_as_a_whole(dut: SimHandleBase, width: int) -> None:
    """Of forged GETs those alone are read whose range, named by each, is one and lies within one window."""
    bench = GetBench(dut, width)
    bench.network.filters[1] = lambda packet: []
    await bench.start()
    flit, size = bench.flit, MTU // 2
    addr = DIVISIONS[0] + 0x1000
    left = DIVISIONS[1] - addr
    cases = [
        (Status.OK, addr, 0, left, size), (Status.OK, addr, 0x1000, left, size), (Status.OK, addr, 0, size, size),
        (Status.REMOTE_ACCESS, addr, 0, left + 1, size), (Status.REMOTE_ACCESS, addr, 0x1000 + flit, size, size),
        (Status.REMOTE_ACCESS, addr, addr + flit, size, size), (Status.REMOTE_ACCESS, addr, 0, (1 << 32) - 1, size),
        (Status.REMOTE_ACCESS, (1 << 64) - flit, 0, 2 * size, size),
        (Status.BAD_LENGTH, addr, flit, (1 << 32) - flit, size), (Status.BAD_LENGTH, addr, 0, size - 1, size),
        (Status.BAD_LENGTH, addr, 0, 0, size), (Status.BAD_LENGTH, addr, 4, size, size),
        (Status.BAD_LENGTH, addr + 4, 4, size, size), (Status.BAD_LENGTH, addr, 0, size, 0),
        (Status.BAD_LENGTH, addr, 0, 3 * MTU, MTU + 1), (None, addr, 0, size, size),
    ]
    for tag, (status, start, before, rest, pulse) in enumerate(cases):
        operation = formats.P2P_RANGE.pack(before=before, left=rest).ljust(flit, b"\0")
        bench.network.sources[0].append(Packet.make(
            b"" if status is None else operation, type=PacketType.GET, version=1, dest_vp=DIVIDED, source_id=NODE,
            addr=start, tag=tag, pulse=pulse, coll_end=1,
        ))
    while len(bench.network.sent[1]) < len(cases):
        await RisingEdge(dut.clk)
    for (status, start, _, _, pulse), answer in zip(cases, bench.network.sent[1], strict=True):
        assert answer.header["status"] == (Status.BAD_LENGTH if status is None else status), answer.header["tag"]
        assert answer.payload == (bench.content(start, pulse) if status is Status.OK else b"")
    assert bench.unknown.count == 0


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def full_speed_of_gets(dut: SimHandleBase, width: int) -> None:
    """Without pauses a long GET moves a beat in most cycles."""
    bench = GetBench(dut, width, pause=0, delay=1)
    await bench.start()
    length = 64 * MTU
    bench.get(length, remote_addr=SOURCE)
    elapsed = await bench.time()
    bench.check_memory()
    beats, packets = length // bench.flit, length // MTU
    dut._log.info("%d cycles for %d beats of %d bits in %d fragments", elapsed, beats, width, packets)
    # A packet is judged in about twelve cycles, while the one before it is written.
    assert elapsed <= packets * max(beats // packets + 6, 18) + 200, elapsed


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def memory_is_asked_ahead(dut: SimHandleBase, width: int) -> None:
    """Behind memory that is late, as many fragments of a GET are read at once as are held."""
    bench = GetBench(dut, width, pause=0, delay=1, latency=LATENCY)
    await bench.start()
    length = 64 * MTU
    bench.get(length, remote_addr=SOURCE)
    elapsed = await bench.time()
    bench.check_memory()
    check_ahead(length // MTU, MTU // bench.flit, elapsed)
