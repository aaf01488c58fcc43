"""Reads of several clients, beside what the memory holds, and the times that are promised."""

import random
from dataclasses import dataclass

import pytest

from rtl.dma.reader import DmaReader
from testbench.parts.axi import ReadMemory, contents
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run


@dataclass(frozen=True)
class Beat:
    """A beat that a client must get; `error` may be shown on the last one of a request."""

    data: int
    last: int
    error: int


class Client:
    """Requests of a client, often about bounds of flits, bursts and pages, and the beats that they must bring."""

    def __init__(self, part: DmaReader, number: int, rng: random.Random, refuses):
        self.part, self.number, self.rng, self.refuses = part, number, rng, refuses
        self.flit = part.data_width // 8
        port = part.i[number]
        self.requests, self.beats = Offers(port.request, rng, self.draw), Takes(port.data, rng)
        self.expected: list[Beat] = []
        self.found: list[Beat] = []
        self.n_noted = 0

    def draw(self) -> int:
        """A request."""
        rng, burst = self.rng, self.part.max_burst_beats * self.flit
        base = rng.getrandbits(64 - 12) << 12 if self.part.address_bits == 64 else rng.getrandbits(20) << 12
        addr = base + rng.choice((0, 4096 - burst, 4096 - self.flit, rng.randrange(4096))) + rng.choice((-1, 0, 0, 1))
        near = rng.choice((self.flit, burst, 2 * burst, rng.randint(1, 3 * burst)))
        shape = self.requests.port.payload.shape()
        top = 1 << self.part.address_bits
        addr = min(max(0, addr), top - 4 * burst)
        return int(shape.const({"addr": addr, "bytes": max(1, near + rng.choice((-1, 0, 0, 1)))}).as_bits())

    def follow(self) -> None:
        """Notes the beats of requests that have been taken."""
        for item in self.requests.taken[self.n_noted:]:
            request = fields(self.requests.port.payload.shape(), item)
            first = request["addr"] // self.flit * self.flit
            places = range(first, request["addr"] + request["bytes"], self.flit)
            failed = any(self.refuses(place) for place in places)
            self.expected += [
                Beat(contents(place, 8 * self.flit), int(place == places[-1]), int(failed and place == places[-1]))
                for place in places
            ]
        self.n_noted = len(self.requests.taken)

    def check(self) -> None:
        """Compares the beats that have come since the last time."""
        self.follow()
        for item in self.beats.taken[len(self.found):]:
            self.found.append(Beat(**fields(self.beats.port.payload.shape(), item)))
            assert len(self.found) <= len(self.expected), "a beat that nobody asked for"
            assert self.found[-1] == self.expected[len(self.found) - 1]


def make(part: DmaReader, seed: int) -> tuple[ReadMemory, list[Client], random.Random]:
    """A memory that refuses some flits, and the clients."""
    rng = random.Random(seed)

    def refuses(addr: int) -> bool:
        return addr % 13 == 0

    memory = ReadMemory(part.m_axi, rng, burst_beats=part.max_burst_beats, refuses=refuses)
    return memory, [Client(part, k, rng, refuses) for k in range(part.n)], rng


@pytest.mark.parametrize((
    "seed", "n", "data_width", "burst_beats", "max_outstanding", "buffer_beats", "address_bits",
), [
    (0, 1, 64, 1, 1, 1, 64), (0, 3, 64, 4, 3, 5, 32), (1, 3, 64, 4, 3, 5, 32), (1, 2, 256, 16, 16, None, 64),
])
def test_dma_reader(
    seed: int, n: int, data_width: int, burst_beats: int, max_outstanding: int, buffer_beats: int | None,
    address_bits: int,
) -> None:
    """Every client gets its beats in order with the errors of its own requests; the bus never waits for a client."""
    part = DmaReader(
        n=n, data_width=data_width, max_burst_beats=burst_beats, max_outstanding=max_outstanding,
        buffer_beats=buffer_beats, address_bits=address_bits,
    )
    memory, clients, rng = make(part, seed)

    def step(read) -> None:
        assert read(part.m_axi.rready), "the bus waits"
        assert memory.under_way <= max_outstanding
        assert not read(part.m_axi.awvalid)
        assert not read(part.m_axi.wvalid)
        for client in clients:
            client.check()

    streams = [end for client in clients for end in (client.requests, client.beats)]
    paced = [*streams, memory, memory.addresses]
    run(part, [Pace(*paced, rng=rng), memory, *streams], step=step, cycles=1200, rng=rng)
    for client in clients:
        assert len(client.found) > 40
        assert sum(beat.last for beat in client.found) > 8
    assert sum(beat.error for client in clients for beat in client.found) > 2


def test_times() -> None:
    """An address 3 cycles after its request, data 2 cycles after they came, and one beat a cycle."""
    part = DmaReader(n=1, data_width=64, max_burst_beats=4)
    memory, (client,), rng = make(part, 1)
    for end in (client.requests, client.beats, memory, memory.addresses):
        end.rate = 1
    cycles = {"now": 0}
    asked: list[int] = []
    came: list[int] = []

    def step(read) -> None:
        now = cycles["now"]
        if client.requests.offered is not None and not asked:
            assert read(client.requests.port.ready)
            asked.append(now)
        assert read(part.m_axi.arvalid) <= (now >= asked[0] + 3)
        if now == asked[0] + 3:
            assert read(part.m_axi.arvalid)
        if memory.beat is not None:
            came.append(now)
        assert read(client.beats.port.valid) == (now - 2 in came)
        cycles["now"] = now + 1

    run(part, [memory, client.requests, client.beats], step=step, cycles=400, rng=rng)
    assert len(client.beats.taken) > 200

    # Long requests: the bus is never without a beat.
    memory, (client,), rng = make(part := DmaReader(n=1, data_width=64, max_burst_beats=4), 1)
    for end in (client.requests, client.beats, memory, memory.addresses):
        end.rate = 1
    shape = client.requests.port.payload.shape()
    client.requests.item = lambda: int(shape.const({"addr": 0x1000, "bytes": 0x800}).as_bits())
    run(part, [memory, client.requests, client.beats], cycles=400, rng=rng)
    assert memory.n_beats > 400 - 12


def test_clients_are_served_in_turn() -> None:
    """Of clients that always ask each gets as many bursts; one that takes nothing stops only itself."""
    part = DmaReader(n=3, data_width=64, max_burst_beats=4, buffer_beats=8)
    memory, clients, rng = make(part, 1)
    for number, client in enumerate(clients):
        client.requests.rate = client.beats.rate = 1
        shape = client.requests.port.payload.shape()
        item = int(shape.const({"addr": number << 16, "bytes": 32}).as_bits())
        client.requests.item = lambda item=item: item
    memory.rate = memory.addresses.rate = 1

    def step(read) -> None:
        clients[1].beats.rate = int(len(memory.addresses.bursts) < 60)

    run(part, [memory, *(end for client in clients for end in (client.requests, client.beats))], step=step,
        cycles=900, rng=rng)
    order = [addr >> 16 for addr, _ in memory.addresses.bursts]
    assert all(sorted(order[at:at + 3]) == [0, 1, 2] for at in range(6, 57, 3))
    assert order[70:].count(1) == 0
    assert abs(order[70:].count(0) - order[70:].count(2)) <= 1
    assert order[70:].count(0) > 40


@pytest.mark.parametrize(("old", "new"), [
    ("returned >= splitter.burst_beats", "returned != 0"),
    ("reserved.eq(Mux(grant, splitter.o.payload.beats, 0))", "reserved.eq(grant)"),
    ("payload.error.eq(is_last & (failed | r.o.payload.error))", "payload.error.eq(is_last & failed)"),
    ("failed.eq(~is_last & (failed | r.o.payload.error))", "failed.eq(failed | r.o.payload.error)"),
    ("is_last = order.o.payload.last & r.o.payload.last", "is_last = r.o.payload.last"),
    ("axi.araddr.eq(granted.burst.addr)", "axi.araddr.eq(granted.burst.addr[:31])"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer that is filled beyond its room, errors and ends of other requests, and a short address are found."""
    monkeypatch.setitem(globals(), "DmaReader", changed(DmaReader, old, new))
    with pytest.raises(AssertionError):
        test_dma_reader(0, 3, 64, 4, 3, 5, 32)
