"""Bench of the credit table: no receiver ever holds more than its guaranteed and shared credits, and none is lost."""

from collections import Counter

import cocotb
from amaranth.hdl import ShapeLike
from cocotb.handle import SimHandleBase

from firmware_models.abi.formats import WIRE
from rtl.credit.credit_table import CreditTable
from testbench.clock import cycles, start
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource

LOANS_ASKED, LOANS_KEPT = 32, 3
"""Limits of a unit by decisions 10 and 30: the table must keep to these numbers, not to its own."""


def _stream(name: str) -> ShapeLike:
    """Shape of a stream's payload."""
    given = parameters()
    table = CreditTable(
        formats=WIRE, n_peers=given["n_peers"], peer_credits=given["peer_credits"], shares=given["lends"]
    )
    return table.signature.members[name].signature.members["payload"].shape


class Table:
    """The table and a model of it: outstanding credits by job, peer and window slot, and shared credits."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        self.ask = StreamSource(dut, "i", _stream("i"))
        self.answers = StreamSink(dut, "o", _stream("o"))
        self.back = StreamSource(dut, "i_return", _stream("i_return"))
        self.end = StreamSource(dut, "i_end", _stream("i_end"))
        self.rest = StreamSink(dut, "o_rest", _stream("o_rest"))
        self.lost = StreamSource(dut, "i_write_off", _stream("i_write_off"))
        self.unused = StreamSink(dut, "o_unused", _stream("o_unused"))
        self.reported = 0
        self.watched: set[int] = set()
        """Jobs whose operation has ended while credits were out, and that have taken none since."""
        self.out: Counter[tuple[int, int, int]] = Counter()
        self.share, self.lends = parameters()["peer_credits"], parameters()["lends"]
        self.n_window_slots = min(self.share, 4)
        self.loans: Counter[tuple[int, int]] = Counter()
        self.refused: set[tuple[int, int]] = set()
        """Shared credits that are here, by peer; peers of which a request was refused since their last packet."""
        self.asking: Counter[tuple[int, int, int]] = Counter()
        """Outstanding packets that asked for a shared credit."""
        self.returned: list[tuple[int, int]] = []
        self.shared = self.kept = 0

    async def take(self, job: int, peer: int, *, oldest: int, members: int = 0) -> int | None:
        """Asks for a credit; the window_slot, or None. Checks the answer against the model."""
        # Answers that find no window_slot may ask; those that wait to leave take window_slots as well.
        waiting = len(self.returned) - len(self.unused.received)
        certain = self.asking.total() + self.loans.total() + waiting < LOANS_ASKED
        room = self.asking.total() + self.loans.total() < LOANS_ASKED
        self.ask.append({
            "job_id": job, "peer": peer, "oldest": oldest, "multicast": int(members > 0), "members": members,
        })
        answer = await self.answers.receive()
        window_slot = int(answer["window_slot"])
        if members:
            free = [window_slot for window_slot in range(self.n_window_slots) if not self.out[job, peer, window_slot]]
            assert answer["ok"] == (len(free) > (not oldest)), (free, oldest)
            assert (answer["loan"], answer["want"]) == (0, 0)
            if not answer["ok"]:
                return None
            assert window_slot in free
            self.out[job, peer, window_slot] = members
        else:
            pair, loan = (job, peer), self.loans[job, peer] > 0
            assert answer["ok"] == (loan or self.out[job, peer, 0] < self.share - (not oldest))
            if not answer["ok"]:
                self.refused.add(pair)
                assert not answer["want"]
                return None
            assert (answer["loan"], window_slot) == (loan, loan)
            # Credits that are left to younger pulses behind this packet.
            left = self.share - 1 - self.out[job, peer, 0] + self.loans[pair] - 1
            scarce = left < LOANS_KEPT
            if answer["want"]:
                assert self.lends
                assert pair in self.refused or scarce
                assert room
                self.asking[job, peer, window_slot] += 1
            else:
                assert not (self.lends and (pair in self.refused or scarce) and certain), "it does not ask"
            self.shared += loan
            self.loans[pair] -= loan
            self.refused.discard(pair)
            self.out[job, peer, window_slot] += 1
        self.watched.discard(job)
        return window_slot

    async def give(self, job: int, peer: int, window_slot: int, count: int, *, want: int = 0, loan: int = 0) -> None:
        """Returns credits; with `want` that of a packet that asked, and with `loan` a shared credit."""
        source = {"source_id": 100 + peer, "source_vp": peer, "dest_vp": 7}
        await self.back.send({
            "job_id": job, "peer": peer, "window_slot": window_slot, "credits": count, "want": want, "loan": loan,
            **source,
        })
        self.out[job, peer, window_slot] -= min(count, self.out[job, peer, window_slot])
        if want and any(self.asking[key] for key in self.asking if key[0] == job):
            self.asking[job, peer, window_slot] -= 1
            if loan and job not in self.watched and self.loans[job, peer] < LOANS_KEPT:
                self.loans[job, peer] += 1
                self.kept += 1
            elif loan:
                self.returned.append((job, peer))
        if job in self.watched and not self.owed(job):
            self.watched.remove(job)
            assert await self._report() == {"job_id": job, "ended": 0, "owing": 0}
        await cycles(self.dut, 3)
        assert len(self.rest.received) == self.reported, "a report on a job that nobody asked for"

    async def write_off(self, job: int) -> None:
        """Writes off the outstanding credits of a job without an operation. No report follows."""
        await self.lost.send({"job_id": job})
        for book in (self.out, self.asking):
            for key in [key for key in book if key[0] == job]:
                del book[key]
        self.watched.discard(job)
        self.refused = {pair for pair in self.refused if pair[0] != job}
        await cycles(self.dut, 5)
        assert len(self.rest.received) == self.reported

    async def check_unused(self) -> None:
        """Shared credits that were not needed have gone back, all of them."""
        self.unused.set_stall(0.0)
        await cycles(self.dut, 8 * LOANS_ASKED)
        assert all(item == {
            "job_id": item["job_id"], "peer": item["peer"], "dest_id": 100 + item["peer"], "dest_vp": item["peer"],
            "source_vp": 7, "window_slot": 0, "credits": 0, "loan": 1, "want": 0, "shared": 0,
        } for item in self.unused.received)
        assert Counter((item["job_id"], item["peer"]) for item in self.unused.received) == Counter(self.returned)

    async def _report(self) -> dict[str, int]:
        self.reported += 1
        item: dict[str, int] = await self.rest.receive()
        return item

    def owed(self, job: int) -> int:
        """All credits of a job that are out."""
        return sum(count for (of, _, _), count in self.out.items() if of == job)

    async def ends(self, job: int) -> bool:
        """An operation of the job ends; whether credits are out."""
        await self.end.send({"job_id": job})
        owing = self.owed(job) > 0
        assert await self._report() == {"job_id": job, "ended": 1, "owing": int(owing)}
        if owing:
            self.watched.add(job)
        else:
            self.watched.discard(job)
        # The unused shared credits of the job return.
        self.returned += [pair for pair in self.loans.elements() if pair[0] == job]
        self.loans = Counter({pair: count for pair, count in self.loans.items() if pair[0] != job})
        await cycles(self.dut, 6 * LOANS_ASKED)
        return owing


@cocotb.test()
async def follows_the_model(dut: SimHandleBase) -> None:
    """Random requests and returns for groups and single peers."""
    table, numbers = Table(dut), rng("requests")
    await start(dut, max_cycles=400_000)
    granted = refused = owing = settled = written_off = 0
    peers = [(job, peer) for job in (0, 3, 255) for peer in range(4)]
    groups = dict(zip(peers, numbers.sample((0, 0, 0, 1, 2, 15, 255) * 2, len(peers)), strict=True))
    for number in range(parameters()["requests"]):
        if number % 60 == 0:
            # A few peers at a time, so that some of them are refused.
            focus, taking = numbers.sample(list(groups.items()), 2), numbers.choice((0.4, 0.6, 0.8))
        (job, peer), members = numbers.choice(focus)
        if numbers.random() < 0.1:
            owed = await table.ends(job)
            owing += owed
            if owed and numbers.random() < 0.2:
                late = [(key, count) for key, count in table.out.items() if key[0] == job and count]
                await table.write_off(job)
                written_off += 1
                # Some of it was only late: there is nothing left that it could be.
                for (_, other, window_slot), count in late[:2]:
                    await table.give(job, other, window_slot, count, want=1, loan=1)
        elif numbers.random() < 0.05:
            watched = job in table.watched
            for (of, other, window_slot), count in list(table.out.items()):
                while of == job and table.asking[of, other, window_slot]:
                    await table.give(job, other, window_slot, 1, want=1, loan=numbers.getrandbits(1))
                    count -= 1
                if of == job and count:
                    await table.give(job, other, window_slot, count)
            settled += watched
        elif numbers.random() < taking:
            got = await table.take(job, peer, oldest=numbers.getrandbits(1), members=members)
            granted += got is not None
            refused += got is None
        else:
            window_slots = [slot for slot in range(table.n_window_slots) if table.out[job, peer, slot]]
            if window_slots:
                window_slot = numbers.choice(window_slots)
                watched = job in table.watched
                count, asking = table.out[job, peer, window_slot], table.asking[job, peer, window_slot]
                if asking and (count == asking or numbers.getrandbits(1)):
                    await table.give(job, peer, window_slot, 1, want=1, loan=numbers.getrandbits(1))
                else:
                    await table.give(job, peer, window_slot, numbers.randint(1, count - asking))
                settled += watched and job not in table.watched
    await table.check_unused()
    if table.lends and table.share < 3:
        assert min(table.shared, table.kept, len(table.returned)), "no shared credit was used, kept, returned"
    report(granted=granted, refused=refused, owing=owing, settled=settled, written_off=written_off)


@cocotb.test()
async def a_slow_packet_holds_one_place(dut: SimHandleBase) -> None:
    """While one multicast is not consumed, the oldest pulse gets the other window_slots again and again."""
    table = Table(dut)
    await start(dut, max_cycles=400_000)
    kept = await table.take(7, 1, oldest=1, members=3)
    assert kept is not None
    for _ in range(10):
        window_slot = await table.take(7, 1, oldest=1, members=3)
        if table.n_window_slots == 1:
            assert window_slot is None
            continue
        assert window_slot not in (None, kept)
        for _ in range(3):
            await table.give(7, 1, window_slot, 1)


@cocotb.test()
async def loans_pile_up(dut: SimHandleBase) -> None:
    """A peer that is always refused asks with every packet, and gets what its receiver grants; the oldest pulse
    finds its own credit all the same."""
    table = Table(dut)
    await start(dut, max_cycles=400_000)
    for _ in range(table.share - 1):
        assert await table.take(3, 1, oldest=0) == 0
    # The last of these left too little to younger pulses, and have asked already.
    asked = table.asking[3, 1, 0]
    assert asked == (min(table.share - 1, LOANS_KEPT) if table.lends else 0)
    for shared in range(2 * LOANS_ASKED if table.lends else 0):
        assert await table.take(3, 1, oldest=0) is None
        assert await table.take(3, 1, oldest=1) == 0, "the last credit is the oldest pulse's"
        assert await table.take(3, 1, oldest=0) is None
        assert table.asking[3, 1, 0] == asked + 1
        await table.give(3, 1, 0, 1, want=1, loan=1)
        assert await table.take(3, 1, oldest=0) == 1
        assert table.out[3, 1, 1] == shared + 1 - shared // 4 * 3
        # Packets on loan ask as well. Three of four are consumed now and then, and their loans are not renewed.
        for _ in range(3 if shared % 4 == 3 else 0):
            await table.give(3, 1, 1, 1, want=1)
    await table.check_unused()


@cocotb.test()
@cocotb.skipif(not parameters().get("lends"), reason="the build lends nothing")
@cocotb.parametrize(used=range(LOANS_KEPT + 1))
async def some_loans_for_each_peer(dut: SimHandleBase, used: int) -> None:
    """One shared credit too many for a peer returns at once; the others are used all the same, or return, each of
    them, when the operation ends."""
    table = Table(dut)
    await start(dut, max_cycles=400_000)
    while await table.take(5, 2, oldest=1) is not None:
        pass
    for _ in range(LOANS_KEPT + 1):
        await table.give(5, 2, 0, 1)
        assert await table.take(5, 2, oldest=1) == 0
        assert await table.take(5, 2, oldest=1) is None
    for _ in range(LOANS_KEPT + 1):
        await table.give(5, 2, 0, 1, want=1, loan=1)
    assert +table.loans == {(5, 2): LOANS_KEPT}
    assert table.returned == [(5, 2)]
    await table.check_unused()
    for _ in range(used):
        assert await table.take(5, 2, oldest=0) == 1
    await table.ends(5)
    assert len(table.returned) == 1 + LOANS_KEPT - used
    await table.check_unused()


@cocotb.test()
async def asks_no_more_than_it_can_give_back(dut: SimHandleBase) -> None:
    """With the way back closed there is room for every shared credit, and credits come in all the time."""
    table = Table(dut)
    await start(dut, max_cycles=400_000)
    table.unused.set_stall(1.0)
    peers = [(job, peer) for job in range(32) for peer in range(4)] if table.lends else []
    for job, peer in peers:
        while not table.asking[job, peer, 0]:
            if await table.take(job, peer, oldest=1) is None:
                await table.give(job, peer, 0, 1)
                await table.take(job, peer, oldest=1)
                break
    assert not peers or table.asking.total() == LOANS_ASKED
    # Half of the loans are there when the operations end, the others come later; all go back.
    late = list(+table.asking)[LOANS_ASKED // 2:]
    for job, peer, window_slot in list(+table.asking):
        if (job, peer, window_slot) not in late:
            await table.give(job, peer, window_slot, 1, want=1, loan=1)
    assert not peers or table.loans.total() == LOANS_ASKED // 2
    assert not table.returned
    for job in sorted({job for job, _ in peers}):
        await table.ends(job)
    for job, peer, window_slot in late:
        await table.give(job, peer, window_slot, 1, want=1, loan=1)
    assert not peers or len(table.returned) == LOANS_ASKED
    await cycles(dut, 50)
    assert not table.unused.received
    # None can be asked for before they have left.
    for _ in range(2):
        if peers:
            await table.give(*peers[-1], 0, 1)
            assert await table.take(*peers[-1], oldest=1) == 0
            assert table.asking.total() == bool(table.unused.received)
            assert await table.take(*peers[-1], oldest=1) is None
        await table.check_unused()


@cocotb.test()
async def what_is_lost_may_be_asked_for_again(dut: SimHandleBase) -> None:
    """Packets that asked for shared credits and are written off leave room for as many others, again and again."""
    table = Table(dut)
    await start(dut, max_cycles=400_000)

    async def fill(job: int, peer: int) -> None:
        for _ in range(table.share):
            assert await table.take(job, peer, oldest=1) == 0
        assert await table.take(job, peer, oldest=1) is None

    await fill(0, 1)
    for _ in range(2 * LOANS_ASKED // 4):
        for peer in range(4):
            await fill(2, peer)
        assert any(count for key, count in table.asking.items() if key[0] == 2) == table.lends
        assert await table.ends(2)
        await table.write_off(2)
    # The other job has what it had.
    assert table.owed(0) == table.share
    assert await table.take(0, 1, oldest=1) is None
    assert await table.ends(0)
    await table.check_unused()


@cocotb.test()
async def surplus_is_ignored(dut: SimHandleBase) -> None:
    """Credits that are not outstanding change nothing, nor do shared ones that nobody asked for."""
    table = Table(dut)
    await start(dut, max_cycles=400_000)
    await table.give(1, 0, 0, 200)
    for want in range(2):
        await table.give(2, 1, want, 1, want=want, loan=1)
    for _ in range(table.share):
        assert await table.take(2, 1, oldest=1) == 0
    assert await table.take(2, 1, oldest=1) is None
    await table.give(2, 1, 1, 1, want=0, loan=1)
    assert await table.take(2, 1, oldest=1) is None
    assert await table.take(1, 0, oldest=1, members=2) == 0
    await table.check_unused()
