"""Operations as the trigger sees them, and its work for each pulse: a naive model, pass by pass."""

import random
from dataclasses import dataclass, field
from typing import Any

from firmware_models.abi.encoding import Operand, Status
from firmware_models.abi.formats import SEQ_BITS

FLIT, MTU = 8, 64
PULSE_BYTES = 16
"""Of a block; a message in one piece has pulses of an mtu."""
BAD = 1 << 20
"""Addresses from here on lie in no window."""
TERMS = (0, 1, 0x8000, 0x8001, 0xFFFF)
"""Terms of operations: none, and some that differ in their upper or in their lower bits alone."""
ERRORS = tuple(int(status) for status in Status if status != Status.OK)


@dataclass
class Message:
    """A message, whole or in blocks, the last of them shorter."""

    blocks: list[int]
    cut: bool

    def pulses(self) -> list[int]:
        """Bytes that each pulse takes of a full block."""
        step, left, sizes = PULSE_BYTES if self.cut else MTU, self.blocks[0], []
        while left > 0 or not sizes:
            sizes.append(min(step, left))
            left -= sizes[-1]
        return sizes

    def step(self) -> int:
        """Distance of two pulses in a block."""
        return PULSE_BYTES if self.cut else MTU

    def shares(self, pulse: int) -> list[int]:
        """Bytes that a pulse takes of each block."""
        start = pulse * self.step()
        return [max(0, min(self.step(), block - start)) for block in self.blocks]


@dataclass
class Packet:
    """A packet that a pulse is to consume."""

    key: tuple[int, ...]
    header: dict[str, int]
    comes: bool = True


@dataclass
class Pulse:
    """A pulse, and how far it should be."""

    operation: "Operation"
    number: int
    index: int
    packets: list[Packet]
    context: int | None = None
    place: int = 0
    consumed: int = 0
    middle: bool = False
    loaded: bool = False
    loading: bool = False
    lies: str = "ZERO"
    clear: bool = False
    running: bool = False
    ending: bool = False
    ended: bool = False
    untouched: bool = True
    blamed: bool = False

    @property
    def desc(self) -> dict[str, Any]:
        """The descriptor that is next."""
        return self.operation.descriptors[self.place]

    def slice(self) -> tuple[int, int]:
        """Position in the intermediate result, and size, of its slice."""
        shares = self.operation.message.shares(self.index)
        first = self.desc["slice_first"] if self.operation.message.cut and not self.clear else 0
        count = self.desc["slice_count"] if self.operation.message.cut and not self.clear else 0
        return sum(shares[:first]), sum(shares[first:first + count] if count else shares)

    def wants_operand(self) -> bool:
        """True if an operand must be loaded before the next pass."""
        outside = self.desc["operand"] in (Operand.PAYLOAD, Operand.MEMORY)
        return outside and not self.middle and not self.loaded and self.slice()[1] > 0 and not self.clear

    def next_packet(self) -> Packet | None:
        """The packet that the next pass takes, if it takes one."""
        wants = not self.clear and self.consumed < self.desc["cp_count"]
        return self.packets[self.consumed] if wants else None

    def next_pass(self, window_ok: bool = True) -> dict[str, Any]:
        """The pass that is next, and what it leaves behind."""
        desc, operation = self.desc, self.operation
        position, size = self.slice()
        packet = self.next_packet()
        header = packet.header if packet else {}
        ends = bool(header.get("coll_end"))
        final = not self.clear and (packet is None or ends or self.consumed + 1 == desc["cp_count"])
        swaps = bool(desc["swap_local_data"] or header.get("swap_data"))
        wants = packet is not None and bool(swaps or desc["reduce_flag"])
        use = wants and header["length"] == size and size > 0
        if self.clear:
            source = "ZERO"
        elif self.middle or desc["operand"] == Operand.INTERMEDIATE:
            source = self.lies
        else:
            source = "OPERAND" if self.loaded else "ZERO"
        select = "PASS_A"
        if use:
            select = "PASS_B" if swaps or (not self.middle and desc["operand"] == Operand.NONE) else "COMBINE"
        writes = size > 0 and ((final and bool(desc["write_back"])) or ends)
        brought = bool(header.get("swap_addr")) and not operation.message.cut
        foreign = writes and (brought or not desc["write_back"])
        stays = source == "RESULT" or (
            source == "OPERAND" and (not operation.message.cut or (final and operation.lazy))
        )
        direct = packet is None and not writes and not self.clear and (stays or size == 0)
        return {
            "packet": packet, "use": use, "final": final, "ends": ends or (final and bool(desc["ct"])),
            "source": source, "select": select, "writes": writes and (window_ok or not foreign), "foreign": foreign,
            "sends": final and bool(desc["cp"]) and not ends, "direct": direct, "position": position, "size": size,
            "mismatch": wants and header["length"] != size,
            "address": header["addr"] if brought else desc["result_addr"] + self.start(),
            "lies": "OPERAND" if direct and not operation.message.cut and source == "OPERAND" else "RESULT",
        }

    def start(self) -> int:
        """Of the first piece of its slice in the message."""
        message = self.operation.message
        first = self.desc["slice_first"] if message.cut and not self.clear else 0
        return first * message.blocks[0] + self.index * message.step()

    def take(self, done: dict[str, Any]) -> None:
        """Notes that a pass has been handed over."""
        self.untouched = False
        self.running, self.ending, self.lies = True, done["ends"], done["lies"]
        self.consumed += done["packet"] is not None
        self.clear, self.middle = False, not done["final"] and not self.clear
        if done["final"]:
            self.place += 1
            self.loaded = False

    def missing(self) -> int:
        """SeqIDs that are wanted and have not come, a bit each."""
        if self.clear:
            return 0
        # Behind one that ends the collective there is none, but the descriptor counts on them.
        numbers = range(self.consumed, self.desc["cp_count"])
        missing = [n for n in numbers if n >= len(self.packets) or not self.packets[n].comes]
        return sum(1 << ((n + self.desc["seq_skip"]) % (1 << SEQ_BITS)) for n in missing)


@dataclass
class Operation:
    """An operation in progress."""

    job: int
    job_id: int
    vp: int
    descriptors: list[dict[str, Any]]
    message: Message
    base: int
    lazy: bool
    clear: bool
    doomed: bool
    terms: int = 0
    pulses: list[Pulse] = field(default_factory=list)
    expected: list[tuple[int, int]] = field(default_factory=list)
    received: list[tuple[int, int]] = field(default_factory=list)
    expired: bool = False

    def fields(self) -> dict[str, Any]:
        """As the operation table has it."""
        blocks, full = self.message.blocks, max(self.message.blocks)
        tail = [size for size in blocks if 0 < size < full]
        return {
            "job": self.job, "job_id": self.job_id, "vp": self.vp, "length": sum(blocks),
            "pulse_bytes": self.message.step(), "base_pulse": self.base, "n_descriptors": len(self.descriptors),
            "lazy": int(self.lazy), "terms": self.terms,
            "blocks": {
                "cut": int(self.message.cut), "count": len(blocks), "bytes": full,
                "n_full": sum(size == full for size in blocks), "tail_bytes": tail[0] if tail else 0,
                "clear": int(self.clear),
            },
        }


def random_operation(numbers: random.Random, *, job: int, node: int, base: int, doomed: bool) -> Operation:
    """Any; `doomed`: some of its packets never come."""
    cut = numbers.random() < 0.4
    if cut:
        count, size = numbers.randint(2, 4), numbers.randint(1, 5) * FLIT * 2
        blocks = [size] * count
        if numbers.random() < 0.5:
            blocks[-1] = numbers.randrange(size)
            if count > 2 and numbers.random() < 0.3:
                blocks[-2:] = [numbers.randrange(size), 0]
    else:
        blocks = [numbers.choice((0, 1, FLIT, MTU, MTU + 1, 3 * MTU, numbers.randrange(4 * MTU)))]
    count = skipped = 0
    descriptors = []
    for place in range(n := numbers.randint(1, 6)):
        count += numbers.choice((0, 0, 1, 1, 2, 3))
        skipped += numbers.choice((0, 0, 0, 1, 2))
        first = numbers.randrange(len(blocks)) if cut else 0
        whole = not cut or numbers.random() < 0.3
        descriptors.append({
            "operand": numbers.randrange(4), "cp_count": count, "seq_skip": skipped % 32, "ct": int(place == n - 1),
            "swap_local_data": int(numbers.random() < 0.2), "reduce_flag": int(numbers.random() < 0.6),
            "write_back": int(numbers.random() < 0.3), "cp": int(numbers.random() < 0.5), "out_seq_id": place,
            "peer": numbers.randrange(4), "dest_id": numbers.randrange(1 << 24), "datatype": numbers.randrange(4),
            "operator": numbers.randrange(4), "slice_first": 0 if whole else first,
            "slice_count": 0 if whole else numbers.randint(1, len(blocks) - first),
            "result_addr": numbers.choice((4096, 8192, BAD)), "dest_vp": numbers.randrange(8),
        })
    operation = Operation(
        job=job, job_id=numbers.randrange(8) * 8 + job, vp=numbers.randrange(8), descriptors=descriptors,
        message=Message(blocks, cut), base=base, lazy=numbers.random() < 0.5, clear=cut and numbers.random() < 0.4,
        doomed=doomed, terms=numbers.choice(TERMS),
    )
    for index, _ in enumerate(operation.message.pulses()):
        pulse = Pulse(operation, (base + index) % (1 << 16), index, [], clear=operation.clear)
        _give_packets(numbers, pulse, node)
        operation.pulses.append(pulse)
    return operation


def _give_packets(numbers: random.Random, pulse: Pulse, node: int) -> None:
    operation = pulse.operation
    clear, pulse.clear = pulse.clear, False
    for place, desc in enumerate(operation.descriptors):
        pulse.place = place
        while len(pulse.packets) < desc["cp_count"]:
            seq, size = (len(pulse.packets) + desc["seq_skip"]) % 32, pulse.slice()[1]
            length = size if numbers.random() < 0.9 else numbers.choice((0, 8, 16, 64))
            ends = numbers.random() < 0.03
            # Above the terms may be anything.
            other = numbers.choice(TERMS) if numbers.random() < 0.1 else operation.terms
            swap_addr = int(numbers.random() < 0.2)
            addr = numbers.choice((64, 128, BAD + 8)) if swap_addr else other | numbers.getrandbits(4) << 16
            comes = not operation.doomed or numbers.random() < 0.7
            pulse.packets.append(Packet((operation.job_id, node, operation.vp, seq, pulse.number, 0), {
                "length": length, "coll_end": int(ends), "swap_data": int(numbers.random() < 0.2),
                "swap_addr": swap_addr, "addr": addr,
                "peer": numbers.randrange(16), "source_id": numbers.randrange(1 << 24), "tag": numbers.randrange(4),
                "source_vp": numbers.randrange(8),
                "status": numbers.choice(ERRORS) if numbers.random() < 0.05 else int(Status.OK),
            }, comes))
            if ends:
                pulse.place, pulse.clear = 0, clear
                return
    pulse.place, pulse.clear = 0, clear


def report_of(pulse: Pulse, status: Status, extra: int) -> tuple[int, int]:
    """Status and detail of a report about a pulse."""
    return int(status), pulse.consumed | pulse.number << 16 | extra << 32
