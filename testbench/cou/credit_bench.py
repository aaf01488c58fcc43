"""Bench of the credit table: no receiver ever holds more than its share, and no credit is lost."""

from collections import Counter

import cocotb
from amaranth.hdl import ShapeLike
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.config.load import parse_config
from rtl.cou.credit_table import CreditTable
from testbench.clock import cycles, start
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource


def _stream(name: str) -> ShapeLike:
    """Shape of a stream's payload."""
    table = CreditTable(parse_config(parameters()["yaml"], source="bench"))
    return table.signature.members[name].signature.members["payload"].shape


class Table:
    """The table and a model of it: what is out, by job, peer and place."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        self.ask = StreamSource(dut, "i", _stream("i"))
        self.answers = StreamSink(dut, "o", _stream("o"))
        self.back = StreamSource(dut, "i_return", _stream("i_return"))
        self.end = StreamSource(dut, "i_end", _stream("i_end"))
        self.rest = StreamSink(dut, "o_rest", _stream("o_rest"))
        self.told = 0
        self.watched: set[int] = set()
        """Jobs whose operation has ended while credits were out, and that have taken none since."""
        self.out: Counter[tuple[int, int, int]] = Counter()
        self.share = parameters()["peer_credits"]
        self.n_places = min(self.share, 4)

    async def take(self, job: int, peer: int, *, oldest: int, members: int = 0) -> int | None:
        """Asks for a credit; the place, or None. Checks the answer against the model."""
        self.ask.append({
            "job_id": job, "peer": peer, "oldest": oldest, "multicast": int(members > 0), "members": members,
        })
        answer = await self.answers.receive()
        if members:
            free = [place for place in range(self.n_places) if not self.out[job, peer, place]]
            assert answer["ok"] == (len(free) > (not oldest)), (free, oldest)
            if not answer["ok"]:
                return None
            self.watched.discard(job)
            assert answer["place"] in free
            self.out[job, peer, answer["place"]] = members
        else:
            assert answer["ok"] == (self.out[job, peer, 0] < self.share - (not oldest))
            if not answer["ok"]:
                return None
            assert answer["place"] == 0
            self.watched.discard(job)
            self.out[job, peer, 0] += 1
        return int(answer["place"])

    async def give(self, job: int, peer: int, place: int, count: int) -> None:
        """Brings credits back."""
        await self.back.send({"job_id": job, "peer": peer, "place": place, "credits": count})
        self.out[job, peer, place] -= min(count, self.out[job, peer, place])
        if job in self.watched and not self.owed(job):
            self.watched.remove(job)
            assert await self._told() == {"job_id": job, "ended": 0, "owing": 0}
        await cycles(self.dut, 3)
        assert len(self.rest.received) == self.told, "told of a job that nobody asked for"

    async def _told(self) -> dict[str, int]:
        self.told += 1
        item: dict[str, int] = await self.rest.receive()
        return item

    def owed(self, job: int) -> int:
        """All credits of a job that are out."""
        return sum(count for (of, _, _), count in self.out.items() if of == job)

    async def ends(self, job: int) -> bool:
        """An operation of the job ends; whether credits are out."""
        await self.end.send({"job_id": job})
        owing = self.owed(job) > 0
        assert await self._told() == {"job_id": job, "ended": 1, "owing": int(owing)}
        if owing:
            self.watched.add(job)
        else:
            self.watched.discard(job)
        return owing


@cocotb.test()
async def follows_the_model(dut: SimHandleBase) -> None:
    """Random requests and returns for groups and single peers."""
    table, numbers = Table(dut), rng("requests")
    await start(dut, max_cycles=400_000)
    granted = refused = owing = settled = 0
    groups = {(job, peer): numbers.choice((0, 0, 1, 2, 15, 255)) for job in (0, 3, 255) for peer in range(4)}
    for _ in range(parameters()["requests"]):
        (job, peer), members = numbers.choice(list(groups.items()))
        if numbers.random() < 0.1:
            owing += await table.ends(job)
        elif numbers.random() < 0.05:
            watched = job in table.watched
            for (of, other, place), count in list(table.out.items()):
                if of == job and count:
                    await table.give(job, other, place, count)
            settled += watched
        elif numbers.random() < 0.5:
            got = await table.take(job, peer, oldest=numbers.getrandbits(1), members=members)
            granted += got is not None
            refused += got is None
        else:
            places = [place for place in range(table.n_places) if table.out[job, peer, place]]
            if places:
                place = numbers.choice(places)
                watched = job in table.watched
                await table.give(job, peer, place, numbers.randint(1, table.out[job, peer, place]))
                settled += watched and job not in table.watched
    report(granted=granted, refused=refused, owing=owing, settled=settled)


@cocotb.test()
async def a_slow_packet_holds_one_place(dut: SimHandleBase) -> None:
    """While one multicast is not consumed, the oldest pulse gets the other places again and again."""
    table = Table(dut)
    await start(dut, max_cycles=400_000)
    kept = await table.take(7, 1, oldest=1, members=3)
    assert kept is not None
    for _ in range(10):
        place = await table.take(7, 1, oldest=1, members=3)
        if table.n_places == 1:
            assert place is None
            continue
        assert place not in (None, kept)
        for _ in range(3):
            await table.give(7, 1, place, 1)


@cocotb.test()
async def surplus_is_ignored(dut: SimHandleBase) -> None:
    """Credits that nobody owes change nothing."""
    table = Table(dut)
    await start(dut, max_cycles=400_000)
    await table.give(1, 0, 0, 200)
    assert await table.take(1, 0, oldest=1, members=2) == 0
    await RisingEdge(dut.clk)
