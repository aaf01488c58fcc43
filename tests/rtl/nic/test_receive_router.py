"""Ways of received packets, beside a table of packet types."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
from rtl.nic.receive_router import ReceiveRouter
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run

COLLECTIVE = (PacketType.COLLECTIVE, PacketType.CREDIT)
"""Types that go to an offload unit, on channel 0 and on channel 1."""
P2P = ((PacketType.SEND, PacketType.PUT, PacketType.GET), (PacketType.ACK, PacketType.GET_DATA))
EVENTS = ("misplaced", "unknown", "uncovered")


class Packets:
    """Packets of a channel, with what is known of their jobs: their payload comes behind the header."""

    def __init__(self, part: ReceiveRouter, rng: random.Random):
        self.part, self.rng, self.n_units = part, rng, part.n_cous
        self.header = Offers(part.i.header, rng, self.draw)
        self.payload = Offers(part.i.payload, rng, self.beat)
        self.left, self.job = 0, {}
        self.header.may = lambda: not self.left
        self.payload.may = lambda: self.left > 0

    def draw(self) -> int:
        """A header of any type, most often of one that belongs to the channel."""
        rng, vc = self.rng, self.part.vc
        here = (COLLECTIVE[vc], COLLECTIVE[vc], *P2P[vc])
        kind = rng.choice((rng.choice(here), rng.choice(here), rng.randrange(16)))
        known = rng.random() < 0.6
        is_collective = kind == COLLECTIVE[vc]
        # Of other packets than collective ones nothing is known about a job, and anything may be shown.
        self.job = {
            "unit": rng.randrange(self.n_units), "known": known if is_collective else rng.getrandbits(1),
            "placed": known and is_collective,
            "not_covered": (not known and rng.getrandbits(1)) if is_collective else rng.getrandbits(1),
        }
        flit = self.part.i.payload.payload.data.shape().width // 8
        length = rng.choice((0, 0, 1, flit, flit + 1, 3 * flit))
        bits = fields(PacketHeader, rng.getrandbits(PacketHeader.size)) | {"type": int(kind), "length": length}
        return int(PacketHeader.const(bits).as_bits())

    def beat(self) -> int:
        """The next beat, marked if it is the last one."""
        shape = self.part.i.payload.payload.shape()
        word = {"data": self.rng.getrandbits(shape["data"].width), "last": int(self.left == 1)}
        return int(shape.const(word).as_bits())

    def drive(self, context) -> None:
        self.header.drive(context)
        self.payload.drive(context)
        for name, value in self.job.items():
            context.set(getattr(self.part, name), int(value))

    def settle(self, read) -> None:
        flit = self.part.i.payload.payload.data.shape().width // 8
        n_headers, n_beats = len(self.header.taken), len(self.payload.taken)
        self.header.settle(read)
        self.payload.settle(read)
        self.left -= len(self.payload.taken) - n_beats
        if len(self.header.taken) > n_headers:
            self.left = -(-fields(PacketHeader, self.header.taken[-1])["length"] // flit)

    def target(self, kind: int, *, p2p: bool, get: bool) -> tuple[int | None, str | None]:
        """Number of the output that the packet goes to, and the event that it is dropped with."""
        if kind == COLLECTIVE[self.part.vc]:
            if self.job["known"]:
                return self.job["unit"], None
            return None, "uncovered" if self.job["not_covered"] else "unknown"
        if kind not in P2P[self.part.vc]:
            return None, "misplaced"
        if not p2p or (kind in (PacketType.GET, PacketType.GET_DATA) and not get):
            return None, "unknown"
        return self.n_units, None


@pytest.mark.parametrize("vc", [0, 1])
@pytest.mark.parametrize(("seed", "n_units", "p2p", "get"), [
    (0, 1, False, False), (0, 2, True, False), (1, 4, True, True),
])
def test_receive_router(seed: int, vc: int, n_units: int, p2p: bool, get: bool) -> None:
    """Each packet goes whole to one output, at once, or is dropped whole at once and counted a cycle later."""
    rng = random.Random(seed)
    part = ReceiveRouter(data_width=64, n_cous=n_units, p2p=p2p, get=get, vc=vc)
    packets = Packets(part, rng)
    headers = [Takes(port.header, rng) for port in part.o]
    payloads = [Takes(port.payload, rng) for port in part.o]
    state: dict[str, object] = {"target": None, "event": None}
    counts: Counter[object] = Counter()

    def step(read) -> None:
        for name in EVENTS:
            assert read(getattr(part, name)) == (state["event"] == name), name
        state["event"] = None
        for kind, offer, ends in (("header", packets.header, headers), ("payload", packets.payload, payloads)):
            if offer.offered is None:
                assert not any(read(end.port.valid) for end in ends)
                continue
            if kind == "header":
                state["target"], state["drop"] = packets.target(
                    fields(PacketHeader, offer.offered)["type"], p2p=p2p, get=get)
            target = state["target"]
            for number, end in enumerate(ends):
                assert read(end.port.valid) == (number == target)
            if target is None:
                assert read(offer.port.ready), "a packet that is dropped waits for nobody"
            else:
                assert read(offer.port.ready) == read(ends[target].port.ready)
                assert read(ends[target].port.payload.as_value()) == offer.offered
            if read(offer.port.ready):
                counts[kind, target] += 1
                if kind == "header":
                    state["event"] = state["drop"]
                    counts[state["drop"]] += 1

    packets.header.rate = 0.8
    ends = [packets, *headers, *payloads]
    pace = Pace(packets.payload, *headers, *payloads, rng=rng, cycles=8)
    run(part, [pace, *ends], step=step, cycles=1400, rng=rng)
    targets = [None, *range(n_units + p2p)]
    assert all(counts[kind, target] > 3 for kind in ("header", "payload") for target in targets)
    assert all(counts[name] > 3 for name in EVENTS)
    assert len(part.o) == n_units + p2p


@pytest.mark.parametrize(("vc", "old", "new"), [
    (0, "self.placed & (unit == k)", "unit == k"),
    (1, "served - {PacketType.GET, PacketType.GET_DATA}", "served - {PacketType.GET}"),
    (0, "dropping.eq(drop)]", "dropping.eq(unknown)]"),
    (1, "drop & ~unknown", "drop"),
    (0, "unknown & ~uncovered", "unknown"),
    (0, "(latched & payload_ready).any()", "payload_ready.any()"),
])
def test_planted(vc: int, old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packet that goes astray, a payload that is dropped or taken for nobody, and an event too many are found."""
    monkeypatch.setitem(globals(), "ReceiveRouter", changed(ReceiveRouter, old, new))
    with pytest.raises(AssertionError):
        test_receive_router(0, vc, 2, True, False)
