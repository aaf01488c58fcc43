"""Churns a packet buffer against a dictionary: inserts, look-ups, reads and frees at once, at every load."""

from collections import Counter
from dataclasses import dataclass

import cocotb
from amaranth.lib import data
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.formats import HASH_KEY
from rtl.abi import HashKey, PacketHeader
from rtl.buffer.buffer_statistics import statistics_layout
from rtl.buffer.layouts import Arrival, Departure, arrival_layout
from rtl.buffer.packet_buffer import FaultOrder
from rtl.buffer.tag_table import answer_layout
from rtl.interface import beat
from testbench.buffer.hash_keys import colliding_keys
from testbench.clock import cycles, start
from testbench.codec import decode
from testbench.packet import Packet, PacketSource, from_beats
from testbench.runner import parameters, report, rng
from testbench.stream import StreamMonitor, StreamSink, StreamSource

_FREE_CYCLES = 200
"""Longest way of a free through the table."""


@dataclass
class Stored:
    """A packet that the buffer must have."""

    packet: Packet
    slot: int


def key_of(packet: Packet) -> dict[str, int]:
    """The hash key of a packet, as the format says."""
    header = packet.header
    return {
        "job_id": header["job_id"], "node_id": header["dest_id"], "vp": header["dest_vp"], "seq_id": header["seq_id"],
        "pulse": header["pulse"], "fragment": header["fragment"],
    }


def bits_of(key: dict[str, int]) -> int:
    """A key as one number, to be a dictionary's key."""
    return formats.HASH_KEY.to_int(key)


class Bench:
    """The buffer, its drivers, and the model: a dictionary from key to packet."""

    def __init__(self, dut):
        self.dut = dut
        self.rng = rng("bench")
        self.width, self.mtu, self.n_slots = (parameters()[name] for name in ("data_width", "mtu", "n_packets"))
        slot_bits = max(1, (parameters()["n_slots"] - 1).bit_length())
        tag = data.StructLayout({"key": HashKey, "slot": slot_bits})
        self.source = PacketSource(dut, "i", self.width)
        self.arrivals = StreamMonitor(dut, "packets__arrival", arrival_layout(slot_bits), callback=self._arrived)
        self.coming: dict[int, int] = {}
        """Slot and key of the packets whose tags are on their way to the table."""
        self.lookup = StreamSource(dut, "packets__lookup__request", HashKey)
        self.found = StreamSink(dut, "packets__lookup__answer", answer_layout(slot_bits))
        asked = data.StructLayout({"slot": slot_bits, "length": formats.LENGTH_BITS})
        self.ask_read = StreamSource(dut, "i_read", asked)
        self.read_errors: list[int] = []
        self.read = StreamSink(
            dut, "o_read", beat(self.width), callback=lambda _: self.read_errors.append(int(dut.read_error.value))
        )
        read = data.StructLayout({**dict(tag.members), "n_left": 2})
        self.free = StreamSource(dut, "free", data.StructLayout({"free": read, "hash": parameters()["hash_bits"]}))
        self.gone = StreamSink(dut, "o_departure", Departure)
        self.left: Counter[tuple[int, int, int, int]] = Counter()
        """Packets that have left, by JobID and worth; those that were duplicates, and travelled on shared credits."""
        self.sent: dict[int, Packet] = {}
        self.stored: dict[int, Stored] = {}
        self.counts: Counter[str] = Counter()
        self.level_bits, self.slot_code_bits = slot_bits + 1, codeword_bits(slot_bits)

    async def start(self):
        """Clock and reset; events are always taken."""
        await start(self.dut, max_cycles=2_000_000)
        self.dut.arm.value = self.dut.fault.value = 0
        self.dut.packets__arrival__ready.value = 1

    def figures(self):
        """The buffer's own statistics."""
        return statistics_layout(self.level_bits).from_bits(int(self.dut.statistics.value))

    def _arrived(self, event):
        key, slot = bits_of(event["key"]), event["slot"]
        if event["what"] == Arrival.COMING.value:
            taken = {stored.slot for stored in self.stored.values()} | set(self.coming)
            assert slot not in taken, "a slot given twice"
            self.coming[slot] = key
            self.counts["announced"] += 1
            return
        assert self.coming.pop(slot, None) == key, "a packet came in that was not announced, or as another one"
        if event["what"] == Arrival.DROPPED.value:
            assert key in self.stored, "a packet was dropped whose key was not there"
            self.counts["withdrawn"] += 1
            return
        assert key in self.sent, "an event for a packet that was not sent, or a second one"
        self.stored[key] = Stored(self.sent.pop(key), slot)
        self.counts["inserted"] += 1

    def packet(self, key: dict[str, int], *, length: int | None = None) -> Packet:
        """A packet with this key and random content, its length at one of the boundaries."""
        flit = self.width // 8
        if length is None:
            length = self.rng.choice((0, 1, flit - 1, flit, flit + 1, self.mtu - 1, self.mtu))
        return Packet.make(
            self.rng.randbytes(length), version=1, job_id=key["job_id"], dest_id=key["node_id"], dest_vp=key["vp"],
            seq_id=key["seq_id"], pulse=key["pulse"], fragment=key["fragment"], peer=self.rng.randrange(64),
            loan=self.rng.getrandbits(1), multicast=self.rng.getrandbits(1),
            source_id=self.rng.randrange(1 << 24), addr=self.rng.getrandbits(64), swap_data=self.rng.randrange(2),
        )

    def insert(self, key: dict[str, int], *, length: int | None = None):
        """Sends a packet."""
        packet = self.packet(key, length=length)
        self.sent[bits_of(key)] = packet
        self.source.append(packet)

    async def settle(self):
        """Waits until everything that was sent has been stored."""
        await self.source.drain()
        while self.sent:
            await RisingEdge(self.dut.clk)

    async def header_of(self, slot: int) -> dict[str, int]:
        """The header in a slot; it stays where it is offered until the next one is asked for."""
        place, enable = self.dut.packets__header__slot, self.dut.packets__header__enable
        place.value, enable.value = slot, 1
        await RisingEdge(self.dut.clk)
        place.value, enable.value = self.rng.randrange(self.n_slots), 0
        await cycles(self.dut, self.rng.choice((1, 1, 2, 20)))
        return decode(PacketHeader, int(self.dut.packets__header__header.value))

    async def check_hit(self, key: int):
        """Look-up, header and payload of a packet that is there."""
        stored = self.stored[key]
        await self.lookup.send(key, sync=True)
        answer = await self.found.receive()
        assert answer["hit"], "a packet that is there was not found"
        assert answer["slot"] == stored.slot
        assert await self.header_of(stored.slot) == dict(stored.packet.header)
        length = stored.packet.header["length"]
        await self.ask_read.send({"slot": stored.slot, "length": length}, sync=True)
        beats = await self.read.receive_all(-(-length * 8 // self.width))
        assert from_beats(beats, length, self.width) == stored.packet.payload
        self.counts["hits"] += 1

    async def check_miss(self, key: int):
        """A key that is not there, and not on its way, is not found."""
        await self.lookup.send(key, sync=True)
        assert not (await self.found.receive())["hit"], "a packet that is not there was found"
        self.counts["misses"] += 1

    async def remove(self, key: int):
        """Frees a packet."""
        stored = self.stored.pop(key)
        worth = self.rng.randrange(3)
        await self.free.send({"free": {"key": key, "slot": stored.slot, "n_left": worth}, "hash": 0}, sync=True)
        self.left[stored.packet.header["job_id"], worth, 0, 0] += 1
        self.counts["freed"] += 1

    async def empty(self):
        """Frees everything, and sees the buffer empty."""
        for key in list(self.stored):
            await self.remove(key)
        await self.check_level()

    async def check_level(self):
        """The buffer's own count is the model's, once the last free has gone through."""
        await RisingEdge(self.dut.clk)  # a packet counts in the cycle after its header
        for _ in range(_FREE_CYCLES):
            if self.figures().level == len(self.stored):
                break
            await RisingEdge(self.dut.clk)
        await cycles(self.dut, 5)
        assert self.figures().level == len(self.stored)
        while len(self.gone.received) < self.left.total():
            await RisingEdge(self.dut.clk)
        seen = Counter(tuple(item[name] for name in Departure.members) for item in self.gone.received)
        assert seen == self.left


async def order_fault(bench: Bench, target: int, bits: int, bit: int) -> None:
    """The next write of tag (1), header (2) or payload (3) goes wrong."""
    bench.dut.fault.value = FaultOrder.const({"memory": target, "errors": bits, "first_bit": bit}).as_bits()
    bench.dut.arm.value = 1
    await RisingEdge(bench.dut.clk)
    bench.dut.arm.value = 0


def random_key(numbers) -> dict[str, int]:
    """Any key."""
    return formats.HASH_KEY.from_int(numbers.getrandbits(formats.HASH_KEY.width))


def structured_keys():
    """Keys as operations make them: consecutive SeqIDs and pulses of a few jobs."""
    pulse = 0
    while True:
        for job in range(4):
            for seq in range(8):
                yield {"job_id": job, "node_id": 5, "vp": job, "seq_id": seq, "pulse": pulse % (1 << 16), "fragment": 0}
        pulse += 1


async def churn(bench: Bench, keys, *, load: float, rounds: int):
    """Keeps the buffer at `load` while packets come and go; every one is looked up and read before it goes."""
    want = max(1, int(load * bench.n_slots))
    gone: list[int] = []
    for _ in range(rounds):
        while len(bench.stored) + len(bench.sent) < want:
            key = next(keys)
            if bits_of(key) in bench.stored or bits_of(key) in bench.sent:
                continue
            bench.insert(key)
        while not bench.stored:
            await RisingEdge(bench.dut.clk)
        chosen = bench.rng.choice(list(bench.stored))
        await bench.check_hit(chosen)
        if gone and gone[-1] not in bench.stored and gone[-1] not in bench.sent:
            await bench.check_miss(gone[-1])
        if bench.rng.random() < 0.7:
            await bench.remove(chosen)
            gone.append(chosen)
    await bench.settle()
    await bench.check_level()
    for key in list(bench.stored):
        await bench.check_hit(key)
    await bench.empty()


@cocotb.test()
async def churn_at_every_load(dut):
    """Random and structured keys at 50 to 100% of the slots."""
    bench = Bench(dut)
    await bench.start()
    random_keys = iter(lambda: random_key(bench.rng), None)
    for load in (0.5, 0.75, 0.9, 0.95, 1.0):
        await churn(bench, random_keys, load=load, rounds=parameters()["rounds"])
        await churn(bench, structured_keys(), load=load, rounds=parameters()["rounds"])
    report(**bench.counts)


@cocotb.test()
async def colliding(dut):
    """Keys that all fall on one entry: slow, but nothing is lost, and nothing stays behind."""
    bench = Bench(dut)
    await bench.start()
    numbers = colliding_keys(parameters()["index_bits"], parameters()["banks"], bench.rng)
    keys = (formats.HASH_KEY.from_int(key) for key in numbers)
    await churn(bench, keys, load=0.5, rounds=parameters()["rounds"] // 2)


@cocotb.test()
async def duplicates_are_dropped(dut):
    """A second packet with a key that is there is dropped and reported; the first one stays."""
    bench = Bench(dut)
    await bench.start()
    seen = []

    async def count():
        while True:
            await RisingEdge(dut.clk)
            if int(dut.duplicate.value):
                seen.append(1)

    cocotb.start_soon(count())
    keys = [random_key(bench.rng) for _ in range(6)]
    for key in keys:
        bench.insert(key)
    await bench.settle()
    for key in keys:
        bench.source.append(packet := bench.packet(key))
        shared = packet.header["loan"] & ~packet.header["multicast"]
        bench.left[key["job_id"], 1, 1, shared] += 1
    await bench.source.drain()
    await bench.check_level()
    assert len(seen) == len(keys) == bench.counts["withdrawn"]
    assert not bench.coming
    for key in keys:
        await bench.check_hit(bits_of(key))
    await bench.empty()


@cocotb.test()
async def full_buffer_waits(dut):
    """With every slot in use the next packet waits, reading and freeing go on, and then it comes in."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(bench.n_slots + 1):
        bench.insert(random_key(bench.rng))
    while len(bench.stored) < bench.n_slots:
        await RisingEdge(dut.clk)
    await cycles(dut, 100)
    assert bench.figures().level == bench.n_slots
    assert len(bench.stored) == bench.n_slots
    first = next(iter(bench.stored))
    await bench.check_hit(first)
    await bench.remove(first)
    await bench.settle()
    assert len(bench.stored) == bench.n_slots
    assert bench.figures().peak == bench.n_slots
    await bench.empty()


def codeword_bits(data_bits: int) -> int:
    """Bits of a word with the fewest check bits that find two errors and correct one: Hamming's, and a parity."""
    return data_bits + next(r for r in range(2, 64) if (1 << r) >= data_bits + r + 1) + 1


_TAG_BITS, _HEADER_BITS, _PAYLOAD_BITS = codeword_bits(1 + HASH_KEY.width), codeword_bits(64), codeword_bits(64)
"""Bits of the first codeword of each memory: valid bit and key, 64 bits of a header, 64 bits of a payload."""


@cocotb.test()
@cocotb.skipif(not parameters().get("ecc"), reason="the build has no error correction")
async def single_errors_are_corrected(dut):
    """One wrong bit, anywhere: nothing is to be seen of it but a count."""
    bench = Bench(dut)
    await bench.start()
    certain = 0
    for round_ in range(30):
        target = 1 + round_ % 3
        bit = bench.rng.randrange((_TAG_BITS + 2 * bench.slot_code_bits, 2 * _HEADER_BITS, _PAYLOAD_BITS)[target - 1])
        if round_ < 2:
            bit = round_  # the valid bit, the lowest bit of the key
        # Whatever is looked at on the way to a hit is counted; of the two copies of a slot, the one that is read.
        certain += target != 1 or bit < _TAG_BITS
        key = random_key(bench.rng)
        await order_fault(bench, target, 1, bit)
        bench.insert(key, length=bench.mtu)
        await bench.settle()
        await bench.check_hit(bits_of(key))
        if bench.rng.random() < 0.8 or len(bench.stored) > bench.n_slots // 2:
            await bench.remove(bits_of(key))
    await bench.empty()
    figures = bench.figures()
    assert certain <= figures.corrected <= 30
    assert figures.uncorrectable == 0


@cocotb.test()
@cocotb.skipif(not parameters().get("ecc"), reason="the build has no error correction")
async def double_errors_are_reported(dut):
    """Two wrong bits: of a tag and of a payload they are reported to the reader that they hit and to no other."""
    bench = Bench(dut)
    await bench.start()
    other = random_key(bench.rng)
    bench.insert(other)
    await bench.settle()
    for round_ in range(24):
        target = 1 + round_ % 3
        key = random_key(bench.rng)
        bits = (_TAG_BITS, _HEADER_BITS, _PAYLOAD_BITS)[target - 1]
        await order_fault(bench, target, 2, bench.rng.randrange(bits - 1))
        bench.insert(key, length=bench.mtu)
        await bench.settle()
        stored = bench.stored[bits_of(key)]
        await bench.lookup.send(bits_of(key), sync=True)
        answer = await bench.found.receive()
        assert answer == {"hit": 1, "slot": stored.slot, "error": int(target == 1)}
        assert await bench.header_of(stored.slot) == dict(stored.packet.header), "headers survive double errors"
        bench.read_errors.clear()
        await bench.ask_read.send({"slot": stored.slot, "length": bench.mtu}, sync=True)
        n_beats = bench.mtu * 8 // bench.width
        await bench.read.receive_all(n_beats)
        assert bench.read_errors == [int(target == 3 and beat_ == 0) for beat_ in range(n_beats)]
        await bench.check_hit(bits_of(other))
        await bench.remove(bits_of(key))
        await bench.check_level()
        await bench.check_miss(bits_of(key))
    await bench.empty()
