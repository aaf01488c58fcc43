"""Writes of several clients: each byte once, where it belongs, and reported when it has been acknowledged."""

import random
from collections import deque
from dataclasses import dataclass, field

import pytest

from rtl.dma.writer import DmaWriter
from testbench.parts.axi import WriteMemory
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run


@dataclass
class Transfer:
    """A request with the bytes that are still to be written, and the bursts that it needs."""

    addr: int
    n_bytes: int
    beats: list[int]
    failed: bool
    open_bytes: dict[int, int] = field(default_factory=dict)
    open_bursts: int = 0


class Client:
    """Requests of a client, each at memory of its own, and their data, which come before or after them.

    Parameters
    ----------
    refuses : callable
        True of the address of a flit that the memory refuses.
    """

    def __init__(self, part: DmaWriter, number: int, rng: random.Random, refuses):
        self.part, self.number, self.rng, self.refuses = part, number, rng, refuses
        self.flit = part.data_width // 8
        port = part.i[number]
        self.transfers: list[Transfer] = []
        self.n_requests, self.n_begun = 0, 0
        self.beats: deque[int] = deque()
        self.next_addr = number << 28
        self.owners: dict[int, Transfer] = {}
        self.sizes: tuple[int, ...] = ()
        self.requests, self.data = Offers(port.request, rng, self.draw_request), Offers(port.data, rng, self.draw_beat)
        self.done = Takes(port.done, rng)

    def transfer(self, index: int) -> Transfer:
        """A transfer, which is made up when somebody asks for it first."""
        while len(self.transfers) <= index:
            rng, flit, burst = self.rng, self.flit, self.part.max_burst_beats * self.flit
            bound = rng.choice((flit, burst, 4096))
            addr = -(-self.next_addr // bound) * bound + rng.choice((0, 0, 1, flit - 1, bound - 1))
            near = rng.choice(self.sizes or (flit, burst, 2 * burst, rng.randint(1, 3 * burst)))
            n_bytes = near if self.sizes else max(1, near + rng.choice((-1, 0, 0, 1)))
            self.next_addr = addr + n_bytes
            first, end = addr // flit * flit, addr + n_bytes
            places = range(first, end, flit)
            one = Transfer(addr, n_bytes, [rng.getrandbits(8 * flit) for _ in places],
                           any(self.refuses(place) for place in places))
            one.open_bytes = {
                place + k: word >> 8 * k & 0xFF for place, word in zip(places, one.beats, strict=True)
                for k in range(flit) if addr <= place + k < end
            }
            one.open_bursts = (end - 1) // burst - addr // burst + 1
            self.owners.update(dict.fromkeys(one.open_bytes, one))
            self.transfers.append(one)
        return self.transfers[index]

    def draw_request(self) -> int:
        """The next request."""
        one = self.transfer(self.n_requests)
        self.n_requests += 1
        shape = self.requests.port.payload.shape()
        return int(shape.const({"addr": one.addr, "bytes": one.n_bytes}).as_bits())

    def draw_beat(self) -> int:
        """The next beat of data; nobody needs its mark."""
        if not self.beats:
            self.beats.extend(self.transfer(self.n_begun).beats)
            self.n_begun += 1
        shape = self.data.port.payload.shape()
        return int(shape.const({"data": self.beats.popleft(), "last": self.rng.getrandbits(1)}).as_bits())

    def write(self, addr: int, byte: int) -> None:
        """A byte has been written."""
        one = self.owners.pop(addr, None)
        assert one is not None, "a byte that nobody writes, or writes no more"
        assert one.open_bytes.pop(addr) == byte

    def settle_bursts(self, addr: int) -> None:
        """A burst has been acknowledged."""
        one = next(one for one in self.transfers if one.addr // self.flit * self.flit <= addr < one.addr + one.n_bytes)
        one.open_bursts -= 1

    @property
    def ends(self) -> list[Offers | Takes]:
        """Its streams."""
        return [self.requests, self.data, self.done]


class Bench:
    """A writer, its clients, and the memory behind it."""

    def __init__(self, part: DmaWriter, seed: int):
        self.part, self.rng = part, random.Random(seed)
        self.clients = [Client(part, k, self.rng, self.refuses) for k in range(part.n)]
        self.memory = WriteMemory(
            part.m_axi, self.rng, burst_beats=part.max_burst_beats, refuses=self.refuses,
            write=lambda addr, byte: self.clients[addr >> 28].write(addr, byte),
        )
        self.n_settled = 0

    @staticmethod
    def refuses(addr: int) -> bool:
        """True of some flits."""
        return addr % 29 == 0

    @property
    def ends(self) -> list:
        """Everything that takes part."""
        return [self.memory, *(end for client in self.clients for end in client.ends)]

    def step(self, read) -> None:
        """Checks bounds, and what is reported."""
        part, memory = self.part, self.memory
        assert not read(part.m_axi.arvalid)
        assert len(memory.addresses.bursts) - memory.n_answered <= part.max_outstanding
        while self.n_settled < memory.n_answered:
            addr, _ = memory.addresses.bursts[self.n_settled]
            self.clients[addr >> 28].settle_bursts(addr)
            self.n_settled += 1
        for client in self.clients:
            n_done = len(client.done.taken)
            assert len(client.requests.taken) - n_done <= part.max_requests
            if read(client.done.port.valid):
                one = client.transfers[n_done]
                assert n_done < len(client.requests.taken), "a report of what was not asked for"
                assert not one.open_bytes, "a report before everything is written"
                assert not one.open_bursts, "a report before everything is acknowledged"
                assert read(client.done.port.payload.error) == one.failed


@pytest.mark.parametrize(
    ("seed", "n", "data_width", "burst_beats", "max_outstanding", "max_requests", "buffer_beats", "address_bits"),
    [
        (0, 1, 64, 1, 1, 1, 1, 64), (0, 3, 64, 4, 3, 2, 5, 32), (1, 3, 64, 4, 3, 2, 5, 32),
        (1, 2, 256, 16, 16, 8, None, 64),
    ],
)
def test_dma_writer(
    seed: int, n: int, data_width: int, burst_beats: int, max_outstanding: int, max_requests: int,
    buffer_beats: int | None, address_bits: int,
) -> None:
    """Bytes, reports and errors of every client; no burst begins before its data are there."""
    part = DmaWriter(
        n=n, data_width=data_width, max_burst_beats=burst_beats, max_outstanding=max_outstanding,
        max_requests=max_requests, buffer_beats=buffer_beats, address_bits=address_bits,
    )
    bench = Bench(part, seed)
    paced = [*(end for client in bench.clients for end in client.ends), bench.memory, bench.memory.addresses]
    run(part, [Pace(*paced, rng=bench.rng, cycles=25), *bench.ends], step=bench.step, cycles=1500, rng=bench.rng)
    shape = part.i[0].done.payload.shape()
    for client in bench.clients:
        found = [fields(shape, item)["error"] for item in client.done.taken]
        assert len(found) > 8
        assert found == [int(one.failed) for one in client.transfers[:len(found)]]
    done = [one for client in bench.clients for one in client.transfers[:len(client.done.taken)]]
    assert sum(one.failed for one in done) > 2
    assert sum(not one.failed for one in done) > 2
    assert sum(one.addr % client.flit != 0 for one in done) > 3


def test_rate() -> None:
    """Bursts of several beats follow each other without a gap, short ones begin three cycles apart, in turn."""
    for burst_beats, least, most in ((4, 370, 400), (2, 240, 267), (1, 125, 134)):
        part = DmaWriter(n=2, data_width=64, max_burst_beats=burst_beats)
        bench = Bench(part, 1)
        for client in bench.clients:
            client.sizes = (8 * burst_beats * 8,)
            for end in client.ends:
                end.rate = 1
        bench.memory.rate = bench.memory.answer_rate = bench.memory.addresses.rate = 1
        run(part, bench.ends, step=bench.step, cycles=400, rng=bench.rng)
        assert least <= bench.memory.n_beats <= most
        owners = [addr >> 28 for addr, _ in bench.memory.addresses.bursts][4:]
        assert abs(owners.count(0) - owners.count(1)) < 12


def test_a_slow_client_stops_only_itself() -> None:
    """One client gives no data, and another one takes no report: the third one goes on."""
    part = DmaWriter(n=3, data_width=64, max_burst_beats=4, max_requests=2)
    bench = Bench(part, 1)
    bench.clients[0].data.rate = bench.clients[1].done.rate = 0
    run(part, bench.ends, step=bench.step, cycles=800, rng=bench.rng)
    assert len(bench.clients[2].done.taken) > 20
    assert len(bench.clients[1].requests.taken) == 2
    assert len(bench.clients[0].requests.taken) in (1, 2)
    assert not any(addr >> 28 == 0 for addr, _ in bench.memory.addresses.bursts)


@pytest.mark.parametrize(("old", "new"), [
    ("turn.burst.last & w_last, tail_strobes", "w_last, tail_strobes"),
    ("Mux(first, head_strobes[turn.burst.head], ~0)", "head_strobes[turn.burst.head]"),
    ("held >= splitter.o.payload.beats", "held != 0"),
    ("failed.eq(~answer.last & outcome)", "failed.eq(outcome)"),
    ("open_requests != self.max_requests", "open_requests <= self.max_requests"),
    ("spent.eq(Mux(grant, splitter.o.payload.beats, 0))", "spent.eq(grant)"),
    ("outcome = failed | answer.error", "outcome = answer.error"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes beside a request, bursts without data, errors of others or of the last burst alone are found."""
    monkeypatch.setitem(globals(), "DmaWriter", changed(DmaWriter, old, new))
    with pytest.raises(AssertionError):
        test_dma_writer(0, 3, 64, 4, 3, 2, 5, 32)
