"""Data of GETs beside a table of bookings: only the fragment that comes next, from the right node, touches memory."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from firmware_models.abi.encoding import PacketType, Right, Status
from firmware_models.abi.formats import NONCE_FIELDS, nonce_fields, nonce_of
from rtl.abi import PacketHeader
from rtl.interface import WindowQuery
from rtl.p2p.get_landing import GetLanding
from rtl.p2p.records import TrackerCommand, booking_layout
from testbench.parts.faults import changed
from testbench.parts.ports import Answers, MemoryWrites, PacketOffers
from testbench.parts.simulation import Offers, Takes, fields, run

N_ENTRIES, CYCLES = 4, 2500
FORGED = {"another node": ("source_id",), "another VP asked": ("source_vp",), "another VP": ("dest_vp",),
          "another nonce": NONCE_FIELDS}
CASES = ("landed", "no data", "no window", "closed", "twice or late", "another address",
         "another length", "over", "never booked", *FORGED)


class Landing:
    """The part with its neighbours: bookings and packets that fit them, most of them; and what must come of each."""

    def __init__(self, width: int, flits: int, address_bits: int, rng: random.Random):
        self.rng, self.width, self.mtu, self.flit_bytes = rng, width, flits * width // 8, width // 8
        self.layout, self.address_bits = booking_layout(address_bits), address_bits
        self.part = part = GetLanding(data_width=width, mtu=self.mtu, n=N_ENTRIES, address_bits=address_bits)
        # The table as the part has it, and as whoever sends the answers thinks that it will be.
        self.table: dict[int, dict[str, int]] = {}
        self.planned: dict[int, dict[str, int]] = {}
        self.bookings = Offers(part.i_book, rng, self._booking)
        self.bookings.rate = 0.06
        self.cycles_left = CYCLES
        self.packets = PacketOffers(part.i, rng, self._packets())
        self.lands, self.landed = Takes(part.o_land, rng), Takes(part.o_landed, rng)
        self.verdicts = Answers(part.i_land, rng, self.lands, lambda _: int(rng.random() < 0.9))
        self.windows = Takes(part.window.query, rng)
        self.allowed = Answers(part.window.answer, rng, self.windows, lambda _: int(rng.random() < 0.85))
        self.memory = MemoryWrites(part.write, rng, width=width)
        self.ends = [self, self.bookings, self.packets, self.lands, self.landed, self.verdicts, self.windows,
                     self.allowed, self.memory]
        self.payloads: list[list[int]] = []
        self.counts: Counter[str] = Counter()
        self.unknown, self.forged, self.dropped = 0, 0, 0
        self.hand: dict[str, Any] | None = None
        """The packet that is being judged: its header, booking and payload."""
        self.expected_lands: list[int] = []
        self.expected_queries: list[dict[str, int]] = []
        self.expected_writes: list[tuple[int, int, list[int]]] = []
        self.expected_reports: list[tuple[int, int, int, bool]] = []

    def _booking(self) -> int:
        rng, mtu = self.rng, self.mtu
        entry = rng.randrange(N_ENTRIES)
        booking = {
            "number": rng.getrandbits(14) << 2 | entry, "vp": rng.getrandbits(11), "node": rng.getrandbits(24),
            "peer_vp": rng.getrandbits(11), "nonce": rng.getrandbits(32),
            "local": rng.getrandbits(self.address_bits - 1) & -self.flit_bytes, "remote": rng.getrandbits(63),
            "left": rng.choice((0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 2 * mtu + 1, 5 * mtu)), "over": 0,
        }
        self.planned[entry] = dict(booking)
        return int(self.layout.const(booking).as_bits())

    def _packets(self) -> Iterator[tuple[int, list[int]]]:
        """Answers that fit, and some that do not: twice, or with one field that is another one."""
        rng, header = self.rng, None
        while self.cycles_left > 200:
            if rng.random() < 0.9 or header is None:
                begun = [entry for entry, booking in self.planned.items() if not booking["over"]]
                entry = rng.choice(begun if begun and rng.random() < 0.9 else range(N_ENTRIES))
                booking = self.planned.get(entry) or {
                    "number": rng.getrandbits(14) << 2 | entry, "remote": 0, "node": 0, "left": 0, "vp": 0,
                    "peer_vp": 0, "nonce": 0}
                size, good = min(max(booking["left"], 0), self.mtu), rng.random() < 0.85
                header = {
                    "type": PacketType.GET_DATA, "tag": booking["number"], "addr": booking["remote"],
                    "source_id": booking["node"], "length": size if good else 0, "dest_vp": booking["vp"],
                    "source_vp": booking["peer_vp"], **nonce_fields(booking["nonce"]),
                    "status": Status.OK if good else Status.REMOTE_ACCESS,
                }
                if rng.random() < 0.2:
                    name = rng.choice(("tag", "addr", "length", *sum(FORGED.values(), ())))
                    change = 1 << rng.randrange(2, 10) if name == "tag" else 1 << rng.randrange(
                        5 if name == "length" else PacketHeader.members[name].width)
                    header[name] ^= change
                elif entry in self.planned:
                    self._advance(booking)
            count = -(-header["length"] // self.flit_bytes)
            self.payloads.append([rng.getrandbits(self.width) for _ in range(count)])
            yield (int(PacketHeader.const(header).as_bits()),
                   [data | (k == count - 1) << self.width for k, data in enumerate(self.payloads[-1])])

    def _advance(self, booking: dict[str, int]) -> None:
        booking["over"] = int(booking["left"] <= self.mtu)
        booking["local"] += self.mtu
        booking["remote"] += self.mtu
        booking["left"] -= self.mtu

    def drive(self, context: Any) -> None:
        """Counts cycles: no packets are drawn in the last ones."""
        self.cycles_left -= 1

    def settle(self, read: Any) -> None:
        """Follows the part from what it takes: a booking, a packet, a verdict of the tracker and one of a window."""
        self.unknown += read(self.part.unknown)
        self.forged += read(self.part.forged)
        if self.bookings.offered is not None and read(self.part.i_book.ready):
            booking = fields(self.layout, self.bookings.offered)
            self.table[booking["number"] % N_ENTRIES] = booking
        if self.packets.header.offered is not None and read(self.part.i.header.ready):
            assert self.hand is None
            self._judge(fields(PacketHeader, self.packets.header.offered))
        if self.verdicts.offered is not None and read(self.part.i_land.ready):
            self._land(self.verdicts.offered)
        if self.allowed.offered is not None and read(self.part.window.answer.ready):
            hand, self.hand = self.hand, None
            assert hand is not None, "a window is looked at for no packet"
            if self.allowed.offered:
                self._write(hand)
            else:
                self._report("no window", hand["tag"], Status.BAD_ADDRESS, hand["local"])

    def _judge(self, header: dict[str, int]) -> None:
        booking = self.table.get(header["tag"] % N_ENTRIES)
        size = 0 if booking is None or header["status"] != Status.OK else min(booking["left"], self.mtu)
        reason = (
            "never booked" if booking is None else "twice or late" if booking["number"] != header["tag"]
            else "another node" if booking["node"] != header["source_id"]
            else "another VP asked" if booking["peer_vp"] != header["source_vp"]
            else "another VP" if booking["vp"] != header["dest_vp"]
            else "another nonce" if booking["nonce"] != nonce_of(header)
            else "over" if booking["over"] else "another address" if booking["remote"] != header["addr"]
            else "another length" if header["length"] != size else "")
        if reason:
            self.counts[reason] += 1
            self.dropped += 1
            return
        self.expected_lands.append(header["tag"])
        self.hand = header | {"local": booking["local"], "vp": booking["vp"], "booking": booking,
                              "payload": self.payloads[len(self.packets.header.taken)]}

    def _land(self, verdict: int) -> None:
        hand = self.hand
        assert hand is not None, "a packet of nothing may be written"
        if not verdict:
            # The operation has ended: nobody waits for its data.
            self.counts["closed"] += 1
            self.dropped, self.hand = self.dropped + 1, None
            return
        self._advance(hand["booking"])
        if hand["length"]:
            self.expected_queries.append({"vp": hand["vp"], "addr": hand["local"], "bytes": hand["length"],
                                          "right": Right.LOCAL_WRITE})
        else:
            self.hand = None
            self._report("no data", hand["tag"], hand["status"], hand["addr"])

    def _write(self, hand: dict[str, Any]) -> None:
        self.expected_writes.append((hand["local"], hand["length"], hand["payload"]))
        self._report("landed", hand["tag"], Status.OK, hand["local"])

    def _report(self, case: str, number: int, status: int, detail: int) -> None:
        self.counts[case] += 1
        self.expected_reports.append((number, status, detail, case == "landed"))


@pytest.mark.parametrize(("width", "flits", "address_bits", "seed"), [(64, 4, 64, 0), (256, 2, 40, 1)])
def test_landing(width: int, flits: int, address_bits: int, seed: int) -> None:
    landing = Landing(width, flits, address_bits, random.Random(seed))
    run(landing.part, landing.ends, cycles=CYCLES, rng=landing.rng)
    assert landing.packets.done
    assert landing.hand is None
    assert [fields(TrackerCommand, bits)["number"] for bits in landing.lands.taken] == landing.expected_lands
    assert [fields(WindowQuery, bits) for bits in landing.windows.taken] == landing.expected_queries
    assert landing.memory.taken == landing.expected_writes
    assert landing.forged == sum(landing.counts[case] for case in FORGED)
    assert landing.unknown == landing.dropped - landing.forged
    errors, expected = iter(landing.memory.errors), []
    for number, status, detail, written in landing.expected_reports:
        expected.append((number, Status.MEMORY_ERROR if written and next(errors) else status, detail))
    found = [fields(TrackerCommand, bits) for bits in landing.landed.taken]
    assert [(one["number"], one["status"], one["detail"]) for one in found] == expected
    assert 3 < sum(landing.memory.errors) < landing.counts["landed"]
    assert all(landing.counts[case] for case in CASES), landing.counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("~booked.over, booked.remote", "1, booked.remote", id="after-the-end"),
    pytest.param("~expected.all() | wrong.any()", "~expected.all()", id="from-anybody"),
    pytest.param("refuse(expected[0] & wrong.any())", "refuse(wrong.any())", id="late-as-forged"),
    pytest.param("after.over.eq(booked.left <= self.mtu)", "after.over.eq(booked.left < self.mtu)", id="one-too-many"),
    pytest.param("query.payload.addr.eq(booked.local)", "query.payload.addr.eq(after.local)", id="asks-for-the-next"),
    pytest.param(", result.detail.eq(booked.local),\n", ",\n", id="detail-of-a-refusal"),
    pytest.param("size.eq(Mux(booked.left < self.mtu, booked.left, self.mtu))", "size.eq(booked.left)", id="mtu"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "GetLanding", changed(GetLanding, old, new))
    with pytest.raises(AssertionError):
        test_landing(64, 4, 64, 1)
