"""Requests of GETs: in order and no more than allowed, those of different nodes by turns."""

import random
from collections import Counter, deque
from typing import Any

import pytest

from firmware_models.abi.encoding import CplKind, P2pOp, PacketType, Status
from firmware_models.abi.formats import nonce_fields
from rtl.abi import DescriptorControl, P2pRange, PacketHeader
from rtl.p2p.get_requester import GetRequester
from rtl.p2p.records import GET_WINDOW, GETS_IN_HAND, REQUESTS_UNDER_WAY, TrackerCommand, booking_layout
from testbench.parts.faults import changed
from testbench.parts.ports import OffersOf, PacketTakes
from testbench.parts.simulation import Offers, Takes, fields, run

N_ENTRIES, MTU, FLIT_BYTES, NODES, QUIET = 16, 64, 8, (1, 2, 1 << 23 | 1, 0xFFFFFF), 200


class Operation:
    """A GET: its descriptor, the requests that were reported and have left, and the fragments that have landed."""

    def __init__(self, desc: dict[str, int], given: int):
        self.desc, self.number, self.nonce = desc, given & 0xFFFF, given >> 16
        self.asked, self.left, self.landed, self.over = 0, 0, 0, False

    @property
    def n_fragments(self) -> int:
        """Requests in all: one even for no bytes."""
        return max(1, -(-self.desc["length"] // MTU))


class Requester:
    """The part with those around it: descriptors, numbers, the tracker, and nodes of which some are slow to answer."""

    def __init__(self, rng: random.Random, *, lengths: tuple[int, ...], cycles: int, fail: float = 0.0,
                 nodes: tuple[int, ...] = NODES, land: float = 0.2):
        self.rng, self.fail, self.land, self.cycles_left = rng, fail, land, cycles
        self.part = part = GetRequester(data_width=64, mtu=MTU, n=N_ENTRIES)
        self.open: dict[int, Operation] = {}
        self.order: list[Operation] = []
        self.nodes, self.lengths = nodes, lengths
        self.descriptors = Offers(part.i, rng, self._descriptor)
        self.descriptors.may = lambda: self.cycles_left > QUIET
        self.number_list: list[int] = []
        self.numbers = OffersOf(part.i_number, rng, self.number_list)
        self.booked, self.opened = Takes(part.o_book, rng), Takes(part.o_open, rng)
        self.progress = Takes(part.o_progress, rng)
        self.requests = PacketTakes(part.o, rng, lambda bits: -(-fields(PacketHeader, bits)["length"] // FLIT_BYTES))
        self.ends = [self, self.descriptors, self.numbers, self.booked, self.opened, self.progress, self.requests]
        self.under_way, self.node_id, self.failed = 0, rng.getrandbits(24), 0
        self.reported = deque[tuple[int, int]]()
        self.counts: Counter[str] = Counter()
        self.turns: list[int] = []

    def _descriptor(self) -> int:
        rng = self.rng
        desc = {"p2p_op": P2pOp.GET, "dest_id": rng.choice(self.nodes), "length": rng.choice(self.lengths), **{
            name: rng.getrandbits(DescriptorControl.members[name].width)
            for name in ("dest_vp", "source_vp", "local_addr", "remote_addr", "tag")}}
        return int(self.part.i.payload.shape().const({"desc": desc}).as_bits())

    def drive(self, context: Any) -> None:
        """Draws a number, lets fragments land and operations fail, and shows how many are awaited."""
        rng, part = self.rng, self.part
        self.cycles_left -= 1
        if self.cycles_left <= QUIET:
            # At the end what lands lands at once, and most operations fail.
            self.land, self.fail = 1.0, 0.3
        # A number's entry is free: its operation has ended.
        used = {number % N_ENTRIES for number in (*self.open, *self.number_list[len(self.numbers.taken):])}
        if len(used) < N_ENTRIES and len(self.number_list) - len(self.numbers.taken) < 1 and rng.random() < 0.7:
            entry = rng.choice([entry for entry in range(N_ENTRIES) if entry not in used])
            self.number_list.append(rng.getrandbits(44) << 4 | entry)
        landing = [one for one in self.open.values() if one.landed < one.left]
        landed = rng.choice(landing) if landing and rng.random() < self.land else None
        if landed is not None:
            landed.landed += 1
            self.under_way -= 1
        context.set(part.awaited.count, self.under_way)
        context.set(part.awaited.landed, landed is not None)
        context.set(part.awaited.entry, landed.number % N_ENTRIES if landed else rng.randrange(N_ENTRIES))
        for one in [*self.open.values()]:
            if one.over and one.landed == one.asked and rng.random() < 0.3:
                del self.open[one.number]
                self.failed &= ~(1 << one.number % N_ENTRIES)
            elif rng.random() < self.fail and one in self.order:
                self.failed |= 1 << one.number % N_ENTRIES
        context.set(part.failed, self.failed)
        context.set(part.node_id, self.node_id)

    def settle(self, read: Any) -> None:
        """Follows each operation from its descriptor to its last request."""
        part = self.part
        room = read(part.room)
        if self.descriptors.offered is not None:
            assert read(part.i.ready) == room
            if room:
                one = Operation(fields(DescriptorControl, self.descriptors.offered),
                                self.number_list[len(self.numbers.taken)])
                self.open[one.number] = one
        if read(part.o_open.valid) and read(part.o_open.ready):
            one = self.open[fields(TrackerCommand, read(part.o_open.payload.as_value()))["number"]]
            assert len(self.booked.taken) > len(self.opened.taken), "opened before it is booked"
            self._check_opened(one, read(part.o_open.payload.as_value()), self.booked.taken[-1])
            self.order.append(one)
            assert sum(not other.over for other in self.order) <= GETS_IN_HAND
        if read(part.o_progress.valid) and read(part.o_progress.ready):
            self._progress(fields(TrackerCommand, read(part.o_progress.payload.as_value())))
        if read(part.o.header.valid):
            assert self.reported, "a request that the tracker does not know of"
            if read(part.o.header.ready):
                self._request(read(part.o.header.payload.as_value()))
        if read(part.o.payload.valid) and read(part.o.payload.ready):
            self._range(read(part.o.payload.payload.as_value()))

    def _check_opened(self, one: Operation, opened: int, booked: int) -> None:
        desc, found = one.desc, fields(TrackerCommand, opened)
        assert {name: found[name] for name in ("number", "vp", "kind", "bytes", "tag")} == {
            "number": one.number, "vp": desc["source_vp"], "kind": CplKind.GET, "bytes": desc["length"],
            "tag": desc["tag"]}
        assert fields(booking_layout(), booked) == {
            "number": one.number, "vp": desc["source_vp"], "node": desc["dest_id"], "local": desc["local_addr"],
            "remote": desc["remote_addr"], "left": desc["length"], "over": 0, "peer_vp": desc["dest_vp"],
            "nonce": one.nonce}

    def _progress(self, found: dict[str, int]) -> None:
        assert found["number"] in self.open, "progress of no operation"
        one = self.open[found["number"]]
        assert one in self.order, "progress of an operation that is not open"
        assert not one.over, "progress of an operation that has all it asked for"
        before = self.order[:self.order.index(one)]
        if found["sent"]:
            assert one.asked - one.landed < GET_WINDOW
            assert self.under_way < REQUESTS_UNDER_WAY
            assert all(other.over for other in before if other.desc["dest_id"] == one.desc["dest_id"]), (
                "an operation before another one of the same node")
            one.over = one.asked + 1 == one.n_fragments
            self.reported.append((one.number, one.asked))
            self.turns.append(one.number)
            one.asked, self.under_way = one.asked + 1, self.under_way + 1
            self.counts["beside another"] += any(not other.over for other in before)
        else:
            assert self.failed >> one.number % N_ENTRIES & 1, "given up, and it has not failed"
            one.over = True
            self.counts["given up"] += 1
        assert (found["final"], found["status"]) == (one.over, Status.OK)
        self.counts["ended"] += one.over

    def _request(self, bits: int) -> None:
        number, index = self.reported.popleft()
        one = self.open[number]
        desc, is_part = one.desc, one.n_fragments > 1
        self.ranged = (one, index)
        if not is_part:
            one.left += 1
        assert bits == PacketHeader.const({
            "type": PacketType.GET, "version": 1, "fragment": index, "dest_id": desc["dest_id"],
            "dest_vp": desc["dest_vp"], "source_vp": desc["source_vp"], "source_id": self.node_id, "tag": number,
            "coll_end": int(is_part), "length": FLIT_BYTES * is_part, "pulse": min(MTU, desc["length"] - index * MTU),
            "addr": (desc["remote_addr"] + index * MTU) % (1 << 64), **nonce_fields(one.nonce)}).as_bits()

    def _range(self, bits: int) -> None:
        one, index = self.ranged
        one.left += 1
        operation = P2pRange.const({"before": index * MTU, "left": one.desc["length"] - index * MTU}).as_bits()
        assert bits == operation | 1 << 8 * FLIT_BYTES, "a range that is not the operation's"
        self.counts["ranges"] += 1


@pytest.mark.parametrize("seed", range(2))
def test_many(seed: int) -> None:
    """Short and long ones, many at once, some of which fail."""
    requester = Requester(random.Random(seed), lengths=(0, 1, MTU - 1, MTU, MTU + 1, 3 * MTU, 40 * MTU), cycles=1300,
                          fail=0.002)
    run(requester.part, requester.ends, cycles=1300, rng=requester.rng)
    counts = requester.counts
    assert len(requester.order) == len(requester.descriptors.taken)
    assert all(one.over for one in requester.order)
    assert not requester.reported
    assert counts["ended"] > 15, counts
    assert min(counts["given up"], counts["beside another"], counts["ranges"]) > 0, counts


@pytest.mark.parametrize(("n_nodes", "most"), [(1, GET_WINDOW), (2, 2 * GET_WINDOW), (500, REQUESTS_UNDER_WAY)])
def test_slow_nodes(n_nodes: int, most: int) -> None:
    """Where nothing lands all that may be under way is: of the first operation of each node, and in all."""
    requester = Requester(random.Random(0), lengths=(40 * MTU,), cycles=10_000, land=0.0, nodes=tuple(range(n_nodes)))
    run(requester.part, requester.ends, cycles=700, rng=requester.rng)
    assert requester.under_way == most


def test_turns() -> None:
    """Operations of different nodes are asked for fragment by fragment, each in five cycles with its range."""
    requester = Requester(random.Random(1), lengths=(12 * MTU,), cycles=600, nodes=tuple(range(50)), land=1.0)
    for stream in (*requester.ends[1:-1], requester.requests.header, requester.requests.payload):
        stream.rate = 1
    run(requester.part, requester.ends, cycles=240, rng=requester.rng)
    assert 240 // 5 - 6 <= len(requester.turns) <= 240 // 5
    row = requester.turns[36:36 + GETS_IN_HAND // 2]
    assert len(set(row)) == len(row)


@pytest.mark.parametrize(("old", "new", "test"), [
    pytest.param("before.eq(before & ~freed)", "before.eq(0)", lambda: test_many(1), id="two-of-a-node"),
    pytest.param("(waiting != window)", "1", lambda: test_slow_nodes(1, GET_WINDOW),
                 id="more-than-the-window"),
    pytest.param("self.awaited.count < self.limits.under_way", "self.awaited.count <= REQUESTS_UNDER_WAY + 8",
                 lambda: test_slow_nodes(500, REQUESTS_UNDER_WAY), id="more-than-all"),
    pytest.param("look.addr.eq(hand.turn.index)", "look.addr.eq(hand.slot)", lambda: test_many(1), id="another-place"),
    pytest.param("operation.left.eq(rest.left)", "operation.left.eq(size)", lambda: test_many(1),
                 id="left-of-a-fragment"),
    pytest.param("rest.index << (self.mtu.bit_length() - 1)", "0", lambda: test_many(1), id="before-forgotten"),
    pytest.param("(rest.index != 0) | (rest.left > self.mtu)", "(rest.left > self.mtu)", lambda: test_many(1),
                 id="last-one-without-a-range"),
    pytest.param("nonce_of(header).eq(rest.nonce)", "nonce_of(header).eq(rest.number)", lambda: test_many(1),
                 id="nonce-of-another"),
    pytest.param("progress.final.eq(final | stopping)", "progress.final.eq(final)", lambda: test_many(1), id="no-end"),
    pytest.param("before.eq(rivals)", "before.eq(hand.taken)", test_turns, id="no-turns"),
])
def test_planted(old: str, new: str, test, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "GetRequester", changed(GetRequester, old, new))
    with pytest.raises(AssertionError):
        test()
