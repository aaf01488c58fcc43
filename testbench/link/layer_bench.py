"""Bench of the reliable link: whatever the wire does, every packet comes once and in order, and no credit is lost."""

import random

import cocotb
from amaranth.lib.crc import Algorithm
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.wire import LINK_CONTROL, LINK_TRAINING, ControlKind
from testbench import clock
from testbench.coverage import cover
from testbench.link.faulty_wire import FAULTS
from testbench.link.layer_model import ReliableLink
from testbench.link.layer_parts import SIZES
from testbench.runner import parameters, rng

NAME = parameters().get("size", "narrow")
SIZE = SIZES[NAME]
PACKETS = parameters().get("packets", 40)
VCS = (0, 1)
STORM = {"lose": 0.01, "double": 0.01, "flip": 0.01, "control": 0.005, "noise": 0.005}

fault_seen = cover("faults of the wire", fault=FAULTS)
event_seen = cover(
    "events of the layer", event=("damaged", "stomped", "repeated", "replays", "timeouts", "falls", "lost"),
)
length_seen = cover(
    "packets", vc=VCS, flits=sorted({1, 2, SIZE.longest - 1, SIZE.longest}),
)


def lengths(numbers: random.Random, count: int) -> list[int]:
    """Flits of packets: the boundaries, and others."""
    edges = [1, 2, SIZE.longest - 1, SIZE.longest]
    others = [numbers.choice(edges) if numbers.random() < 0.3 else numbers.randint(1, 9) for _ in range(count - 4)]
    return others + edges


def note(link: ReliableLink) -> None:
    """Tells the coverage what has happened."""
    for wire in link.wires.values():
        for fault, count in wire.faults.items():
            if count:
                fault_seen(fault=fault)
    for event, count in link.events.items():
        if count:
            event_seen(event=event)


def fill(link: ReliableLink, count: int) -> None:
    """Packets in both directions, on both channels."""
    for end in "ab":
        for vc in VCS:
            numbers = rng(f"packets {end} {vc}")
            for flits in lengths(numbers, count):
                link.send(end, vc, [numbers.getrandbits(SIZE.data_width) for _ in range(flits)])
                length_seen(vc=vc, flits=flits)


@cocotb.test()
@cocotb.parametrize(delay=(1, 12))
async def without_faults_nothing_is_sent_again(dut: SimHandleBase, delay: int) -> None:
    """Random packets, pauses and backpressure over a wire without faults."""
    link = ReliableLink(dut, SIZE, delay=delay)
    await link.bring_up()
    fill(link, PACKETS)
    await link.drain()
    assert not any(link.events[name] for name in ("stomped", "repeated", "replays", "timeouts", "falls"))
    assert not any(sink.bad for sink in link.sinks.values())


@cocotb.test()
@cocotb.parametrize((("fault", "delay"), [*((fault, 4) for fault in FAULTS), ("all", 1), ("all", 12)]))
async def faults_lose_nothing(dut: SimHandleBase, fault: str, delay: int) -> None:
    """One kind of fault, or all together, from training on."""
    link = ReliableLink(dut, SIZE, delay=delay)
    link.set_rates(STORM if fault == "all" else {fault: 0.03})
    await link.bring_up()
    fill(link, PACKETS)
    await link.drain()
    assert sum(wire.n_faults for wire in link.wires.values()), "no fault happened"
    assert not link.events["refused"]
    note(link)


@cocotb.test()
async def full_buffers_and_faults(dut: SimHandleBase) -> None:
    """The receivers hardly let anything go, so copies that were spoiled meet full buffers."""
    link = ReliableLink(dut, SIZE, delay=3, idle=0, hold=0.9)
    await link.bring_up()
    link.set_rates(STORM)
    fill(link, PACKETS // 2)
    await link.drain()
    assert sum(sink.bad for sink in link.sinks.values()), "nothing was handed on that had to be marked"
    note(link)


@cocotb.test()
async def a_cut_wire_is_noticed_and_mended(dut: SimHandleBase) -> None:
    """One direction, the other or both are cut for a while; traffic goes on where it was."""
    link = ReliableLink(dut, SIZE, delay=4)
    await link.bring_up()
    numbers = rng("cuts")
    for ends in ("a", "b", "ab"):
        fill(link, PACKETS // 4 + 4)
        await clock.cycles(dut, numbers.randint(20, 120))
        for end in ends:
            link.wires[end].cut = True
        fell = link.events["falls"]
        for _ in range(3 * SIZE.silence_cycles + 200):
            await RisingEdge(dut.clk)
        assert not link.up, "the cut was not noticed"
        assert link.events["falls"] > fell
        for end in ends:
            link.wires[end].cut = False
        await link.drain()
        assert link.up
    assert not link.events["refused"]
    note(link)


@cocotb.test()
async def a_wire_that_is_cut_for_long(dut: SimHandleBase) -> None:
    """Packets that cannot leave are thrown away, so that their sender goes on; later packets come, once and in order.
    """
    link = ReliableLink(dut, SIZE, delay=4)
    await link.bring_up()
    numbers = rng("long cuts")
    for ends in ("ab", "a", "b"):
        fill(link, PACKETS // 4 + 4)
        await clock.cycles(dut, numbers.randint(20, 200))
        for end in ends:
            link.wires[end].cut = True
        lost = link.events["lost"]
        await clock.cycles(dut, 2 * SIZE.silence_cycles + SIZE.dead_cycles + numbers.randint(100, 1500))
        assert not link.up
        assert link.events["dead"], "it does not say that it is dead"
        fill(link, 6)
        await clock.cycles(dut, numbers.randint(1, 400))
        for end in ends:
            link.wires[end].cut = False
        missing = await link.go_on()
        assert 0 < missing <= link.events["lost"] - lost, "packets are missing that were not counted"
        fill(link, 6)
        await link.drain()
    assert not link.events["refused"]
    note(link)


@cocotb.test()
async def acknowledgements_that_do_not_come(dut: SimHandleBase) -> None:
    """Of what the other end says everything is lost for a while, but not for so long that the link goes down."""
    link = ReliableLink(dut, SIZE, delay=2, idle=0)
    await link.bring_up()
    fill(link, PACKETS)
    for _ in range(4):
        link.wires["b"].cut = True
        await clock.cycles(dut, min(SIZE.replay_cycles + 100, SIZE.silence_cycles - 60))
        link.wires["b"].cut = False
        await clock.cycles(dut, 300)
    await link.drain()
    note(link)


def crc32c(data: bytes, before: int) -> int:
    """CRC-32C of `data`, continued from that of what was before: Amaranth's own, bit by bit."""
    state = int(f"{before ^ 0xFFFFFFFF:032b}"[::-1], 2)
    return Algorithm(
        crc_width=32, polynomial=0x1EDC6F41, initial_crc=state, reflect_input=True, reflect_output=True,
        xor_output=0xFFFFFFFF,
    )(data_width=8).compute(data)


@cocotb.test()
async def words_are_as_described(dut: SimHandleBase) -> None:
    """Each control word's CRC is that of an independent implementation; reserved bits are 0; fields are legal."""
    link = ReliableLink(dut, SIZE, delay=2)
    state = {end: {"crc": 0, "data": b"", "checked": 0} for end in "ab"}

    def look(end: str, control: int, word: int) -> None:
        seen, size = state[end], SIZE.data_width // 8
        raw = word.to_bytes(size, "little")
        if not control:
            seen["data"] += raw
            return
        expected = crc32c(seen["data"] + raw[:-4], seen["crc"])
        assert expected == int.from_bytes(raw[-4:], "little"), f"CRC of {word:#x} at {end} should be {expected:#x}"
        low = int.from_bytes(raw[:4] + raw[-4:], "little")
        assert not any(raw[4:-4]), "the bits between are not 0"
        fmt = LINK_TRAINING if low & 3 == ControlKind.TRAIN else LINK_CONTROL
        fmt.from_int(low)
        seen.update(crc=expected, data=b"", checked=seen["checked"] + 1)

    for end in "ab":
        link.wires[end].watch = lambda control, word, end=end: look(end, control, word)
    await link.bring_up()
    fill(link, 12)
    await link.drain()
    assert all(seen["checked"] > 20 for seen in state.values())
