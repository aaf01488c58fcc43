"""Bench of the point-to-point path: one instance sends to itself through a network in Python."""

from collections.abc import Mapping
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, Kind, P2pOp, PacketType, Right, Status
from firmware_models.config import Config, DatapathConfig, NicConfig
from rtl.abi import Descriptor
from rtl.interface import CompletionEvent
from testbench import clock
from testbench.bundle import Bundle
from testbench.p2p.host import ENTRY_BYTES, Loopback, Memory, Pulse, VirtualPorts
from testbench.packet import Packet
from testbench.runner import parameters, rng
from testbench.stream import StreamSink, StreamSource

MTU = 256
TAGS = {64: 8, 256: 2}
"""Operations in flight of the instance of each width."""
NODE = 0x00C0DE
MEMORY_BYTES = 1 << 20
SOURCE, BAD_SOURCE, RINGS, TARGET = 0, 0x30000, 0x40000, 0x80000
"""Where in memory data are sent from, reads are refused, receive rings stand, and PUTs write to."""
OPEN_VP, CLOSED_VP, FULL_VP = 3, 4, 5
FULL_ENTRIES = 2


def bundle() -> Bundle:
    """An instance of each width."""
    from rtl.p2p.p2p import P2p

    return Bundle({
        f"p2p_{width}": P2p(Config(datapath=DatapathConfig(data_width=width, mtu=MTU), nic=NicConfig(n_p2p_tags=tags)))
        for width, tags in TAGS.items()
    })


class Bench:
    """The instance with everything around it, and the account of descriptors and completions."""

    def __init__(self, dut: SimHandleBase, width: int, *, pause: float | None = None, delay: int = 40):
        prefix = f"p2p_{width}__"
        self.dut = dut
        self.flit = width // 8
        self.numbers = rng(f"operations {width}")
        self.memory = Memory(dut, prefix, width, MEMORY_BYTES, pause=pause)
        self.vps = VirtualPorts(dut, prefix, flit=self.flit, pause=pause)
        self.network = Loopback(dut, prefix, width, pause=pause, delay=delay)
        self.descriptors = StreamSource(dut, f"{prefix}i_desc", Bench.desc_shape(), idle=pause)
        self.events = StreamSink(dut, f"{prefix}o_event", CompletionEvent, stall=pause)
        self.unknown, self.delivered = Pulse(dut, f"{prefix}unknown"), Pulse(dut, f"{prefix}delivered")
        self.expected: dict[int, dict[str, int]] = {}
        self.posted = 0
        self._next_target = TARGET
        names = ("node_id", "cycles", "watchdog", "room", "get_room", "busy")
        self._ports = {name: getattr(dut, f"{prefix}{name}") for name in names}
        self.vps.windows[OPEN_VP] = [(range(TARGET, MEMORY_BYTES), (Right.REMOTE_WRITE,))]
        self.vps.rings = {OPEN_VP: (RINGS, 1024), FULL_VP: (RINGS + 1024 * ENTRY_BYTES, FULL_ENTRIES)}
        self.memory.bad = [range(BAD_SOURCE, BAD_SOURCE + 1)]

    @staticmethod
    def desc_shape() -> Any:
        """Payload of i_desc."""
        from amaranth.lib import data

        return data.StructLayout({"desc": Descriptor})

    async def start(self) -> None:
        """Reset, then time runs and `room` is watched."""
        await clock.start(self.dut)
        self._ports["node_id"].value = NODE
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        cycles, had_room = 1000, {"room": False, "get_room": False}
        bus = self.descriptors.bus
        while True:
            await RisingEdge(self.dut.clk)
            valid, ready = bool(int(bus.valid.value)), bool(int(bus.ready.value))
            operation = int(bus.payload.value) >> formats.DESCRIPTOR.offset("p2p_op") & 3 if valid else None
            for name in had_room:
                room = bool(int(self._ports[name].value))
                if valid and (operation == P2pOp.GET) == (name == "get_room"):
                    assert room == ready, f"{name} {room}, but ready {ready}"
                assert room or not had_room[name], f"{name} went away without a descriptor"
                had_room[name] = room and not (valid and ready)
            cycles += 1
            self._ports["cycles"].value = cycles

    def set_watchdog(self, cycles: int) -> None:
        """Changes the limit."""
        self._ports["watchdog"].value = cycles

    @property
    def busy(self) -> bool:
        """Some operation is in progress."""
        return bool(int(self._ports["busy"].value))

    def post(self, expected: Mapping[str, int], **fields: int) -> dict[str, int]:
        """Posts a descriptor to this node itself; `expected` is what of its completion differs from success."""
        self.posted += 1
        payload = fields.pop("payload_bytes", b"")
        desc = {
            "dest_id": NODE, "dest_vp": OPEN_VP, "source_vp": self.numbers.randrange(2048), "tag": self.posted,
            "payload": int.from_bytes(payload, "little"), "length": len(payload),
        } | fields
        self.descriptors.append({"desc": desc})
        self.expected[self.posted] = {
            "vp": desc["source_vp"], "status": Status.OK, "kind": CplKind.SEND + desc["p2p_op"], "job_id": 0,
            "bytes": desc["length"], "tag": self.posted, "detail": 0,
        } | dict(expected)
        return desc

    def target(self, length: int) -> int:
        """A fresh place to write to."""
        start = self._next_target
        self._next_target += -(-(length + 64) // 64) * 64
        assert self._next_target <= MEMORY_BYTES - 0x2000
        return start

    async def settle(self, timeout: int = 60_000) -> None:
        """Waits for all completions and checks that each came once, as expected."""
        for _ in range(timeout):
            if len(self.events.received) >= self.posted and not self.busy:
                break
            await RisingEdge(self.dut.clk)
        await clock.cycles(self.dut, 300)
        got = {event["tag"]: event for event in self.events.received}
        assert len(self.events.received) == self.posted, f"{len(self.events.received)} completions of {self.posted}"
        for tag, event in self.expected.items():
            assert got[tag] == event, f"{got[tag]} instead of {event}"
        assert not self.busy


def lengths(flit: int) -> list[int]:
    """Lengths at the boundaries of flit and mtu."""
    around = {k * MTU + d for k in (1, 2, 5) for d in (-flit, -1, 0, 1, flit)}
    return sorted({0, 1, flit - 1, flit, flit + 1, 63, 64, 65} | around)


async def check_entries(bench: Bench, vp: int, sent: list[tuple[int, bytes]]) -> None:
    """The ring holds exactly these mini packets: (source VP, data), in order."""
    base, _ = bench.vps.rings[vp]
    assert bench.vps.produced.get(vp, 0) == len(sent)
    stamp = 0
    for k, (source_vp, payload) in enumerate(sent):
        start = base + k * ENTRY_BYTES
        entry = formats.RECEIVE.unpack(bytes(bench.memory.content[start:start + ENTRY_BYTES]))
        assert entry["timestamp"] >= stamp
        stamp = entry["timestamp"]
        assert entry == dict.fromkeys(entry, 0) | {
            "payload": int.from_bytes(payload, "little"), "source_id": NODE, "source_vp": source_vp,
            "length": len(payload), "phase": 1, "timestamp": stamp,
        }
    assert stamp > 0 or not sent


def post_put(bench: Bench, length: int, mini: bool) -> tuple[int, bytes]:
    """A PUT that succeeds; returns where its data have to stand."""
    target = bench.target(length)
    if mini:
        data = bench.numbers.randbytes(length)
        bench.post({}, p2p_op=P2pOp.PUT, kind=Kind.MP, payload_bytes=data, remote_addr=target)
    else:
        source = SOURCE + bench.numbers.randrange(0, 0x20000, bench.flit)
        data = bytes(bench.memory.content[source:source + length])
        bench.post({}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, length=length, local_addr=source, remote_addr=target)
    return target, data


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def all_kinds_of_operations(dut: SimHandleBase, width: int) -> None:
    """SEND and PUT that succeed or fail in every way, mixed: one right completion each, memory as it should be."""
    bench = Bench(dut, width)
    numbers = bench.numbers
    puts: list[tuple[int, bytes]] = []
    sends: dict[int, list[tuple[int, bytes]]] = {OPEN_VP: [], FULL_VP: []}
    untouched: list[tuple[int, bytes]] = []

    def send(vp: int) -> None:
        data = numbers.randbytes(numbers.choice([length for length in lengths(bench.flit) if length <= 64]))
        fits = vp != CLOSED_VP and (vp != FULL_VP or len(sends[FULL_VP]) < FULL_ENTRIES)
        desc = bench.post(
            {} if fits else {"status": Status.RECEIVER_NOT_READY}, p2p_op=P2pOp.SEND, dest_vp=vp, payload_bytes=data,
            remote_addr=numbers.getrandbits(64),
        )
        if fits:
            sends[vp].append((desc["source_vp"], data))

    def put(_: Any = None) -> None:
        mini = numbers.random() < 0.3
        puts.append(post_put(bench, numbers.choice([k for k in lengths(bench.flit) if k <= 64 or not mini]), mini))

    def violate(vp: int) -> None:
        # Starts inside of the window by some fragments, ends outside; or misses it altogether.
        inside = 0 if vp != OPEN_VP else numbers.randrange(3) * MTU
        target = MEMORY_BYTES - inside if vp == OPEN_VP else bench.target(64)
        length = inside + numbers.choice((1, MTU, 2 * MTU + 3))
        source = SOURCE + numbers.randrange(0, 0x20000, bench.flit)
        if vp != OPEN_VP:
            untouched.append((target, bytes(bench.memory.content[target:target + 64])))
        bench.post(
            {"status": Status.REMOTE_ACCESS, "detail": target + inside}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, dest_vp=vp,
            length=length, local_addr=source, remote_addr=target,
        )

    def unreadable(_: Any) -> None:
        good = numbers.randrange(3) * MTU
        source, target = BAD_SOURCE - good, bench.target(5 * MTU)
        # What follows the bad fragment could be read again, and must not be sent.
        length = good + numbers.choice((1, MTU, MTU + 1, 3 * MTU))
        puts.append((target, bytes(bench.memory.content[source:source + good])))
        untouched.append((target + good, bytes(bench.memory.content[target + good:target + length])))
        bench.post(
            {"status": Status.MEMORY_ERROR, "detail": BAD_SOURCE}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, length=length,
            local_addr=source, remote_addr=target,
        )

    def unwritable(_: Any) -> None:
        good = numbers.randrange(3) * MTU
        target = bench.target(4 * MTU)
        bench.memory.bad.append(range(target + good, target + good + 1))
        source = SOURCE + numbers.randrange(0, 0x20000, bench.flit)
        puts.append((target, bytes(bench.memory.content[source:source + good])))
        bench.post(
            {"status": Status.MEMORY_ERROR, "detail": target + good}, p2p_op=P2pOp.PUT, kind=Kind.RDMA,
            length=good + numbers.choice((1, MTU)), local_addr=source, remote_addr=target,
        )

    def refused(_: Any) -> None:
        status, fields = numbers.choice((
            (Status.UNSUPPORTED, {"p2p_op": 3, "length": 64}),
            (Status.BAD_DESCRIPTOR, {"p2p_op": P2pOp.SEND, "kind": Kind.RDMA, "length": 8}),
            (Status.BAD_LENGTH, {"p2p_op": P2pOp.SEND, "kind": Kind.MP, "length": 65}),
            (Status.BAD_LENGTH, {"p2p_op": P2pOp.PUT, "kind": Kind.MP, "length": 1 << 31}),
        ))
        bench.post({"status": status, "detail": fields["length"]}, **fields)

    await bench.start()
    for _ in range(parameters()["operations"]):
        action, argument = numbers.choice((
            (send, OPEN_VP), (send, OPEN_VP), (put, None), (put, None), (put, None), (send, CLOSED_VP), (send, FULL_VP),
            (violate, OPEN_VP), (violate, CLOSED_VP), (unreadable, None), (unwritable, None), (refused, None),
        ))
        action(argument)
    await bench.settle()
    for target, data in puts + untouched:
        assert bytes(bench.memory.content[target:target + len(data)]) == data
    for vp, sent in sends.items():
        await check_entries(bench, vp, sent)
    assert bench.delivered.count == sum(len(sent) for sent in sends.values())
    assert bench.unknown.count == 0


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def lost_answers_time_out(dut: SimHandleBase, width: int) -> None:
    """Lost packets and answers end in TIMEOUT; late answers touch nothing, though their place is in use again."""
    bench = Bench(dut, width, delay=4)
    numbers = bench.numbers
    late: list[Packet] = []
    lose = {"packet": False, "answer": False}

    def packet_filter(packet: Packet) -> list[Packet]:
        return [] if lose["packet"] else [packet]

    def answer_filter(packet: Packet) -> list[Packet]:
        if lose["answer"]:
            late.append(packet)
            return []
        return [packet]

    bench.network.filters = [packet_filter, answer_filter]
    await bench.start()
    bench.set_watchdog(2000)
    strangers = 0
    for what in ("packet", "answer") * 3:
        lose[what] = True
        # All places at once wait in vain; one fragment is missing of each.
        for _ in range(TAGS[width]):
            bench.post({"status": Status.TIMEOUT, "detail": 1}, p2p_op=P2pOp.SEND, payload_bytes=b"lost")
        await bench.settle()
        lose[what] = False
        for _ in range(2 * TAGS[width]):
            post_put(bench, numbers.choice(lengths(bench.flit)), mini=False)
        for packet in late:
            bench.network.sources[1].append(packet)
        strangers += len(late)
        await bench.settle()
    assert strangers
    assert bench.unknown.count == strangers


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def stuck_network_times_out(dut: SimHandleBase, width: int) -> None:
    """An operation that cannot even be sent ends; when the network moves again nothing is completed twice."""
    bench = Bench(dut, width, delay=4)
    await bench.start()
    bench.set_watchdog(1500)
    for sink in (bench.network.sinks[0]._header, bench.network.sinks[0]._payload):
        sink.set_stall(1)
    bench.post({"status": Status.TIMEOUT}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, length=20 * MTU, remote_addr=TARGET)
    # How many fragments count as sent is known only to the hardware.
    event = await bench.events.receive()
    assert event["status"] == Status.TIMEOUT
    bench.expected[1]["detail"] = event["detail"]
    assert 1 <= event["detail"] <= 4
    assert bench.busy
    await clock.cycles(dut, 3000)
    for sink in (bench.network.sinks[0]._header, bench.network.sinks[0]._payload):
        sink.set_stall(None)
    for _ in range(2 * TAGS[width]):
        post_put(bench, 3 * MTU, mini=False)
    await bench.settle()
    assert bench.unknown.count == event["detail"]
    # The fragments of the dead operation that had not been sent are not sent any more.
    assert sum(packet.header["tag"] == bench.network.sent[0][0].header["tag"] for packet in bench.network.sent[0]) <= 4


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def strangers_are_counted(dut: SimHandleBase, width: int) -> None:
    """Answers to nothing, answers twice, packets that do not belong: counted, dropped, no operation touched."""
    bench = Bench(dut, width)
    numbers = bench.numbers
    strange = 0

    def stranger(vc: int) -> Packet:
        mine = ((PacketType.SEND, PacketType.PUT, PacketType.GET), (PacketType.ACK,))[vc]
        kinds = [kind for kind in PacketType if kind not in mine]
        return Packet.make(
            numbers.randbytes(numbers.choice((0, 1, 40, MTU))), type=numbers.choice(kinds), tag=numbers.getrandbits(16),
            version=1, dest_vp=OPEN_VP, source_id=NODE,
        )

    def packet_filter(packet: Packet) -> list[Packet]:
        nonlocal strange
        extra = [stranger(0) for _ in range(numbers.randrange(3))]
        strange += len(extra)
        return [*extra, packet]

    def answer_filter(packet: Packet) -> list[Packet]:
        nonlocal strange
        # Numbers start at 0 and do not get far in this test, so the upper half is never in use.
        wrong = Packet(packet.header | {"tag": packet.header["tag"] ^ 0x8000, "status": Status.REMOTE_ACCESS}, b"")
        twice = Packet(packet.header | {"status": Status.MEMORY_ERROR}, b"")
        extra = [stranger(1) for _ in range(numbers.randrange(3))]
        strange += len(extra) + 2
        return [*extra, wrong, packet, twice]

    bench.network.filters = [packet_filter, answer_filter]
    await bench.start()
    # One fragment each: a doubled answer could stand for another fragment of the same operation.
    for _ in range(parameters()["operations"]):
        post_put(bench, numbers.choice([length for length in lengths(bench.flit) if length <= MTU]), mini=False)
    await bench.settle()
    await bench.network.sources[1].drain()
    await clock.cycles(dut, 300)
    assert bench.unknown.count == strange


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def answers_always_drain(dut: SimHandleBase, width: int) -> None:
    """With VC 1 blocked on the way out, answers that come in are still taken; VC 0 waits and loses nothing."""
    bench = Bench(dut, width, delay=2)
    await bench.start()
    blocked = bench.network.sinks[1]
    blocked._header.set_stall(1)
    for _ in range(60):
        bench.network.sources[0].append(Packet.make(
            bytes(8), type=PacketType.PUT, version=1, dest_vp=OPEN_VP, source_id=NODE, addr=TARGET, tag=0xFFFF
        ))
    await clock.cycles(dut, 1500)
    # Operations of this node end, answered by the bench itself.
    bench.network.filters[0] = lambda packet: bench.network.sources[1].append(
        Packet.make(type=PacketType.ACK, version=1, tag=packet.header["tag"], dest_id=NODE)
    ) or []
    puts = [post_put(bench, 3 * MTU, mini=False) for _ in range(2 * TAGS[width])]
    await bench.settle()
    assert puts
    accepted = len(bench.memory.written)
    assert 0 < accepted < 30, accepted
    assert not blocked.received
    blocked._header.set_stall(None)
    bench.network.filters[1] = lambda packet: []
    while len(blocked.received) < 60:
        await RisingEdge(dut.clk)
    assert all(packet.header["status"] == Status.OK and packet.header["tag"] == 0xFFFF for packet in blocked.received)
    assert len(bench.memory.written) == 60


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def full_speed(dut: SimHandleBase, width: int) -> None:
    """Without pauses a long PUT moves a beat in nearly every cycle, out of memory and into it."""
    bench = Bench(dut, width, pause=0, delay=1)
    await bench.start()
    length = 64 * MTU
    target = bench.target(length)
    bench.post({}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, length=length, local_addr=SOURCE, remote_addr=target)
    elapsed = 0
    while not bench.events.received:
        await RisingEdge(dut.clk)
        elapsed += 1
    await bench.settle()
    beats, packets = length // bench.flit, length // MTU
    assert bench.memory.content[target:target + length] == bench.memory.content[SOURCE:SOURCE + length]
    # The bench's drivers need three cycles between packets.
    assert elapsed <= beats + 6 * packets + 150, elapsed
