"""Bench of the stream parts: nothing lost, made, changed or reordered, at full speed and fair."""

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from rtl.kit.alternating_queue import AlternatingQueue
from testbench import clock
from testbench.kit.parts import (
    ALTERNATING_DEPTHS,
    ARBITER_GAPS,
    ARBITER_INPUTS,
    BLOCK_DEPTHS,
    DATA_WIDTH,
    GRANULARITIES,
    ITEM,
    LUT_DEPTHS,
    MEMORY_DEPTH,
    MEMORY_WIDTH,
    PACKET_ARBITER_INPUTS,
    PATIENT,
    QUEUE_DEPTHS,
)
from testbench.packet import Packet, PacketSink, PacketSource
from testbench.runner import rng
from testbench.stream import StreamChecker, StreamSink, StreamSource

ITEMS = 400


def items(name: str, count: int) -> list[dict[str, int]]:
    """Random items that differ from each other."""
    numbers = rng(name)
    return [{"data": k, "last": numbers.getrandbits(1)} for k in range(count)]


async def pass_through(dut: SimHandleBase, name: str, *, idle: float | None, stall: float | None, count: int) -> int:
    """Sends items through a part with one input and compares; returns the cycles that it took."""
    source = StreamSource(dut, f"{name}__i", ITEM, idle=idle)
    sink = StreamSink(dut, f"{name}__o", ITEM, stall=stall)
    await clock.start(dut)
    StreamChecker(dut, f"{name}__i", ITEM)
    sent = items(name, count)
    source.extend(sent)
    elapsed = 0
    while len(sink.received) < count:
        await RisingEdge(dut.clk)
        elapsed += 1
    await clock.cycles(dut, 50)
    assert sink.received == sent
    return elapsed


QUEUES = [*(f"queue_{depth}" for depth in QUEUE_DEPTHS), *(f"block_queue_{depth}" for depth in BLOCK_DEPTHS)]


@cocotb.test()
@cocotb.parametrize(name=QUEUES)
async def queue_keeps_order(dut: SimHandleBase, name: str) -> None:
    """Random gaps on both sides."""
    await pass_through(dut, name, idle=None, stall=None, count=ITEMS)


@cocotb.test()
@cocotb.parametrize(name=QUEUES[1:])
async def queue_runs_at_full_speed(dut: SimHandleBase, name: str) -> None:
    """One item a cycle without pauses."""
    elapsed = await pass_through(dut, name, idle=0, stall=0, count=ITEMS)
    assert elapsed <= ITEMS + 6


@cocotb.test()
@cocotb.parametrize(name=QUEUES)
async def queue_holds_its_depth(dut: SimHandleBase, name: str) -> None:
    """With a sink that never takes, exactly as many items go in as there is room for, and `level` says so."""
    depth = int(name.rpartition("_")[2])
    source = StreamSource(dut, f"{name}__i", ITEM, idle=None)
    sink = StreamSink(dut, f"{name}__o", ITEM, stall=1)
    await clock.start(dut)
    sent = items("depth", depth + 5)
    source.extend(sent)
    for _ in range(40 * (depth + 10)):
        await RisingEdge(dut.clk)
        if len(source.sent) == depth:
            break
    await clock.cycles(dut, 80)
    assert len(source.sent) == depth
    assert int(getattr(dut, f"{name}__level").value) == depth
    sink.set_stall(None)
    assert await sink.receive_all(depth + 5) == sent
    await clock.cycles(dut, 4)
    assert int(getattr(dut, f"{name}__level").value) == 0


async def latency(dut: SimHandleBase, name: str, cycles: int) -> None:
    """Checks that an item is offered so many cycles after it went into an empty part."""
    source = StreamSource(dut, f"{name}__i", ITEM, idle=0)
    sink = StreamSink(dut, f"{name}__o", ITEM, stall=0)
    await clock.start(dut)
    for item in items("latency", 20):
        await source.send(item)
        # Right after the edge that took it in, so the next edge is the first one that may take it out.
        before = len(sink.received)
        for _ in range(cycles - 1):
            await RisingEdge(dut.clk)
            assert len(sink.received) == before
        # The order of sink and bench at an edge is open, so the bench waits for one more cycle.
        await clock.cycles(dut, 2)
        assert len(sink.received) == before + 1
        await clock.cycles(dut, 3)


@cocotb.test()
@cocotb.parametrize(name=QUEUES)
async def queue_takes_one_cycle(dut: SimHandleBase, name: str) -> None:
    """An item is offered in the cycle after it went into an empty queue."""
    await latency(dut, name, 1)


@cocotb.test()
@cocotb.parametrize(name=["register_pair", *(f"patient_queue_{depth}_{full_rate}" for depth, full_rate in PATIENT)])
async def patient_queue_takes_two_cycles(dut: SimHandleBase, name: str) -> None:
    """An item goes through the memory, or through both registers."""
    await latency(dut, name, 2)


@cocotb.test()
@cocotb.parametrize(name=("register_pair", *(f"half_rate_queue_{depth}" for depth in LUT_DEPTHS)), pause=(None, 0))
async def half_rate_keeps_order(dut: SimHandleBase, name: str, pause: float | None) -> None:
    """With random gaps; without gaps, an item in two cycles."""
    elapsed = await pass_through(dut, name, idle=pause, stall=pause, count=ITEMS)
    assert pause is None or elapsed <= 2 * ITEMS + 6


@cocotb.test()
@cocotb.parametrize(variant=PATIENT, pause=(None, 0))
async def patient_queue_keeps_order(dut: SimHandleBase, variant: tuple[int, int], pause: float | None) -> None:
    """With random gaps; without gaps, an item a cycle, or one in two, from the second cycle on."""
    depth, full_rate = variant
    elapsed = await pass_through(dut, f"patient_queue_{depth}_{full_rate}", idle=pause, stall=pause, count=ITEMS)
    assert pause is None or elapsed <= (2 - full_rate) * ITEMS + 6


@cocotb.test()
@cocotb.parametrize(depth=QUEUE_DEPTHS)
async def unguarded_queue_keeps_order(dut: SimHandleBase, depth: int) -> None:
    """With random gaps."""
    await pass_through(dut, f"unguarded_queue_{depth}", idle=None, stall=None, count=ITEMS)


def key_of(item: dict[str, int]) -> int:
    """The key by which the alternating queue tells items apart."""
    return item["data"] >> 8 & 3


def keyed_items(name: str, count: int, keys: int) -> list[dict[str, int]]:
    """Random items of so many keys that differ from each other."""
    numbers = rng(name)
    return [
        {"data": numbers.randrange(keys) << 8 | k & 0xFF | k >> 8 << 10, "last": numbers.getrandbits(1)}
        for k in range(count)
    ]


@cocotb.test()
@cocotb.parametrize(depth=ALTERNATING_DEPTHS, pause=(None, 0), keys=(1, 2, 4))
async def alternating_queue_loses_nothing(dut: SimHandleBase, depth: int, pause: float | None, keys: int) -> None:
    """Every item comes once, those of one key in order; without pauses, an item a cycle."""
    source = StreamSource(dut, f"alternating_{depth}__i", ITEM, idle=pause)
    sink = StreamSink(dut, f"alternating_{depth}__o", ITEM, stall=pause)
    await clock.start(dut)
    StreamChecker(dut, f"alternating_{depth}__i", ITEM)
    sent = keyed_items(f"keys {depth} {keys}", ITEMS, keys)
    source.extend(sent)
    elapsed = 0
    while len(sink.received) < ITEMS:
        await RisingEdge(dut.clk)
        elapsed += 1
    await clock.cycles(dut, 50)
    assert len(sink.received) == ITEMS
    for key in range(keys):
        assert [i for i in sink.received if key_of(i) == key] == [i for i in sent if key_of(i) == key]
    assert pause is None or elapsed <= ITEMS + 6


@cocotb.test()
@cocotb.parametrize(depth=ALTERNATING_DEPTHS)
async def alternating_queue_alternates(dut: SimHandleBase, depth: int) -> None:
    """Full, it holds one more than its depth, and gives out what its rule says."""
    source = StreamSource(dut, f"alternating_{depth}__i", ITEM, idle=None)
    sink = StreamSink(dut, f"alternating_{depth}__o", ITEM, stall=1)
    await clock.start(dut)
    for attempt in range(8):
        sent = keyed_items(f"full {depth} {attempt}", depth + 1, 1 + attempt % 4)
        source.extend(sent)
        await clock.cycles(dut, 40 * (depth + 10))
        assert source.pending == 0
        assert not int(getattr(dut, f"alternating_{depth}__i__ready").value)
        waiting, expected = sent[1:], sent[:1]
        while waiting:
            chosen = next((item for item in waiting if key_of(item) != key_of(expected[-1])), waiting[0])
            waiting.remove(chosen)
            expected.append(chosen)
        sink.set_stall(None)
        assert await sink.receive_all(depth + 1) == expected
        sink.set_stall(1)
        await clock.cycles(dut, 3)
        assert int(getattr(dut, f"alternating_{depth}__empty").value)


@cocotb.test()
@cocotb.parametrize(depth=ALTERNATING_DEPTHS)
async def preferring_queue_prefers(dut: SimHandleBase, depth: int) -> None:
    """Full, it gives out items of the kind that is wanted first, and among them what its rule says."""
    source = StreamSource(dut, f"preferring_{depth}__i", ITEM, idle=None)
    sink = StreamSink(dut, f"preferring_{depth}__o", ITEM, stall=1)
    wanted = getattr(dut, f"preferring_{depth}__wanted")
    await clock.start(dut)
    for attempt in range(12):
        wanted.value = kind = attempt & 1
        sent = keyed_items(f"preferred {depth} {attempt}", depth + 1, 1 + attempt % 4)
        source.extend(sent)
        await clock.cycles(dut, 40 * (depth + 10))
        assert source.pending == 0
        waiting, expected = sent[1:], sent[:1]
        while waiting:
            among = [item for item in waiting if item["last"] == kind] or waiting
            chosen = next((item for item in among if key_of(item) != key_of(expected[-1])), among[0])
            waiting.remove(chosen)
            expected.append(chosen)
        sink.set_stall(None)
        assert await sink.receive_all(depth + 1) == expected
        sink.set_stall(1)
        await clock.cycles(dut, 3)


@cocotb.test()
@cocotb.parametrize(depth=ALTERNATING_DEPTHS)
async def preferring_queue_forgets_nobody(dut: SimHandleBase, depth: int) -> None:
    """An item of the other kind is passed over less often than the queue says, whoever else comes."""
    source = StreamSource(dut, f"preferring_{depth}__i", ITEM, idle=0)
    sink = StreamSink(dut, f"preferring_{depth}__o", ITEM, stall=0.5)
    await clock.start(dut)
    getattr(dut, f"preferring_{depth}__wanted").value = 1
    sent = [{"data": k, "last": int(k % 40 != 3)} for k in range(24 * AlternatingQueue.OVER)]
    source.extend(sent)
    received = await sink.receive_all(len(sent))
    assert sorted(item["data"] for item in received) == [item["data"] for item in sent]
    # Of those that left before it, those that came after it.
    late = [
        sum(other["data"] > item["data"] for other in received[:received.index(item)])
        for item in sent if not item["last"]
    ]
    assert 0 < max(late) < AlternatingQueue.OVER, f"passed over {late} times"


@cocotb.test()
@cocotb.parametrize(part=("skid", "turn"))
async def skid_keeps_order(dut: SimHandleBase, part: str) -> None:
    """Random gaps on both sides."""
    await pass_through(dut, part, idle=None, stall=None, count=2 * ITEMS)


@cocotb.test()
@cocotb.parametrize(part=("skid", "turn"))
async def skid_runs_at_full_speed(dut: SimHandleBase, part: str) -> None:
    """One item a cycle without pauses."""
    assert await pass_through(dut, part, idle=0, stall=0, count=ITEMS) <= ITEMS + 5


@cocotb.test()
@cocotb.parametrize(n=ARBITER_INPUTS, gap=ARBITER_GAPS)
async def arbiter_merges(dut: SimHandleBase, n: int, gap: int) -> None:
    """Every item of every input comes once, those of one input in order."""
    sources = [StreamSource(dut, f"arbiter_{n}_{gap}__i__{k}", ITEM) for k in range(n)]
    sink = StreamSink(dut, f"arbiter_{n}_{gap}__o", ITEM)
    await clock.start(dut)
    sent = [[{"data": k << 12 | j, "last": j & 1} for j in range(ITEMS // n)] for k in range(n)]
    for source, batch in zip(sources, sent, strict=True):
        source.extend(batch)
    received = await sink.receive_all(n * (ITEMS // n))
    await clock.cycles(dut, 50)
    assert len(sink.received) == len(received)
    for k in range(n):
        assert [item for item in received if item["data"] >> 12 == k] == sent[k]


@cocotb.test()
@cocotb.parametrize(n=ARBITER_INPUTS, gap=ARBITER_GAPS)
async def arbiter_is_fair(dut: SimHandleBase, n: int, gap: int) -> None:
    """With all inputs always valid, any `n` items in a row are of `n` inputs, one in `gap` cycles."""
    sources = [StreamSource(dut, f"arbiter_{n}_{gap}__i__{k}", ITEM, idle=0) for k in range(n)]
    sink = StreamSink(dut, f"arbiter_{n}_{gap}__o", ITEM, stall=0)
    await clock.start(dut)
    for k, source in enumerate(sources):
        source.extend({"data": k, "last": 0} for _ in range(30))
    await clock.cycles(dut, 10)
    before = len(sink.received)
    await clock.cycles(dut, 2 * n * gap)
    run = [item["data"] for item in sink.received[before:]]
    assert len(run) == 2 * n
    assert sorted(run[:n]) == list(range(n))
    assert run[n:] == run[:n]
    await sink.receive_all(30 * n)


@cocotb.test()
@cocotb.parametrize(n=PACKET_ARBITER_INPUTS, ahead=(0, 1), idle=(0, None))
async def packet_arbiter_merges(dut: SimHandleBase, n: int, ahead: int, idle: float | None) -> None:
    """Packets come whole, once, those of one input in order; lengths at the boundaries of a beat."""
    lengths = (0, 1, 7, 8, 9, 15, 16, 17, 64)
    name = f"packet_arbiter_{n}_{ahead}"
    sources = [PacketSource(dut, f"{name}__i__{k}", DATA_WIDTH, idle=idle) for k in range(n)]
    sink = PacketSink(dut, f"{name}__o", DATA_WIDTH, stall=idle)
    await clock.start(dut)
    numbers = rng("packets")
    sent = [
        [Packet.make(numbers.randbytes(numbers.choice(lengths)), source_id=k, tag=j) for j in range(60)]
        for k in range(n)
    ]
    for source, batch in zip(sources, sent, strict=True):
        for packet in batch:
            source.append(packet)
    received = [await sink.receive() for _ in range(60 * n)]
    await clock.cycles(dut, 50)
    assert len(sink.received) == len(received)
    for k in range(n):
        assert [packet for packet in received if packet.header["source_id"] == k] == sent[k]
    if idle == 0 and n > 1:
        # All inputs want to send all the time: the first packets of all of them come before any second one.
        assert sorted(packet.header["source_id"] for packet in received[:n]) == list(range(n))


@cocotb.test()
@cocotb.parametrize(registers=(0, 1), full_rate=(0, 1))
async def stage_keeps_order(dut: SimHandleBase, registers: int, full_rate: int) -> None:
    """Random gaps on both sides; wires or registers."""
    await pass_through(dut, f"stage_{registers}_{full_rate}", idle=None, stall=None, count=ITEMS)


@cocotb.test()
@cocotb.parametrize(full_rate=(0, 1))
async def stage_keeps_its_rate(dut: SimHandleBase, full_rate: int) -> None:
    """An item a cycle, or one in two."""
    elapsed = await pass_through(dut, f"stage_1_{full_rate}", idle=0, stall=0, count=ITEMS)
    cycles = ITEMS if full_rate else 2 * ITEMS
    assert cycles <= elapsed <= cycles + 6


@cocotb.test()
@cocotb.parametrize(registers=(0, 1), idle=(0, None))
async def packet_stage_keeps_packets(dut: SimHandleBase, registers: int, idle: float | None) -> None:
    """Packets come whole and in order, a beat a cycle; a payload never before its header, which the sink checks."""
    source = PacketSource(dut, f"packet_stage_{registers}__i", DATA_WIDTH, idle=idle)
    sink = PacketSink(dut, f"packet_stage_{registers}__o", DATA_WIDTH, stall=idle)
    await clock.start(dut)
    numbers = rng("stage")
    sent = [Packet.make(numbers.randbytes(numbers.choice((0, 0, 1, 8, 9, 64))), tag=j) for j in range(200)]
    for packet in sent:
        source.append(packet)
    assert [await sink.receive() for _ in sent] == sent
    await clock.cycles(dut, 50)
    assert len(sink.received) == len(sent)


@cocotb.test()
@cocotb.parametrize(bits=GRANULARITIES)
async def memory_reads_what_was_written(dut: SimHandleBase, bits: int) -> None:
    """Random accesses, many to the same word; a read of the word that is being written changes nothing.

    What stands at the port before the first read is undefined, and X in a simulator of four states.
    """
    ports = {
        name: getattr(dut, f"memory_{bits}__{name}")
        for name in ("write_enable", "write_address", "write_data", "read_enable", "read_address", "read_data")
    }
    await clock.start(dut)
    numbers = rng(f"memory {bits}")
    words, shown, collisions = [0] * MEMORY_DEPTH, None, 0
    for _ in range(ITEMS * 5):
        enable = numbers.getrandbits(MEMORY_WIDTH // bits)
        given = {
            "write_enable": enable, "write_address": numbers.randrange(MEMORY_DEPTH),
            "write_data": numbers.getrandbits(MEMORY_WIDTH), "read_enable": numbers.getrandbits(1),
            "read_address": numbers.randrange(MEMORY_DEPTH),
        }
        for name, value in given.items():
            ports[name].value = value
        await RisingEdge(dut.clk)
        assert shown is None or int(ports["read_data"].value) == shown
        collides = bool(enable) and given["write_address"] == given["read_address"]
        collisions += collides and given["read_enable"]
        if given["read_enable"] and not collides:
            shown = words[given["read_address"]]
        mask = sum((1 << bits) - 1 << bits * k for k in range(MEMORY_WIDTH // bits) if enable >> k & 1)
        word = words[given["write_address"]]
        words[given["write_address"]] = word & ~mask | given["write_data"] & mask
    # About one access in twenty collides if the word is written as a whole, more if bytes are.
    assert collisions > ITEMS // 10
