"""A channel of a switch's input beside queues in Python: all outputs, in each cycle."""

import random
from collections import Counter, deque
from typing import Any

import pytest

from firmware_models.abi import formats
from rtl.switch.input_channel import InputChannel
from rtl.switch.sizes import SwitchSizes
from testbench.parts.faults import changed
from testbench.parts.simulation import run
from testbench.unit_config import UNIT

RADIX, CYCLES = 4, 1200
LENGTH, MULTICAST, SOURCE = (formats.PACKET_HEADER.offset(name) for name in ("length", "multicast", "source_id"))
LENGTH_BITS, MINI_BYTES = 16, 64


def sizes(width: int, readers: int, *, reliable: bool) -> SwitchSizes:
    """Of a small switch, whose buffer holds little more than the longest packet."""
    return SwitchSizes(config=UNIT.changed(
        datapath={"data_width": width, "mtu": max(64, 4 * width // 8)},
        cou={"buffer_bytes": 1 << 18, "intermediate_bytes": 4096},  # of no meaning here, but must suit the mtu
        link={"buffer_flits": 16, "reliable": reliable}, switch={"radix": RADIX, "readers": readers},
    ))


class Packet:
    """A packet that comes: its flits, how many are there, and the outputs that it goes to, once they are known."""

    def __init__(self, flits: list[tuple[int, int]], *, short: bool, multicast: bool, ports: int, source: int | None):
        self.flits, self.short, self.multicast, self.ports, self.there = flits, short, multicast, ports, 0
        self.source = source

    @property
    def complete(self) -> bool:
        """True if all of it is there."""
        return self.there == len(self.flits)


class Reader:
    """One packet that is sent: where to, how far, and whether its flits are done with."""

    def __init__(self) -> None:
        self.packet: Packet | None = None
        self.holds, self.place, self.whole = 0, 0, False

    @property
    def available(self) -> bool:
        """True if the next flit is there."""
        return self.packet is not None and self.place < self.packet.there

    @property
    def at_last(self) -> bool:
        """True if it is the last one, and there."""
        return self.available and self.place == len(self.packet.flits) - 1


class Channel:
    """The link, the tables and the matching around the part, beside a model of it."""

    def __init__(self, size: SwitchSizes, rng: random.Random, *, check: bool):
        self.check, self.node = check, rng.getrandbits(formats.NODE_BITS)
        self.queued: Packet | None = None
        self.size, self.rng, self.part = size, rng, InputChannel(sizes=size)
        self.cycles = self.cycles_left = 2 * CYCLES if check else CYCLES
        self.credits = size.buffer_flits
        self.coming: Packet | None = None
        self.looked_up: Packet | None = None
        self.waiting_packet: Packet | None = None
        self.queues = [deque[Packet]() for _ in range(RADIX)]
        self.multicasts = deque[Packet]()
        self.readers = [Reader() for _ in range(size.readers)]
        self.read: list[tuple[int, int] | None] = [None] * size.readers
        self.depth = self.peak = self.owed = 0
        self.fast = False
        self.counts: Counter[str] = Counter()

    def _new_packet(self) -> Packet:
        rng, size = self.rng, self.size
        count = rng.choice((1, 1, 2, size.short, size.longest - 1, size.longest, rng.randint(1, size.longest)))
        multicast, length = rng.random() < 0.45, rng.choice((0, MINI_BYTES - 1, MINI_BYTES, MINI_BYTES + 1, 999))
        first = rng.getrandbits(size.data_width) & ~((1 << LENGTH_BITS) - 1 << LENGTH | 1 << MULTICAST)
        data = [first | length << LENGTH | multicast << MULTICAST]
        data += [rng.getrandbits(size.data_width) for _ in range(count - 1)]
        # Most packets are of the node that is let in; the source of others is another in one bit, or in all of them.
        source = self.node if rng.random() < 0.85 else self.node ^ rng.choice((1 << rng.randrange(24), 0xFFFFFF))
        flit, bit = divmod(SOURCE, size.data_width)
        if flit < count:
            data[flit] = data[flit] & ~(0xFFFFFF << bit) | source << bit
        bad = int(size.marked and rng.random() < 0.3)
        ports = rng.choice((0, *3 * [rng.getrandbits(RADIX)])) if multicast else 1 << rng.randrange(RADIX)
        return Packet([(word, bad * (k == count - 1)) for k, word in enumerate(data)], short=length <= MINI_BYTES,
                      multicast=multicast, ports=ports, source=source if flit < count else None)

    def drive(self, context: Any) -> None:
        """Draws what comes, who takes flits, and what starts."""
        rng, part, size = self.rng, self.part, self.size
        self.cycles_left -= 1
        quiet = self.cycles_left < 150
        self.here = self.credits > 0 and rng.random() < 0.6 and (self.coming is not None or not quiet)
        if self.here and self.coming is None:
            self.coming = self._new_packet()
        data, bad = self.coming.flits[self.coming.there] if self.here else (rng.getrandbits(size.data_width), 0)
        self.last = self.here and self.coming.there == len(self.coming.flits) - 1
        context.set(part.here, self.here)
        context.set(part.flit, {"data": data, "last": self.last if self.here else rng.getrandbits(1), "vc": 0,
                                **({"bad": bad} if size.marked else {})})
        context.set(part.source, {"node_id": self.node, "check": self.check})
        # The tables answer once, in the cycle after the destination.
        ports = self.looked_up.ports if self.looked_up else 0
        multicast = self.looked_up is not None and self.looked_up.multicast
        context.set(part.mft_ports, ports if multicast else rng.getrandbits(RADIX))
        context.set(part.port, rng.randrange(RADIX) if multicast or not ports else ports.bit_length() - 1)

        # The outputs are slow for a while, then fast; at the end all leaves.
        self.fast ^= rng.random() < 0.02
        accepts = rng.getrandbits(RADIX) | rng.getrandbits(RADIX)
        accepts |= rng.getrandbits(RADIX) if self.fast or quiet else 0
        passed = rng.getrandbits(size.readers) & rng.getrandbits(size.readers)
        context.set(part.accepts, accepts)
        self.goes = []
        for number, (reader, passage) in enumerate(zip(self.readers, part.o, strict=True)):
            context.set(passage.passed, passed >> number & 1)
            self.goes.append(reader.available and not reader.holds & ~accepts and not passed >> number & 1)
        self._offer()
        self.start = self.start_mc = 0
        if (not self.busy or self.ending) and rng.random() < (0.9 if self.fast or quiet else 0.2):
            self._choose()
        context.set(part.candidate.start, self.start)
        context.set(part.candidate.start_mc, self.start_mc)
        self.freed = sum(goes and reader.whole for goes, reader in zip(self.goes, self.readers, strict=True))
        self.lost = self.here and self.last and self.coming.there < size.dest_flit
        self.owes = bool(self.freed or self.lost or self.owed)
        self.paid = self.owes and rng.random() < 0.7
        context.set(part.paid, self.paid)

    def _offer(self) -> None:
        """Finds what the matching is offered: the reader that is next, and the packets that wait for one."""
        able = [number for number, reader in enumerate(self.readers) if reader.packet is None or reader.at_last]
        self.following = able[0] if able else 0
        following = self.readers[self.following]
        self.busy, self.at_last = following.packet is not None, following.at_last
        self.ending = self.at_last and self.goes[self.following]
        head = self.multicasts[0] if self.multicasts else None
        self.nowhere = head is not None and head.ports == 0
        self.waiting = 0 if self.nowhere else sum(bool(queue) << port for port, queue in enumerate(self.queues))
        self.mc_ports = head.ports if head is not None and self.following == 0 else 0
        self.holds = self.keeps = self.kept = 0
        for reader, goes in zip(self.readers, self.goes, strict=True):
            self.holds |= reader.holds
            self.keeps |= 0 if reader.at_last else reader.holds
            self.kept |= 0 if reader.at_last and goes else reader.holds

    def _choose(self) -> None:
        """Starts a packet, or copies of the multicast: all that it needs if it is not wholly there."""
        rng = self.rng
        single, copies = self.waiting & ~self.kept, self.mc_ports & ~self.kept
        part_of = copies & rng.getrandbits(RADIX)
        complete = self.mc_ports and self.multicasts[0].complete
        if part_of and complete and rng.random() < 0.7:
            self.start_mc = part_of
        elif copies and copies == self.mc_ports and rng.random() < 0.6:
            self.start_mc = copies
        elif single:
            self.start = 1 << rng.choice([port for port in range(RADIX) if single >> port & 1])

    def settle(self, read: Any) -> None:
        """Compares all outputs with the model, and moves that on."""
        part, candidate = self.part, self.part.candidate
        assert read(candidate.waiting) == self.waiting
        shorts = sum(queue[0].short << port for port, queue in enumerate(self.queues) if queue)
        assert read(candidate.waiting_short) & self.waiting == shorts & self.waiting
        assert read(candidate.mc_ports) == self.mc_ports
        if self.mc_ports:
            head = self.multicasts[0]
            assert (read(candidate.mc_short), read(candidate.mc_complete)) == (head.short, head.complete)
            self.counts["incomplete"] += not head.complete
        names = ("busy", "at_last", "ending", "holds", "keeps", "kept")
        assert [read(getattr(candidate, name)) for name in names] == [getattr(self, name) for name in names]
        drop = self.nowhere and (not self.busy or self.ending)
        # A packet is queued when the tables have answered, and when its source is there if that is checked.
        packet, source_flit = self.waiting_packet, SOURCE // self.size.data_width
        there = packet is not None and packet.there + (self.here and packet is self.coming)
        self.queued = packet if packet is not None and (
            not self.check or packet.complete or there > source_flit) else None
        self.forged = self.check and self.queued is not None and packet.source != self.node
        assert read(part.forged) == self.forged
        assert (read(part.lost), read(part.dropped), read(part.owes)) == (self.lost, drop, self.owes)
        assert (read(part.depth), read(part.peak)) == (self.depth, self.peak)
        for number, (reader, passage) in enumerate(zip(self.readers, part.o, strict=True)):
            if self.read[number] is not None:
                shown = read(passage.data), read(passage.bad) if self.size.marked else 0
                assert shown == self.read[number]
            goes = self.goes[number]
            assert read(passage.reading) == goes
            assert read(passage.ports) == (reader.holds if goes else 0)
            assert not goes or read(passage.last) == reader.at_last
            self.read[number] = reader.packet.flits[reader.place] if goes else None
        self._move(drop)

    def _move(self, drop: bool) -> None:
        """The end of a cycle: flits leave and come, packets start and are queued."""
        counts = self.counts
        self.peak = max(self.peak, self.depth)
        self.depth += self.here - self.lost - self.freed
        self.owed += self.freed + self.lost - self.paid
        self.credits += self.paid - self.here
        counts["full"] += self.depth == self.size.buffer_flits
        counts["lost"] += self.lost
        counts["cut-through"] += any(
            goes and not reader.packet.complete for goes, reader in zip(self.goes, self.readers, strict=True))
        counts["both"] += sum(self.goes) > 1
        for reader, goes in zip(self.readers, self.goes, strict=True):
            ends = reader.at_last
            reader.place += goes
            if goes and ends:
                reader.packet, reader.holds = None, 0
        started = self.readers[self.following]
        if drop or self.start_mc:
            head = self.multicasts[0]
            head.ports &= ~self.start_mc
            started.packet, started.holds, started.place, started.whole = head, self.start_mc, 0, not head.ports
            counts["dropped" if drop else "last copies" if started.whole else "copies"] += 1
            if started.whole:
                self.multicasts.popleft()
        elif self.start:
            queue = self.queues[self.start.bit_length() - 1]
            started.packet, started.holds, started.place, started.whole = queue.popleft(), self.start, 0, True
            counts["single"] += 1
        if self.queued is not None:
            packet = self.queued
            if self.forged:
                packet.multicast, packet.ports = True, 0
                counts["cut short" if packet.source is None else "forged"] += 1
            (self.multicasts if packet.multicast else self.queues[packet.ports.bit_length() - 1]).append(packet)
            self.waiting_packet = None
        self.looked_up = None
        if self.here:
            packet = self.coming
            if packet.there == self.size.dest_flit:
                self.looked_up = self.waiting_packet = packet
            packet.there += 1
            if self.last:
                self.coming = None


@pytest.mark.parametrize(("width", "readers", "reliable"), [(64, 1, False), (64, 2, True), (256, 2, False)])
@pytest.mark.parametrize(("seed", "check"), [(0, False), (1, True)])
def test_channel(width: int, readers: int, reliable: bool, seed: int, check: bool) -> None:
    rng = random.Random(seed)
    channel = Channel(sizes(width, readers, reliable=reliable), rng, check=check)
    run(channel.part, [channel], cycles=channel.cycles, rng=rng)
    # All has left at the end, and all credits are back.
    assert (channel.depth, channel.owed, channel.credits) == (0, 0, channel.size.buffer_flits)
    counts = channel.counts
    assert min(counts[case] for case in ("single", "last copies", "incomplete", "cut-through")) > 5, counts
    assert counts["dropped"] > 0, counts
    assert counts["copies"] > 0 or check, counts
    assert counts["lost"] > 3 or not channel.size.dest_flit, counts
    assert counts["forged"] > 5 or not check, counts
    assert counts["cut short"] > 3 or not check or channel.size.source_flit == channel.size.dest_flit, counts
    assert counts["both"] > 5 or readers == 1, counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("<= formats.PAYLOAD_BYTES", "< formats.PAYLOAD_BYTES", id="longest-mini-packet"),
    pytest.param("owed.eq(owed + freed + self.lost - self.paid)", "owed.eq(owed + freed - self.paid)",
                 id="credit-lost"),
    pytest.param("reader.free.eq(whole[number])", "reader.free.eq(1)", id="freed-before-the-last-copy"),
    pytest.param("Mux(ends[number], 0, held)", "Mux(last[number], 0, held)", id="let-go-too-early"),
    pytest.param("~(inside & (name == queues.mc_name))", "~inside", id="incomplete-for-another"),
    pytest.param("& ~passage.passed", "", id="not-passed"),
    pytest.param("check.source.eq(self.source), ", "", id="no-check"),
    pytest.param("queues.mc_waits & (following == 0)", "queues.mc_waits", id="copies-beside-each-other"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "InputChannel", changed(InputChannel, old, new))
    with pytest.raises(AssertionError):
        test_channel(64, 2, True, 1, True)
