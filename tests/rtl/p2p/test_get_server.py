"""Answers to GETs of others: what is asked of whom, what comes back, and that nothing waits that has room."""

import random
from collections import Counter

import pytest

from firmware_models.abi.encoding import PacketType, Right, Status
from firmware_models.abi.formats import NONCE_FIELDS
from rtl.abi import P2pRange, PacketHeader
from rtl.interface import WindowQuery
from rtl.p2p.get_server import GetServer
from rtl.p2p.records import REQUESTS_UNDER_WAY, RangedHeader
from testbench.parts.faults import changed
from testbench.parts.ports import Answers, MemoryReads, OffersOf, PacketTakes
from testbench.parts.simulation import Takes, fields, run

N_REQUESTS, N_HELD = 160, 4
TOP, MOST = 1 << 64, 1 << 32


class Server:
    """The part with all its neighbours."""

    def __init__(self, width: int, rng: random.Random, sizes: list[int], *, flits: int, errors: bool = True):
        self.part = part = GetServer(data_width=width, mtu=flits * width // 8, n_held=N_HELD)
        flit_bytes = width // 8
        self.requests = [self._request(size, flit_bytes, rng, errors=errors) for size in sizes]
        self.source = OffersOf(part.i, rng, self.requests)
        self.queries = Takes(part.window.query, rng)
        self.answers = Answers(
            part.window.answer, rng, self.queries, lambda _: int(not errors or rng.random() < 0.8))
        self.memory = MemoryReads(part.read, rng, width=width, refused=0.3 * errors)
        self.packets = PacketTakes(part.o, rng, lambda bits: -(-fields(PacketHeader, bits)["length"] // flit_bytes))
        self.ends = [self.source, self.queries, self.answers, self.memory, self.packets]

    @staticmethod
    def _request(size: int, flit_bytes: int, rng: random.Random, *, errors: bool) -> int:
        """A request with the range of its operation: its own bytes, or those of several fragments."""
        part, addr = rng.getrandbits(1), rng.getrandbits(64) & -flit_bytes
        before = flit_bytes * rng.choice((0, 1, 300, rng.getrandbits(24))) * part
        left = size + part * rng.choice((0, 1, 2048, rng.getrandbits(31)))
        case = rng.random() * part * errors
        if case > 0.95:
            left = max(0, size - 1)
        elif case > 0.9:
            left = MOST - before
        elif case > 0.85:
            before += 4
        elif case > 0.8:
            before += flit_bytes
            addr = rng.randrange(before) & -flit_bytes
        header = {
            "type": PacketType.GET, "pulse": size, "coll_end": part, "addr": addr,
            **{name: rng.getrandbits(PacketHeader.members[name].width) for name in (
                "fragment", "source_id", "source_vp", "dest_id", "dest_vp", "tag", *NONCE_FIELDS)},
        }
        return int(RangedHeader.const({
            "header": header, "range": {"before": before, "left": left % MOST},
        }).as_bits())

    def hurry(self) -> None:
        """Everybody takes and offers in every cycle."""
        for stream in (self.source, self.queries, self.answers, self.memory.request, self.memory.data,
                       self.packets.header, self.packets.payload):
            stream.rate = 1


@pytest.mark.parametrize(("width", "flits", "seed"), [(64, 8, 0), (512, 2, 1)])
def test_answers(width: int, flits: int, seed: int) -> None:
    rng, flit_bytes = random.Random(seed), width // 8
    mtu, node_id = flits * flit_bytes, rng.getrandbits(24)
    sizes = [rng.choice((0, 1, flit_bytes - 1, flit_bytes, flit_bytes + 1, mtu - 1, mtu, mtu, mtu + 1))
             for _ in range(N_REQUESTS)]
    server = Server(width, rng, sizes, flits=flits)
    part, memory = server.part, server.memory
    most = 0
    for stream in (memory.data, server.packets.payload):
        stream.rate = 0.8

    class Node:
        def drive(self, context) -> None:
            context.set(part.node_id, node_id)

        def settle(self, read) -> None:
            nonlocal most
            assert memory.data.offered is None or read(part.read.data.ready), "data that there is no room for"
            arrived = sum(bits >> width & 1 for bits in memory.data.taken)
            sent = sum(bool(payload) for _, payload in server.packets.taken)
            if read(part.o.header.valid) and read(part.o.header.payload.length):
                assert arrived > sent, "an answer that begins before its data are there"
            most = max(most, len(memory.request.taken) - sent)

    run(part, [Node(), *server.ends], cycles=N_REQUESTS * 18, rng=rng)
    queries, ok, reads = iter(server.queries.taken), iter(server.answers.taken), iter(memory.taken)
    counts: Counter[str] = Counter()
    assert len(server.packets.taken) == N_REQUESTS
    for size, bits, (header, payload) in zip(sizes, server.requests, server.packets.taken, strict=True):
        both = fields(RangedHeader, bits)
        asked, status, data = fields(PacketHeader, both["header"]), Status.OK, []
        before, left = (fields(P2pRange, both["range"])[name] for name in ("before", "left"))
        proper = left >= size and before + left < MOST and before % flit_bytes == 0 and (size or not asked["coll_end"])
        if size > mtu or not proper:
            status = Status.BAD_LENGTH
            counts["no range"] += size <= mtu
        elif before > asked["addr"]:
            status = Status.REMOTE_ACCESS
            counts["below zero"] += 1
        elif size:
            assert fields(WindowQuery, next(queries)) == {
                "vp": asked["dest_vp"], "addr": asked["addr"] - before, "bytes": before + left,
                "right": Right.REMOTE_READ}
            counts["part"] += asked["coll_end"]
            status = Status.REMOTE_ACCESS
            if next(ok):
                address, n_bytes, data, error = next(reads)
                # However long the operation is, its fragment alone is read.
                assert (address, n_bytes) == (asked["addr"], size)
                status, data = (Status.MEMORY_ERROR, []) if error else (Status.OK, data)
        counts[status.name if size or status != Status.OK else "nothing"] += 1
        assert header == PacketHeader.const({
            "type": PacketType.GET_DATA, "version": 1, "length": size if data else 0, "fragment": asked["fragment"],
            "dest_id": asked["source_id"], "dest_vp": asked["source_vp"], "source_id": node_id,
            "source_vp": asked["dest_vp"], "tag": asked["tag"], "status": status, "addr": asked["addr"],
            **{name: asked[name] for name in NONCE_FIELDS},
        }).as_bits()
        # Bytes beyond those asked for are zeros.
        whole = sum(beat << k * width for k, beat in enumerate(data)) & (1 << 8 * size) - 1
        assert [beat >> width for beat in payload] == [0] * (len(data) - 1) + [1] * bool(data)
        assert sum(beat % (1 << width) << k * width for k, beat in enumerate(payload)) == whole
    assert next(queries, None) is next(reads, None) is None
    assert most >= N_HELD
    assert len(counts) == 8
    assert min(counts.values()) > 0, counts


def test_full_rate() -> None:
    """Fragments follow each other with two idle cycles, once their data are there."""
    rng = random.Random(0)
    server = Server(64, rng, [64] * 20, flits=8, errors=False)
    server.hurry()
    cycles: list[int] = []

    def step(read) -> None:
        cycles.append(read(server.part.o.payload.valid))

    run(server.part, server.ends, step=step, cycles=400, rng=rng)
    assert sum(cycles) == 20 * 8
    first, last = cycles.index(1), len(cycles) - cycles[::-1].index(1)
    assert last - first <= 20 * (8 + 2)


def test_requests_wait() -> None:
    """All requests that one node may have wait here, though no answer can leave."""
    rng = random.Random(0)
    server = Server(64, rng, [64] * 200, flits=8, errors=False)
    server.hurry()
    server.packets.header.rate = 0
    run(server.part, server.ends, cycles=300, rng=rng)
    assert REQUESTS_UNDER_WAY <= len(server.source.taken) < 200
    assert len(server.memory.taken) == N_HELD


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("(n_bytes > self.mtu) | (n_bytes == 0)", "(n_bytes >= self.mtu) | (n_bytes == 0)",
                 id="longest-not-read"),
    pytest.param("(n_bytes == 0) & ~whole.part", "(n_bytes == 0)", id="part-without-data"),
    pytest.param("query.payload.addr.eq(whole.whole_addr)", "query.payload.addr.eq(request.addr)",
                 id="before-not-looked-at"),
    pytest.param("query.payload.bytes.eq(whole.whole_bytes)", "query.payload.bytes.eq(n_bytes)",
                 id="left-not-looked-at"),
    pytest.param("query.valid.eq(whole.fits & ~whole.below)", "query.valid.eq(1)", id="any-range"),
    pytest.param("read.request.payload.bytes.eq(n_bytes)", "read.request.payload.bytes.eq(whole.whole_bytes[:8])",
                 id="whole-read"),
    pytest.param("Mux(left == 1, masks[tail], ~Const(0, self.data_width))", "masks[tail]", id="each-flit-masked"),
    pytest.param("throwing.eq(failed)", "throwing.eq(0)", id="data-of-a-failed-read"),
    pytest.param("(~done.read | reads.o.valid)", "1", id="before-its-data"),
    pytest.param("nonce_of(reply).eq(nonce_of(done.request)),", "", id="no-nonce"),
    pytest.param("Right.REMOTE_READ", "Right.REMOTE_WRITE", id="another-right"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "GetServer", changed(GetServer, old, new))
    with pytest.raises(AssertionError):
        test_answers(64, 8, 1)


def test_planted_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads for whose data there is no room are found."""
    monkeypatch.setitem(globals(), "GetServer", changed(GetServer, "with m.If(slots.free != 0):", "with m.If(1):"))
    with pytest.raises(AssertionError):
        test_requests_wait()
