"""An input port of a switch: each packet once at each of its outputs, in order, and all credits back."""

import random
from collections import Counter, deque
from typing import Any

import pytest

from firmware_models.abi import formats
from rtl.switch.input_port import InputPort
from rtl.switch.sizes import SwitchSizes
from testbench.parts.faults import changed
from testbench.parts.simulation import run
from testbench.unit_config import UNIT

RADIX, NUMBER, CYCLES, QUIET = 4, 2, 1000, 250
FIELDS = ("length", "multicast", "dest_id", "mlid", "source_id")
NODE = 0x5A17


def sizes(width: int, readers: int, *, reliable: bool) -> SwitchSizes:
    """Of a small switch."""
    return SwitchSizes(config=UNIT.changed(
        datapath={"data_width": width, "mtu": max(64, 4 * width // 8)},
        cou={"buffer_bytes": 1 << 18, "intermediate_bytes": 4096},  # of no meaning here, but must suit the mtu
        link={"buffer_flits": 16, "reliable": reliable}, switch={"radix": RADIX, "readers": readers},
    ))


class Packet:
    """A packet: its flits (data and mark), and the outputs that still have no copy of it."""

    def __init__(self, rng: random.Random, size: SwitchSizes, *, check: bool):
        header = {name: rng.getrandbits(formats.PACKET_HEADER[name].width) for name in FIELDS}
        header["multicast"] = self.multicast = int(rng.random() < 0.4)
        header["source_id"] = rng.choice((NODE, NODE, NODE, NODE ^ 1 << rng.randrange(24)))
        count, width = rng.choice((1, 2, size.short, size.longest, rng.randint(1, size.longest))), size.data_width
        bits = rng.getrandbits(count * width)
        for name, value in header.items():
            place, ones = formats.PACKET_HEADER.offset(name), (1 << formats.PACKET_HEADER[name].width) - 1
            bits = bits & ~(ones << place) | value << place
        marks = [0] * (count - 1) + [int(size.marked and rng.random() < 0.3)]
        self.flits = [(bits >> k * width & (1 << width) - 1, mark) for k, mark in enumerate(marks)]
        self.malformed = count <= size.dest_flit
        # A flit that holds other fields than the header's may be the last one.
        self.forged = check and (header["source_id"] != NODE or count <= size.source_flit)
        outputs = tables(header["dest_id"], header["mlid"])[self.multicast] & ~(self.multicast << NUMBER)
        self.left = 0 if self.forged else outputs


def tables(node_id: int, mlid: int) -> tuple[int, int]:
    """Entries of the tables for a node and a colour: the bit of a port, and ports."""
    return 1 << node_id % RADIX, mlid >> 3 & 0xF


class Port:
    """The link in front of the part, the tables beside it, and a matching behind it that starts packets at random."""

    def __init__(self, size: SwitchSizes, rng: random.Random, *, check: bool):
        self.check = check
        self.size, self.rng, self.part = size, rng, InputPort(sizes=size, number=NUMBER)
        self.cycles_left, self.credits = CYCLES, [size.buffer_flits] * 2
        self.coming: list[deque[tuple[int, int, int]]] = [deque(), deque()]
        self.packets: list[list[Packet]] = [[], []]
        self.answers = (0, 0)
        self.crossing: list[tuple[int, int]] = [(0, 0)] * size.readers
        self.heard: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.ports: dict[tuple[int, int], int] = {}
        self.counts: Counter[str] = Counter()

    def drive(self, context: Any) -> None:
        """Sends a flit of one of the channels, answers for the tables, and starts packets where nothing is sent."""
        rng, part = self.rng, self.part
        self.cycles_left -= 1
        quiet = self.cycles_left < QUIET
        able = [vc for vc in range(2) if self.credits[vc] and (self.coming[vc] or not quiet)]
        valid = bool(able) and rng.random() < 0.7
        vc, (data, last, bad) = rng.getrandbits(1), (rng.getrandbits(self.size.data_width), rng.getrandbits(1), 0)
        if valid:
            vc = rng.choice(able)
            if not self.coming[vc]:
                packet = Packet(rng, self.size, check=self.check)
                self.counts["malformed"] += packet.malformed
                if not packet.malformed:
                    self.counts["nowhere"] += packet.left == 0
                    self.counts["forged"] += packet.forged
                    self.packets[vc].append(packet)
                self.coming[vc].extend((data, k == len(packet.flits) - 1, bad)
                                       for k, (data, bad) in enumerate(packet.flits))
            data, last, bad = self.coming[vc].popleft()
            self.credits[vc] -= 1
        context.set(part.link.valid, valid)
        context.set(part.source, {"node_id": NODE, "check": self.check})
        mark = {"bad": bad} if self.size.marked else {}
        context.set(part.link.flit, {"data": data, "last": last, "vc": vc, **mark})
        port, ports = self.answers
        context.set(part.lookup.port, port.bit_length() - 1 if port else rng.randrange(RADIX))
        context.set(part.mft.ports, ports)
        for candidate in part.candidate:
            start = start_mc = 0
            if not context.get(candidate.busy) and rng.random() < 0.7:
                waiting, copies = context.get(candidate.waiting), context.get(candidate.mc_ports)
                if copies and rng.random() < (0.6 if context.get(candidate.mc_complete) else 0.1):
                    some = copies & rng.getrandbits(RADIX) if context.get(candidate.mc_complete) else copies
                    start_mc = some & ~context.get(candidate.holds)
                    start_mc = start_mc if context.get(candidate.mc_complete) or start_mc == copies else 0
                elif waiting := waiting & ~context.get(candidate.holds):
                    start = 1 << rng.choice([port for port in range(RADIX) if waiting >> port & 1])
            context.set(candidate.start, start)
            context.set(candidate.start_mc, start_mc)
        for accepts in part.accepts:
            context.set(accepts, rng.getrandbits(RADIX) | rng.getrandbits(RADIX))

    def settle(self, read: Any) -> None:
        """Follows flits over the crossing, and counts credits and what is discarded."""
        part = self.part
        enabled = read(part.link.valid)
        assert read(part.link.ready) == 1
        assert (read(part.lookup.enable), read(part.mft.enable)) == (enabled, enabled)
        self.answers = tables(read(part.lookup.node_id), read(part.mft.mlid)) if enabled else (0, 0)
        if read(part.link.credit_valid):
            vc = read(part.link.credit_vc)
            self.credits[vc] += 1
            assert self.credits[vc] <= self.size.buffer_flits, "a credit too many"
        self.counts["found malformed"] += read(part.malformed)
        self.counts["found forged"] += read(part.forged)
        self.counts["found nowhere"] += read(part.discarded)
        for number, crossing in enumerate(part.o):
            ports, vc = self.crossing[number]
            assert read(crossing.ports) == ports
            if ports:
                flit = crossing.flit
                assert read(flit.vc) == vc
                bad = read(flit.bad) if self.size.marked else 0
                self._hear(number, vc, ports, read(flit.data), read(flit.last), bad)
            # Sent in this cycle: of one channel, to outputs that take it.
            sends = [read(channel[number]) for channel in part.sends]
            assert not sends[0] or not sends[1], "two flits of a reader in a cycle"
            assert all(ports & ~read(accepts) == 0 for ports, accepts in zip(sends, part.accepts, strict=True))
            self.crossing[number] = (sends[0] | sends[1], int(sends[1] > 0))
        self.counts["both"] += sum(ports > 0 for ports, _ in self.crossing) > 1

    def _hear(self, number: int, vc: int, ports: int, data: int, last: int, bad: int) -> None:
        """A flit reaches its outputs; with the last one its packet is looked for: the first that goes there."""
        flits = self.heard.setdefault((number, vc), [])
        assert self.ports.setdefault((number, vc), ports) == ports, "flits of a packet for different outputs"
        flits.append((data, bad))
        if not last:
            return
        packet = next((packet for packet in self.packets[vc] if packet.flits == flits), None)
        assert packet is not None, "no such packet has come"
        before = self.packets[vc][:self.packets[vc].index(packet)]
        assert not any(other.left & ports for other in before if other.multicast == packet.multicast), "out of order"
        assert ports & ~packet.left == 0, "a copy for an output that it is not for, or a second one"
        self.counts["copies" if ports != packet.left else "packets"] += 1
        packet.left &= ~ports
        del self.heard[number, vc], self.ports[number, vc]

    def settled(self) -> bool:
        """True if each packet has reached all of its outputs."""
        return not self.heard and all(packet.left == 0 for packets in self.packets for packet in packets)


@pytest.mark.parametrize(("width", "readers", "reliable", "seed", "check"), [
    (64, 1, True, 0, False), (256, 2, False, 1, False), (64, 1, False, 2, True),
])
def test_port(width: int, readers: int, reliable: bool, seed: int, check: bool) -> None:
    rng = random.Random(seed)
    port = Port(sizes(width, readers, reliable=reliable), rng, check=check)
    depths: list[tuple[int, int]] = []

    def step(read) -> None:
        depths.append((read(port.part.depth[0]), read(port.part.depth[1])))

    run(port.part, [port], step=step, cycles=CYCLES, rng=rng)
    counts = port.counts
    assert port.settled()
    assert port.credits == [port.size.buffer_flits] * 2
    assert depths[-1] == (0, 0)
    assert (counts["found malformed"], counts["found nowhere"]) == (counts["malformed"], counts["nowhere"])
    assert counts["found forged"] == counts["forged"]
    assert counts["forged"] > 5 or not check, counts
    assert min(counts["packets"], max(max(depth) for depth in depths)) > 10, counts
    assert min(counts["nowhere"], counts["copies"]) > 0, counts
    assert counts["malformed"] or not port.size.dest_flit, counts
    assert counts["both"] > 5 or readers == 1, counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("self.mft.ports & ~(1 << self.number)", "self.mft.ports", id="back-to-where-it-came-from"),
    pytest.param("last.eq(Mux(fast.reading, fast.last, slow.last))", "last.eq(fast.last | slow.last)",
                 id="end-of-another"),
    pytest.param("credit_vc.eq(turn.grant[1])", "credit_vc.eq(turn.grant[0])", id="credit-of-the-other"),
    pytest.param("self.discarded.eq(low.dropped + high.dropped)", "self.discarded.eq(low.dropped | high.lost)",
                 id="discarded-of-one"),
    pytest.param("*(last.passed.eq(first.reading) for last, first in zip(low.o, high.o, strict=True)),", "",
                 id="not-passed"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "InputPort", changed(InputPort, old, new))
    with pytest.raises(AssertionError):
        test_port(256, 2, False, 1, False)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("self.forged.eq(low.forged | high.forged)", "self.forged.eq(low.forged)", id="forged-of-one"),
    pytest.param("channel.source.eq(self.source),", "", id="no-check"),
])
def test_planted_in_the_check(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "InputPort", changed(InputPort, old, new))
    with pytest.raises(AssertionError):
        test_port(64, 1, False, 2, True)
