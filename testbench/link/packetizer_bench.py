"""Bench of packetizer and depacketizer, several widths under one top: frames against a model in Python."""

import random
from dataclasses import dataclass

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.interface import beat
from testbench import clock
from testbench.bundle import Bundle
from testbench.packet import Packet, PacketSink, PacketSource, pack_header, to_beats
from testbench.runner import parameters, rng
from testbench.stream import StreamSink, StreamSource

WIDTHS = (64, 256, 512)
MTU = 256
NODE = 0x0ABCDE


def bundle() -> Bundle:
    """A packetizer and depacketizers of each width."""
    from rtl.link.depacketizer import Depacketizer
    from rtl.link.packetizer import Packetizer

    return Bundle(
        {f"packetizer_{width}": Packetizer(data_width=width) for width in WIDTHS}
        | {
            f"depacketizer_{width}": Depacketizer(data_width=width, mtu=MTU) for width in WIDTHS
        }
    )


def lengths(width: int) -> list[int]:
    """Payload lengths at the boundaries of a flit and of the mtu."""
    flit = width // 8
    around = {0, 1, 64, MTU - 1, MTU} | {flit * k + d for k in (1, 2, 3) for d in (-1, 0, 1)}
    return sorted(length for length in around if length <= MTU)


def random_packet(numbers: random.Random, width: int, **fields: int) -> Packet:
    """A packet for this node with random fields."""
    header = {
        field.name: numbers.getrandbits(field.width) for field in formats.PACKET_HEADER.fields if not field.is_reserved
    }
    header |= {"type": numbers.choice(list(PacketType)), "version": formats.PACKET_VERSION, "dest_id": NODE}
    payload = numbers.randbytes(numbers.choice(lengths(width)))
    return Packet.make(payload, **(header | {"length": len(payload)} | fields))


def _multicast(numbers: random.Random) -> dict[str, int]:
    """Header fields of a multicast to any group."""
    return {
        "type": PacketType.COLLECTIVE, "multicast": 1, "dest_id": numbers.getrandbits(24),
        "mlid": numbers.randrange(formats.FIRST_MLID, 1 << formats.MLID_BITS),
    }


def frame(packet: Packet, width: int, padding: int = 0) -> list[dict[str, int]]:
    """The flits of a packet: what the packetizer has to make of it."""
    # Reserved runs cannot be set through the codec; they are zero.
    fields = {name: value for name, value in packet.header.items() if not name.startswith("reserved_")}
    bits = int.from_bytes(pack_header(**fields), "little")
    n_header = max(1, 256 // width)
    flits = [{"data": bits >> k * width & (1 << width) - 1, "last": 0} for k in range(n_header)]
    flits += to_beats(packet.payload, width, padding)
    return [flit | {"last": int(flit is flits[-1])} for flit in flits]


@dataclass
class Expected:
    """Expected output and counts of the depacketizer for frames."""

    packets: list[Packet]
    received: int = 0
    malformed: int = 0
    wrong_node: int = 0


def spoil(numbers: random.Random, width: int, expected: Expected) -> list[dict[str, int]]:
    """A random frame, good or not, entered into `expected`."""
    expected.received += 1
    kind = numbers.choice(("good", "good", "good", "multicast", "node", "version", "type", "length", "short", "long",
                           "header", "node and short", "multicast type", "mlid"))
    packet = random_packet(numbers, width, multicast=0)
    flits = frame(packet, width, numbers.getrandbits(width))
    n_header = max(1, 256 // width)
    match kind:
        case "good":
            expected.packets.append(packet)
        case "multicast":
            packet = random_packet(numbers, width, **_multicast(numbers))
            expected.packets.append(packet)
            return frame(packet, width)
        case "node":
            expected.wrong_node += 1
            return frame(random_packet(numbers, width, multicast=0, dest_id=NODE ^ 1 << numbers.randrange(24)), width)
        case "version":
            flits = frame(random_packet(numbers, width, version=numbers.choice((0, 2, 15))), width)
        case "type":
            flits = frame(random_packet(numbers, width, type=numbers.randrange(len(PacketType), 16)), width)
        case "multicast type":
            others = [kind for kind in PacketType if kind is not PacketType.COLLECTIVE]
            fields = _multicast(numbers) | {"type": numbers.choice(others)}
            flits = frame(random_packet(numbers, width, **fields), width)
        case "mlid":
            fields = _multicast(numbers) | {"mlid": numbers.randrange(formats.FIRST_MLID)}
            flits = frame(random_packet(numbers, width, **fields), width)
        case "length":
            # Also with the number of flits that the length says.
            length = numbers.choice((MTU + 1, 2 * MTU, 8191))
            payload = numbers.randbytes(numbers.choice((length, MTU, 0)))
            flits = frame(Packet(packet.header | {"length": length}, payload), width)
        case "short" | "node and short":
            # From the end of the header to one flit less than there should be.
            payload = numbers.randbytes(numbers.choice([length for length in lengths(width) if length]))
            other = NODE if kind == "short" else NODE ^ 1
            packet = random_packet(numbers, width, multicast=0, dest_id=other)
            flits = frame(Packet(packet.header | {"length": len(payload)}, payload), width)
            del flits[numbers.randrange(n_header, len(flits)):]
        case "long":
            # By one flit, by many, and by more than the memory holds.
            extra = numbers.choice((1, 2, 5, 2 * MTU * 8 // width + 3))
            flits += [{"data": numbers.getrandbits(width), "last": 0} for _ in range(extra)]
        case "header":
            if n_header == 1:
                flits = frame(random_packet(numbers, width, version=7), width)
            else:
                del flits[numbers.randrange(1, n_header):]
    for flit in flits:
        flit["last"] = 0
    flits[-1]["last"] = 1
    if kind not in ("good", "multicast"):
        expected.malformed += 1
    return flits


class Pulses:
    """Counts the cycles in which each of some outputs is high."""

    def __init__(self, dut: SimHandleBase, prefix: str, names: tuple[str, ...]):
        self.counts = dict.fromkeys(names, 0)
        self._handles = {name: getattr(dut, f"{prefix}__{name}") for name in names}
        self._clock = dut.clk
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        while True:
            await RisingEdge(self._clock)
            for name, handle in self._handles.items():
                self.counts[name] += int(handle.value)


@cocotb.test()
@cocotb.parametrize(width=WIDTHS)
async def packetizer_makes_frames(dut: SimHandleBase, width: int) -> None:
    """Random packets, random pauses: exactly the flits of the model."""
    source = PacketSource(dut, f"packetizer_{width}__i", width)
    sink = StreamSink(dut, f"packetizer_{width}__o", beat(width))
    await clock.start(dut)
    numbers = rng(f"packets {width}")
    packets = [random_packet(numbers, width) for _ in range(parameters()["packets"])]
    for packet in packets:
        source.append(packet)
    await source.drain()
    while len(sink.received) < sum(len(frame(packet, width)) for packet in packets):
        await RisingEdge(dut.clk)
    await clock.cycles(dut, 20)
    # Bytes beyond the length are the source's padding: compared up to the length.
    position = 0
    for packet in packets:
        flits = frame(packet, width)
        got = sink.received[position:position + len(flits)]
        position += len(flits)
        n_header = max(1, 256 // width)
        assert got[:n_header] == flits[:n_header]
        assert [flit["last"] for flit in got] == [flit["last"] for flit in flits]
        data = b"".join(flit["data"].to_bytes(width // 8, "little") for flit in got[n_header:])
        assert data[:len(packet.payload)] == packet.payload
    assert position == len(sink.received)


@cocotb.test()
@cocotb.parametrize(width=WIDTHS)
async def depacketizer_keeps_the_good(dut: SimHandleBase, width: int) -> None:
    """Good and bad frames mixed, random pauses: the good ones come out whole, the others are counted."""
    source = StreamSource(dut, f"depacketizer_{width}__i", beat(width))
    sink = PacketSink(dut, f"depacketizer_{width}__o", width)
    await clock.start(dut)
    getattr(dut, f"depacketizer_{width}__node_id").value = NODE
    pulses = Pulses(dut, f"depacketizer_{width}", ("received", "malformed", "wrong_node"))
    numbers = rng(f"frames {width}")
    expected = Expected([])
    for _ in range(2 * parameters()["packets"]):
        source.extend(spoil(numbers, width, expected))
    await source.drain()
    while len(sink.received) < len(expected.packets):
        await RisingEdge(dut.clk)
    await clock.cycles(dut, 100)
    assert sink.received == expected.packets
    assert pulses.counts == {
        "received": expected.received, "malformed": expected.malformed, "wrong_node": expected.wrong_node
    }


@cocotb.test()
@cocotb.parametrize(width=WIDTHS, length=(0, 8, MTU))
async def no_bubbles(dut: SimHandleBase, width: int, length: int) -> None:
    """Without pauses, frames pass at one flit a cycle on both sides."""
    count = 40 if length else 200
    packetizer = PacketSource(dut, f"packetizer_{width}__i", width, idle=0)
    flits = StreamSink(dut, f"packetizer_{width}__o", beat(width), stall=0)
    source = StreamSource(dut, f"depacketizer_{width}__i", beat(width), idle=0)
    sink = PacketSink(dut, f"depacketizer_{width}__o", width, stall=0)
    await clock.start(dut)
    getattr(dut, f"depacketizer_{width}__node_id").value = NODE
    packet = random_packet(rng("bubbles"), width, multicast=0)
    packet = Packet(packet.header | {"length": length}, bytes(length))
    n_flits = len(frame(packet, width))
    for _ in range(count):
        packetizer.append(packet)
        source.extend(frame(packet, width))
    await clock.cycles(dut, 10)
    # The driver of packets needs a cycle between header and payload; the depacketizer's is a plain stream.
    before = len(source.sent)
    span = min(n_flits * count - 30, 200)
    await clock.cycles(dut, span)
    assert len(source.sent) - before == span
    while len(sink.received) < count or len(flits.received) < count * n_flits:
        await RisingEdge(dut.clk)
    assert sink.received == [packet] * count
