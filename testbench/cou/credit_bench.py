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
            assert answer["place"] in free
            self.out[job, peer, answer["place"]] = members
        else:
            assert answer["ok"] == (self.out[job, peer, 0] < self.share - (not oldest))
            if not answer["ok"]:
                return None
            assert answer["place"] == 0
            self.out[job, peer, 0] += 1
        return int(answer["place"])

    async def give(self, job: int, peer: int, place: int, count: int) -> None:
        """Brings credits back."""
        await self.back.send({"job_id": job, "peer": peer, "place": place, "credits": count})
        self.out[job, peer, place] -= min(count, self.out[job, peer, place])
        await cycles(self.dut, 3)


@cocotb.test()
async def follows_the_model(dut: SimHandleBase) -> None:
    """Random requests and returns for groups and single peers."""
    table, numbers = Table(dut), rng("requests")
    await start(dut, max_cycles=400_000)
    granted = refused = 0
    groups = {(job, peer): numbers.choice((0, 0, 1, 2, 15, 255)) for job in (0, 3, 255) for peer in range(4)}
    for _ in range(parameters()["requests"]):
        (job, peer), members = numbers.choice(list(groups.items()))
        if numbers.random() < 0.5:
            got = await table.take(job, peer, oldest=numbers.getrandbits(1), members=members)
            granted += got is not None
            refused += got is None
        else:
            places = [place for place in range(table.n_places) if table.out[job, peer, place]]
            if places:
                place = numbers.choice(places)
                await table.give(job, peer, place, numbers.randint(1, table.out[job, peer, place]))
    report(granted=granted, refused=refused)


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
