"""Bench of the queues as a system: order, completeness, isolation, fairness, refusals."""

import itertools

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import CplKind, Status
from firmware_models.abi.registers import CONTROL_PAGE
from testbench import clock
from testbench.queue.host import Host, HostVp
from testbench.queue.parts import BATCH, N_COUS, N_VPS, RETRY_CYCLES
from testbench.queue.refusals import REFUSALS
from testbench.queue.targets import OffloadStandIn, P2pStandIn, PlacementStandIn, unit_of
from testbench.queue.units import DEPTH, Unit, UnitMaker, bits, full
from testbench.runner import parameters, rng


class Setup:
    """The device under test, its host and all stand-ins; a bench begins with ``await start(dut)``."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        self.placement = PlacementStandIn(dut)
        self.cous = [OffloadStandIn(dut, unit, self.placement) for unit in range(N_COUS)]
        self.p2p = P2pStandIn(dut)
        self.host = Host(dut)
        self.makers: dict[int, UnitMaker] = {}

    async def open(self, vp: int, **sizes: int) -> HostVp:
        """Enables a VP with windows of its own."""
        window = (0x800_0000 * (vp + 1), 0x800_0000 * (vp + 1) + 0x10_0000)
        self.makers[vp] = UnitMaker(vp, window, rng(f"units of vp {vp}"))
        port = await self.host.open(vp, window=window, **sizes)
        for index, (part, rights) in enumerate(self.makers[vp].windows().items()):
            if index:
                await self.host.register(vp, index, part, sum(1 << right for right in rights))
        return port

    async def post(self, port: HostVp, *units: Unit, ring: bool = True) -> None:
        """Puts units into a VP's ring, and rings."""
        for unit in units:
            places = self.host.put(port, [bits(desc) for desc in unit.descs])
            self.host.memory.bad.difference_update(places)
            if unit.unreadable is not None:
                self.host.memory.bad.add(places[unit.unreadable])
        if ring:
            await self.host.ring(port)

    def delivered(self, vp: int) -> tuple[list, list]:
        """Sequences and point-to-point descriptors of a VP that reached their targets."""
        sequences = [s for cou in self.cous for s in cou.accepted if s[0]["source_vp"] == vp]
        return sequences, [desc for desc in self.p2p.accepted if desc["source_vp"] == vp]


async def start(dut: SimHandleBase, *, enable: int = 1, max_cycles: int = 100_000) -> Setup:
    """Resets, and enables the NIC."""
    setup = Setup(dut)
    for k in range(2):
        getattr(dut, f"windows__{k}__query__valid").value = 0
        getattr(dut, f"windows__{k}__answer__ready").value = 1
    dut.receive__query__valid.value = 0
    dut.receive__answer__ready.value = 1
    await clock.start(dut, max_cycles=max_cycles)
    await setup.host.write("control", CONTROL_PAGE.pack("control", enable=enable))
    return setup


def shown(entry: dict[str, int]) -> dict[str, int]:
    """The part of a completion that a unit determines."""
    return {name: entry[name] for name in ("status", "kind", "detail", "tag", "job_id", "bytes")}


@cocotb.test()
async def refusals(dut: SimHandleBase) -> None:
    """Every kind of refusal, alone, and then the VP goes on."""
    setup = await start(dut)
    port = await setup.open(3, dq_log2=6)
    maker = setup.makers[3]
    for name in REFUSALS:
        bad, good = REFUSALS[name](maker), maker.good()
        await setup.post(port, bad, good)
        found = {entry["tag"]: entry for entry in await setup.host.wait(port, 2)}
        assert set(found) == {bad.completion["tag"], good.completion["tag"]}, name
        for unit in (bad, good):
            assert shown(found[unit.completion["tag"]]) == unit.completion, name
            assert found[unit.completion["tag"]]["vp"] == 3
    sequences, p2p = setup.delivered(3)
    assert len(sequences) + len(p2p) == len(REFUSALS)
    assert await setup.host.counter("completions") == 2 * len(REFUSALS)
    assert await setup.host.counter("completion_errors") == len(REFUSALS)


@cocotb.test()
async def resynchronises(dut: SimHandleBase) -> None:
    """A refused sequence swallows neither CH nor point-to-point descriptors, and ends at `sequence_depth`."""
    setup = await start(dut, max_cycles=200_000)
    setup.placement.busy = 0.0  # nothing is blocked, so a CH is there when the sequence that it cuts short is refused
    port = await setup.open(5, dq_log2=(4 * DEPTH).bit_length() - 1, cq_log2=6)  # all that is posted fits at once
    maker = setup.makers[5]

    # CH within: the second sequence is served. A point-to-point descriptor within: served, what follows is headless.
    cut, whole, broken, lone = maker.sequence(steps=4), maker.sequence(steps=2), maker.sequence(steps=5), maker.send()
    longest, endless = maker.sequence(steps=DEPTH), maker.sequence(steps=DEPTH + 4)
    strays = maker.sequence(steps=2 * DEPTH).descs[1 : DEPTH + 4]
    units = [
        Unit(cut.descs[:3], Status.BAD_SEQUENCE, detail=3),
        whole,
        Unit(broken.descs[:2], Status.BAD_SEQUENCE, detail=2),
        lone,
        Unit(broken.descs[2:], Status.BAD_SEQUENCE),
        longest,
        Unit(endless.descs, Status.BAD_SEQUENCE, detail=DEPTH),
    ]
    await setup.post(port, *units)
    found = await setup.host.wait(port, len(units))
    key = lambda entry: entry["tag"]  # noqa: E731
    assert sorted(map(shown, found), key=key) == sorted((unit.completion for unit in units), key=key)
    assert sorted(len(s) for cou in setup.cous for s in cou.accepted) == [2, DEPTH]

    # More strays than a sequence may have: one refusal for each DEPTH + 1 of them.
    await setup.post(port, Unit(strays))
    found = await setup.host.wait(port, 2)
    assert [(e["status"], e["tag"]) for e in found] == [
        (Status.BAD_SEQUENCE, strays[0]["tag"]), (Status.BAD_SEQUENCE, strays[DEPTH + 1]["tag"])
    ]
    await setup.post(port, maker.send())
    assert (await setup.host.wait(port, 1))[0]["status"] == Status.OK


@cocotb.test()
async def random_traffic(dut: SimHandleBase) -> None:
    """Many VPs with rings of all sizes, good units and refused ones: one completion each, all in order."""
    setup = await start(dut, max_cycles=20_000 * parameters()["units"])
    numbers = rng("traffic")
    sent: dict[int, list[Unit]] = {}

    async def process(port: HostVp, count: int) -> None:
        maker, units = setup.makers[port.vp], sent.setdefault(port.vp, [])
        waiting: list[Unit] = []
        planned = [
            REFUSALS[numbers.choice(list(REFUSALS))](maker) if numbers.random() < 0.3 else maker.good()
            for _ in range(count)
        ]
        while planned or waiting:
            burst: list[Unit] = []
            room = port.descriptors.room
            while planned and len(planned[0].descs) <= room and len(burst) < 6:
                # Strays straight after a sequence without CT would belong to it.
                previous = (burst or units or [None])[-1]
                if previous and not previous.descs[-1].get("ct") and planned[0].descs[0].get("c") \
                        and not planned[0].descs[0].get("ch"):
                    planned.pop(0)
                    continue
                burst.append(planned.pop(0))
                room -= len(burst[-1].descs)
            if burst:
                units += burst
                waiting += burst
                await setup.post(port, *burst)
            for _ in range(numbers.choice((1, 30, 400))):
                await RisingEdge(dut.clk)
            new = setup.host.poll(port)
            for entry in new:
                unit = next((u for u in waiting if u.completion == shown(entry)), None)
                assert unit is not None, f"vp {port.vp}: unexpected {shown(entry)}"
                waiting.remove(unit)
            if (new and numbers.random() < 0.8) or not planned or not burst:
                await setup.host.acknowledge(port)

    ports = [
        await setup.open(vp, dq_log2=numbers.choice((4, 5)), cq_log2=numbers.randrange(4))
        for vp in numbers.sample(range(N_VPS), 6)
    ]
    for task in [cocotb.start_soon(process(port, parameters()["units"])) for port in ports]:
        await task
    await clock.cycles(dut, 500)
    for port in ports:
        assert not setup.host.poll(port), "more completions than units"
        fine = [unit for unit in sent[port.vp] if unit.status is Status.OK]
        sequences, p2p = setup.delivered(port.vp)
        assert p2p == [full(unit.descs[0]) for unit in fine if unit.kind is not CplKind.COLLECTIVE]
        expected = [[full(desc) for desc in unit.descs] for unit in fine if unit.kind is CplKind.COLLECTIVE]
        for cou in range(N_COUS):
            of_cou = lambda unit: unit_of(unit[0]["job_id"]) == cou  # noqa: B023, E731
            assert list(filter(of_cou, sequences)) == list(filter(of_cou, expected))
    total = sum(len(unit.descs) for units in sent.values() for unit in units)
    assert await setup.host.counter("descriptors") == total
    assert setup.placement.refused, "no job was ever reported busy"
    dut._log.info("%d units, %d descriptors, %d aborted", sum(map(len, sent.values())), total,
                  sum(cou.aborted for cou in setup.cous))


@cocotb.test()
async def fair(dut: SimHandleBase) -> None:
    """Between two turns of a VP every other one has at most one, of at most BATCH units."""
    setup = await start(dut)
    setup.p2p.places = 1000  # nobody is blocked: turns alone decide
    ports = [await setup.open(vp, dq_log2=5, cq_log2=5) for vp in (0, 1, 7, N_VPS - 1)]
    await setup.host.write("control", CONTROL_PAGE.pack("control", enable=0))
    for port in ports:
        await setup.post(port, *[setup.makers[port.vp].send() for _ in range(28)])
    for _ in range(3):  # ringing more often must not bring more turns
        await setup.host.ring(ports[1])
    await clock.cycles(dut, 300)
    assert not setup.p2p.accepted, "a descriptor was fetched while disabled"
    assert await setup.host.read("status") == 0, "work that is not to be done keeps nothing busy"
    await setup.host.write("control", CONTROL_PAGE.pack("control", enable=1))
    assert await setup.host.read("status") == CONTROL_PAGE.pack("status", busy=1)
    for port in ports:
        await setup.host.wait(port, 28)
    order = [desc["source_vp"] for desc in setup.p2p.accepted]
    bound = (len(ports) - 1) * BATCH
    for port in ports:
        served = [place for place, vp in enumerate(order) if vp == port.vp]
        gaps = [later - earlier - 1 for earlier, later in itertools.pairwise(served)]
        assert max(served[0], *gaps) <= bound, (port.vp, served)
    await clock.cycles(dut, 50)
    assert await setup.host.read("status") == 0


@cocotb.test()
async def busy_unit_blocks_nobody_else(dut: SimHandleBase) -> None:
    """While one unit takes nothing, others go on, and the memory is not worn down."""
    setup = await start(dut)
    stuck, other = await setup.open(2), await setup.open(9)
    assert (unit_of(4), unit_of(5)) == (0, 1)
    setup.cous[0].held = True
    maker = setup.makers[2]
    first, second = maker.sequence(steps=3), maker.send()
    for desc in first.descs:
        desc["job_id"] = 4
    await setup.post(stuck, first, second)
    for _ in range(5):
        units = [setup.makers[9].send(), setup.makers[9].sequence(), setup.makers[9].put()]
        for desc in units[1].descs:
            desc["job_id"] = 5
        await setup.post(other, *units)
        await setup.host.wait(other, 3)
    reads = 0
    window = 3000
    for _ in range(window):
        await RisingEdge(dut.clk)
        reads += int(dut.read__request__valid.value) and int(dut.read__request__ready.value)
    assert 1 <= reads <= window // RETRY_CYCLES, f"{reads} descriptor reads in {window} cycles"
    assert not setup.host.poll(stuck)
    assert setup.delivered(2) == ([], [])
    setup.cous[0].held = False
    found = await setup.host.wait(stuck, 2)
    assert {entry["tag"] for entry in found} == {first.completion["tag"], second.completion["tag"]}

    # The same with the point-to-point block.
    setup.p2p.held = True
    await setup.post(stuck, maker.send(), maker.send(), maker.send(), maker.send())
    maker9 = setup.makers[9]
    lone = maker9.sequence()
    await setup.post(other, lone)
    assert (await setup.host.wait(other, 1))[0]["tag"] == lone.completion["tag"]
    setup.p2p.held = False
    await setup.host.wait(stuck, 4)

    # GETs wait for room of their own: while there is none others go on, and so does their VP once it has been served.
    setup.p2p.get_held = True
    for _ in range(3):
        await setup.post(other, maker9.send())
        await setup.host.wait(other, 1)
    gets = [maker.get() for _ in range(3)]
    await setup.post(stuck, *gets)
    for _ in range(4):
        await setup.post(other, maker9.send(), maker9.put())
        await setup.host.wait(other, 2)
    assert not setup.host.poll(stuck)
    setup.p2p.held, setup.p2p.get_held = True, False
    found = await setup.host.wait(stuck, 3)
    assert {entry["tag"] for entry in found} == {unit.completion["tag"] for unit in gets}


@cocotb.test()
async def no_place_ends_in_an_error(dut: SimHandleBase) -> None:
    """A unit that waits for room for `retry_limit` cycles is refused, no earlier; the next one waits as long again."""
    setup = await start(dut)
    setup.placement.busy = 0.0
    limit, most = 3000, 3000 + 2 * RETRY_CYCLES + 600  # the last try comes a pause and a round of turns later
    stuck, other = await setup.open(2), await setup.open(9)
    maker, maker9 = setup.makers[2], setup.makers[9]

    def sequence(maker: UnitMaker, job: int) -> Unit:
        unit = maker.sequence(steps=3)
        for desc in unit.descs:
            desc["job_id"] = job
        return unit

    assert (unit_of(4), unit_of(5)) == (0, 1)
    setup.cous[0].held = setup.p2p.held = setup.p2p.get_held = True
    await setup.post(other, maker9.send())  # takes the room that was still promised
    await setup.host.wait(other, 1)
    await clock.cycles(dut, 400)
    await setup.host.write("retry_limit", limit)
    units = [sequence(maker, 4), maker.send(), maker.get(), maker.put()]
    since = await setup.host.read("cycles_lo")
    await setup.post(stuck, *units)
    while len(stuck.seen) < len(units):
        lone = sequence(maker9, 5)
        await setup.post(other, lone)
        assert (await setup.host.wait(other, 1))[0]["tag"] == lone.completion["tag"]
        if setup.host.poll(stuck):
            await setup.host.acknowledge(stuck)
    for unit, entry in zip(units, stuck.seen, strict=True):
        assert shown(entry) == unit.completion | {"status": Status.NO_PLACE}
        assert limit <= entry["timestamp"] - since <= most, (entry["timestamp"], since)
        since = entry["timestamp"]
    assert setup.delivered(2) == ([], [])

    # A place that comes in time is taken, and without a limit there is all the time in the world.
    for setting, patience in ((limit, limit // 2), (0, 3 * limit)):
        await setup.host.write("retry_limit", setting)
        setup.cous[0].held = True
        late = sequence(maker, 4)
        await setup.post(stuck, late)
        await clock.cycles(dut, patience)
        assert not setup.host.poll(stuck)
        setup.cous[0].held = False
        assert [shown(entry) for entry in await setup.host.wait(stuck, 1)] == [late.completion]


@cocotb.test()
async def full_ring_holds_back(dut: SimHandleBase) -> None:
    """A VP that reads no completions gets no more units taken than its ring has room for, and loses none."""
    setup = await start(dut)
    lazy, other = await setup.open(4, cq_log2=1), await setup.open(6)
    units = [setup.makers[4].good() for _ in range(6)] + [REFUSALS["no CH"](setup.makers[4]) for _ in range(2)]
    await setup.post(lazy, *units)
    await setup.post(other, *[setup.makers[6].send() for _ in range(8)])
    await setup.host.wait(other, 8)
    await clock.cycles(dut, 1000)
    seen = setup.host.poll(lazy)
    assert len(seen) == 2
    sequences, p2p = setup.delivered(4)
    assert len(sequences) + len(p2p) == 2
    while len(lazy.seen) < len(units):
        before = len(lazy.seen)
        read = lazy.completions.consumed  # one place at a time, then the other
        await setup.host.doorbell(lazy.vp, "cq_cons", (read - 1) % (1 << 16))
        await clock.cycles(dut, 700)
        await setup.host.acknowledge(lazy)
        await clock.cycles(dut, 1500)
        setup.host.poll(lazy)
        assert before < len(lazy.seen) <= before + 2
    key = lambda entry: entry["tag"]  # noqa: E731
    assert sorted(map(shown, lazy.seen), key=key) == sorted((unit.completion for unit in units), key=key)


@cocotb.test()
async def disabled_vp(dut: SimHandleBase) -> None:
    """Doorbells of a VP that is not enabled, or does not exist, do nothing; interrupts come with completions."""
    setup = await start(dut)
    port = await setup.open(1)
    await setup.host.write("irq_enable", CONTROL_PAGE.pack("irq_enable", written=1))
    await setup.host.write("vp_select", 1)
    await setup.host.write("vp_commit", CONTROL_PAGE.pack("vp_commit", enable=0))
    await setup.post(port, setup.makers[1].send())
    await setup.host.doorbell(8, "dq_prod", 17)
    await setup.host.doorbell(N_VPS + 1, "dq_prod", 3)
    await clock.cycles(dut, 500)
    assert not setup.p2p.accepted
    assert not int(dut.irq.value)
    again = await setup.open(1)
    await setup.post(again, setup.makers[1].send())
    await setup.host.wait(again, 1)
    await clock.cycles(dut, 100)
    assert int(dut.irq.value) == 1
    assert await setup.host.read("irq_status") == CONTROL_PAGE.pack("irq_status", written=1)
    await setup.host.write("irq_status", CONTROL_PAGE.pack("irq_status", written=1))
    await clock.cycles(dut, 3)
    assert int(dut.irq.value) == 0
