"""Bench of the point-to-point path: one instance sends to itself through a network in Python."""

from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import Kind, P2pOp, PacketType, Status
from firmware_models.abi.formats import PACKET_HEADER
from testbench import clock
from testbench.coverage import cover, dealt
from testbench.p2p.driver import (
    BAD_SOURCE,
    BEARERS,
    CLOSED_VP,
    FULL_ENTRIES,
    FULL_VP,
    LATENCY,
    MEMORY_BYTES,
    MTU,
    NODE,
    OPEN_VP,
    SOURCE,
    TAGS,
    TARGET,
    Bench,
    check_ahead,
    check_entries,
    lengths,
    post_put,
    put_packets,
)
from testbench.packet import Packet, answer_fields
from testbench.runner import parameters

OUTCOMES = {
    "SEND": ("OK", "RECEIVER_NOT_READY", "BAD_DESCRIPTOR", "BAD_LENGTH"),
    "PUT": ("OK", "REMOTE_ACCESS", "MEMORY_ERROR", "BAD_LENGTH"),
    "DESCRIPTOR": ("UNSUPPORTED",),
}
STATUSES = tuple(dict.fromkeys(status for statuses in OUTCOMES.values() for status in statuses))
noted_outcome = cover("outcomes", width=tuple(TAGS), op=tuple(OUTCOMES), status=STATUSES, never=[
    (width, op, status) for width in TAGS for op, known in OUTCOMES.items() for status in STATUSES
    if status not in known
])


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
        # Begins inside of the window and ends outside, or the other way round; or misses it altogether.
        inside = 0 if vp != OPEN_VP else numbers.choice((0, bench.flit, MTU, 2 * MTU, 3 * MTU - bench.flit))
        outside = numbers.choice((1, bench.flit, MTU, 2 * MTU + 3))
        target = MEMORY_BYTES - inside if vp == OPEN_VP else bench.target(outside)
        if vp == OPEN_VP and numbers.random() < 0.5:
            outside = -(-outside // bench.flit) * bench.flit
            target = TARGET - outside
        length = inside + outside
        source = SOURCE + numbers.randrange(0, 0x20000, bench.flit)
        untouched.append((target, bytes(bench.memory.content[target:target + length])))
        bench.post(
            {"status": Status.REMOTE_ACCESS, "detail": target}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, dest_vp=vp,
            length=length, local_addr=source, remote_addr=target,
        )

    def alias(_: Any) -> None:
        # Writable but for a bit above, of which this node may have none: it is asked for, and reported, whole.
        target = bench.target(64)
        untouched.append((target, bytes(bench.memory.content[target:target + 64])))
        target |= 1 << numbers.choice((32, 40, 63))
        bench.post(
            {"status": Status.REMOTE_ACCESS, "detail": target}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, length=64,
            local_addr=SOURCE, remote_addr=target,
        )

    def unreadable(_: Any) -> None:
        good = numbers.randrange(3) * (MTU - bench.flit)
        source, target = BAD_SOURCE - good, bench.target(5 * MTU)
        # Fragments behind the bad one are readable, and must not be sent.
        length = good + numbers.choice((bench.flit + 1, MTU, MTU + 1, 3 * MTU))
        puts.append((target, bytes(bench.memory.content[source:source + good])))
        untouched.append((target + good, bytes(bench.memory.content[target + good:target + length])))
        bench.post(
            {"status": Status.MEMORY_ERROR, "detail": BAD_SOURCE}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, length=length,
            local_addr=source, remote_addr=target,
        )

    def unwritable(_: Any) -> None:
        good = numbers.randrange(3) * (MTU - bench.flit)
        target = bench.target(4 * MTU)
        bench.memory.bad.append(range(target + good, target + good + 1))
        source = SOURCE + numbers.randrange(0, 0x20000, bench.flit)
        puts.append((target, bytes(bench.memory.content[source:source + good])))
        bench.post(
            {"status": Status.MEMORY_ERROR, "detail": target + good}, p2p_op=P2pOp.PUT, kind=Kind.RDMA,
            length=good + numbers.choice((bench.flit + 1, MTU)), local_addr=source, remote_addr=target,
        )

    refusals = dealt(numbers, (
        (Status.UNSUPPORTED, {"p2p_op": 3, "length": 64}),
        (Status.BAD_DESCRIPTOR, {"p2p_op": P2pOp.SEND, "kind": Kind.RDMA, "length": 8}),
        (Status.BAD_LENGTH, {"p2p_op": P2pOp.SEND, "kind": Kind.MP, "length": 65}),
        (Status.BAD_LENGTH, {"p2p_op": P2pOp.PUT, "kind": Kind.MP, "length": 1 << 31}),
    ))

    def refused(_: Any) -> None:
        status, fields = next(refusals)
        bench.post({"status": status, "detail": fields["length"]}, **fields)

    await bench.start()
    bench.target(4 * MTU)  # what PUTs that begin in front of the window would reach of it
    actions = dealt(numbers, (
        (send, OPEN_VP), (send, OPEN_VP), (put, None), (put, None), (put, None), (send, CLOSED_VP), (send, FULL_VP),
        (violate, OPEN_VP), (violate, CLOSED_VP), (alias, None), (unreadable, None), (unwritable, None),
        (refused, None),
    ))
    for _ in range(parameters()["operations"]):
        action, argument = next(actions)
        action(argument)
    await bench.settle()
    for status, op in bench.ended():
        noted_outcome(width=width, op=op, status=status)
    for target, data in puts + untouched:
        assert bytes(bench.memory.content[target:target + len(data)]) == data
    for vp, sent in sends.items():
        await check_entries(bench, vp, sent)
    assert bench.delivered.count == sum(len(sent) for sent in sends.values())
    assert bench.unknown.count == 0


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def lost_answers_time_out(dut: SimHandleBase, width: int) -> None:
    """Lost packets and answers end in TIMEOUT; late answers touch nothing, though their entry is in use again."""
    bench = Bench(dut, width, delay=4)
    numbers = bench.numbers
    network = bench.network
    await bench.start()
    bench.set_watchdog(2000)
    strangers = 0
    for channel in (0, 1) * parameters()["rounds"]:  # requests and data, then answers
        network.lose[channel] = True
        # All places at once wait in vain; one fragment is missing of each.
        for _ in range(TAGS[width]):
            bench.post({"status": Status.TIMEOUT, "detail": 1}, p2p_op=P2pOp.SEND, payload_bytes=b"lost")
        await bench.settle()
        network.lose[channel] = False
        for _ in range(2 * TAGS[width]):
            post_put(bench, numbers.choice(lengths(bench.flit)), mini=False)
        for packet in network.lost[1]:
            network.sources[1].append(packet)
        strangers += len(network.lost[1])
        await bench.settle()
    assert strangers
    assert bench.unknown.count == strangers
    assert bench.forged.count == 0


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
async def ranges_are_judged_as_a_whole(dut: SimHandleBase, width: int) -> None:
    """Of forged PUTs those alone are written whose range, named by each, is one and lies within the window."""
    bench = Bench(dut, width)
    bench.network.filters[1] = lambda packet: []
    await bench.start()
    flit, first = bench.flit, TARGET + 64 * MTU
    inside = MEMORY_BYTES - first
    cases = [
        (Status.OK, first, 0, inside), (Status.OK, first, first - TARGET, inside), (Status.OK, first, 0, flit),
        (Status.REMOTE_ACCESS, first, 0, inside + 1), (Status.REMOTE_ACCESS, first, first - TARGET + flit, flit),
        (Status.REMOTE_ACCESS, first, first + flit, flit), (Status.REMOTE_ACCESS, first, 0, (1 << 32) - 1),
        (Status.REMOTE_ACCESS, (1 << 64) - flit, 0, 2 * flit), (Status.REMOTE_ACCESS, (1 << 64) - flit, flit, flit),
        (Status.BAD_LENGTH, first, flit, (1 << 32) - flit), (Status.BAD_LENGTH, first, 0, flit - 1),
        (Status.BAD_LENGTH, first, 0, 0), (Status.BAD_LENGTH, first, 4, flit), (Status.BAD_LENGTH, first + 4, 4, flit),
        (None, first, 0, flit),
    ]
    written = []
    for tag, (status, addr, before, left) in enumerate(cases):
        data = bench.numbers.randbytes(flit)
        operation = formats.P2P_RANGE.pack(before=before, left=left).ljust(flit, b"\0")
        bench.network.sources[0].append(Packet.make(
            b"" if status is None else operation + data, type=PacketType.PUT, version=1, dest_vp=OPEN_VP,
            source_id=NODE, addr=addr, tag=tag, coll_end=1,
        ))
        written += [data] * (status is Status.OK)
    while len(bench.network.sent[1]) < len(cases):
        await RisingEdge(dut.clk)
    for (status, *_), answer in zip(cases, bench.network.sent[1], strict=True):
        assert answer.header["status"] == (Status.BAD_LENGTH if status is None else status), answer.header["tag"]
    assert bench.memory.written == [range(first, first + flit)] * len(written)
    assert bytes(bench.memory.content[first:first + flit]) == written[-1]
    assert bench.unknown.count == 0


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def forged_answers_count_for_nothing(dut: SimHandleBase, width: int) -> None:
    """Answers with a bit that is wrong in node, VPs or nonce, good and bad, before each right one: no operation ends
    sooner or otherwise."""
    bench = Bench(dut, width)
    numbers = bench.numbers
    forged = 0

    def answer_filter(packet: Packet) -> list[Packet]:
        nonlocal forged
        extra = []
        for _ in range(numbers.randrange(4)):
            name = numbers.choice(BEARERS)
            changed = packet.header[name] ^ 1 << numbers.randrange(PACKET_HEADER[name].width)
            extra.append(Packet(packet.header | {
                name: changed, "status": numbers.choice((Status.OK, Status.REMOTE_ACCESS, Status.MEMORY_ERROR)),
            }, b""))
        forged += len(extra)
        return [*extra, packet]

    bench.network.filters[1] = answer_filter
    await bench.start()
    puts = []
    for _ in range(parameters()["operations"] // 2):
        puts.append(post_put(bench, numbers.choice(lengths(bench.flit)), mini=False))
        bench.post({}, p2p_op=P2pOp.SEND, payload_bytes=numbers.randbytes(numbers.randrange(65)))
    await bench.settle()
    for target, data in puts:
        assert bytes(bench.memory.content[target:target + len(data)]) == data
    assert (bench.unknown.count, bench.forged.count) == (0, forged)
    assert forged > 20


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
        Packet.make(type=PacketType.ACK, **answer_fields(packet.header))
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
    elapsed = await bench.time()
    packets = put_packets(bench.flit, length)
    beats = length // bench.flit + packets
    assert bench.memory.content[target:target + length] == bench.memory.content[SOURCE:SOURCE + length]
    # The bench's drivers need three cycles between packets.
    assert elapsed <= beats + 6 * packets + 150, elapsed


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def memory_is_asked_ahead(dut: SimHandleBase, width: int) -> None:
    """Behind memory that is late, as many fragments of a PUT are read at once as are held."""
    bench = Bench(dut, width, pause=0, delay=1, latency=LATENCY)
    await bench.start()
    length = 64 * MTU
    target = bench.target(length)
    bench.post({}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, length=length, local_addr=SOURCE, remote_addr=target)
    elapsed = await bench.time()
    assert bench.memory.content[target:target + length] == bench.memory.content[SOURCE:SOURCE + length]
    check_ahead(put_packets(bench.flit, length), MTU // bench.flit, elapsed)
