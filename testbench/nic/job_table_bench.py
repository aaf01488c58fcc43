"""Bench of the job table: units that hold jobs as units do, and everybody asking at once."""

from collections import Counter
from itertools import count

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import JobOrderKind
from rtl.interface import JobReportKind
from testbench.clock import cycles
from testbench.nic.job_players import Table
from testbench.runner import parameters, report, rng


@cocotb.test()
async def one_job_one_unit(dut: SimHandleBase) -> None:
    """Packets, sequences and credits of few jobs, most of them touched by several at once."""
    table = Table(dut)
    await table.start(max_cycles=400_000)
    numbers = rng("touches")
    *jobs, nobody = numbers.sample(range(256), 2 * table.n_units + 4)
    software, peers = table.software, table.peers
    cocotb.start_soon(peers.count())
    for touch in count():
        # An order of each kind is a matter of chance with few jobs: on until all have had their effect.
        if touch >= parameters()["touches"] and min(
            software.n_closed, software.n_opened, software.n_refused, software.n_barred, peers.uncovered, peers.shared,
            peers.duplicates,
        ) > 0:
            break
        job = numbers.choice(jobs)
        for asker in numbers.sample((table.packet, table.sequence, table.credit), numbers.randint(1, 3)):
            if asker is table.credit:
                table.look(job)
            elif asker is table.packet:
                peers.ask(job)
            elif (job not in asker.waiting and not table.software.waits(job)):
                asker.ask(job)
        if numbers.random() < 0.2 and not table.software.waits(job) and job not in table.sequence.waiting:
            # Most are opened: few jobs would be left else.
            kinds = (
                JobOrderKind.CLOSE, JobOrderKind.LOOK, JobOrderKind.REFUSE, *[JobOrderKind.OPEN] * 4,
            )
            table.software.order(job, numbers.choice(kinds))
        if numbers.random() < 0.1 and peers.idle[job]:
            peers.idle[job] -= 1
            peers.rights[job] -= 1
            peers.free += 1
            peers.returned += 1
            cocotb.start_soon(table.give_back(job))
        if numbers.random() < 0.02:
            peers.claim(nobody)
            peers.nobodys += 1
            report_ = {"kind": JobReportKind.RETURNED.value, "job_id": nobody, "owing": 0, "pulses": 0}
            table.reports[numbers.randrange(table.n_units)].append(report_)
        for k in range(table.n_units):
            getattr(dut, f"levels__{k}").value = numbers.randrange(1 << 4)
        await cycles(dut, numbers.choice((1, 1, 2, 10, 60)))
    await table.settle()
    assert (peers.returned, peers.nobodys) == (0, 0), "shared credits that return are not known, or nobody's are"
    assert table.jobs() == [0] * table.n_units, "jobs at rest were not let go of"
    for job in jobs:
        table.software.order(job, JobOrderKind.OPEN)
        await cycles(dut, 40)
        left = {name: table.software.last[name] for name in ("closed", "refused", "busy", "owing", "kept")}
        assert not any(left.values()), f"job {job} has {left}"
    report(let_in=table.let_in, refused=table.refused, moved=table.moved, found=table.found,
           closed=software.n_closed, opened=software.n_opened, not_opened=software.n_refused,
           barred=software.n_barred, uncovered=peers.uncovered, covered=peers.covered, shared=peers.shared,
           duplicates=peers.duplicates)


@cocotb.test()
async def what_is_lost_is_written_off(dut: SimHandleBase) -> None:
    """Of a closed job alone; then it is nowhere, and opens. Another one keeps what it has."""
    table = Table(dut)
    await table.start(max_cycles=40_000)
    software, lost, kept = table.software, 17, 200
    table.hoards = {lost, kept}
    await cycles(dut, 300)
    for turn in range(3):
        # In the end more than there are credits, had those of the first turns not returned.
        for _ in range(turn + 2):
            table.peers.ask(lost)
        table.peers.ask(kept)
        await cycles(dut, 200)
        for kind, closed in (
            (JobOrderKind.WRITE_OFF, 0), (JobOrderKind.CLOSE, 1), (JobOrderKind.OPEN, 1), (JobOrderKind.WRITE_OFF, 1),
            (JobOrderKind.OPEN, 0),
        ):
            software.order(lost, kind)
            while software.waits(lost):
                await RisingEdge(dut.clk)
            assert software.last["closed"] == closed, kind
            assert software.n_written_off == turn + (kind is JobOrderKind.WRITE_OFF and bool(closed)) \
                + (kind is JobOrderKind.OPEN and not closed), kind
        assert sum(table.jobs()) == 1
        assert table.units_of(kept)


@cocotb.test()
async def goes_to_the_least_load(dut: SimHandleBase) -> None:
    """As long as n_units x m jobs are there at most, no unit has more than m; ties go to the emptiest buffer."""
    table = Table(dut)
    await table.start(max_cycles=400_000)
    placed: dict[int, int] = {}
    table.packet.answered = lambda job, answer: placed.__setitem__(job, answer["unit"])
    numbers = rng("load")
    n, m = table.n_units, 4
    jobs = numbers.sample(range(256), n * m + 1)
    levels = numbers.sample(range(16), n)
    for k, level in enumerate(levels):
        getattr(dut, f"levels__{k}").value = level
    await cycles(dut, 300)
    table.packet.ask(jobs[0])
    while len(placed) < 1:
        await RisingEdge(dut.clk)
    assert placed[jobs[0]] == levels.index(min(levels))
    # One after the other without a pause, and some of them gone again: what is there is never more than n x m.
    alive = [jobs[0]]
    for job in jobs[1:] * 4:
        if job in alive:
            continue
        if len(alive) == n * m:
            for victim in numbers.sample(alive, numbers.randint(1, len(alive))):
                alive.remove(victim)
                unit = placed.pop(victim)
                await table.report(unit, JobReportKind.PACKET_LEFT, victim)
            await cycles(dut, 4)
        table.packet.ask(job)
        alive.append(job)
        if numbers.random() < 0.3 or len(alive) == n * m:
            while len(placed) < len(alive):
                await RisingEdge(dut.clk)
            assert max(Counter(placed.values()).values()) <= m, placed
            await cycles(dut, 2)
            assert table.jobs() == [list(placed.values()).count(k) for k in range(n)]


@cocotb.test()
async def reset_clears_it(dut: SimHandleBase) -> None:
    """A reset invalidates every entry."""
    table = Table(dut)
    await table.start(max_cycles=100_000)
    units: list[int] = []
    for asker in (table.packet, table.sequence, table.credit):
        asker.answered = lambda job, answer: units.append(answer["ok"])
    for job in range(8):
        table.packet.ask(job)
    while len(units) < 8:
        await RisingEdge(dut.clk)
    dut.rst.value = 1
    await cycles(dut, 2)
    dut.rst.value = 0
    await cycles(dut, 2)
    units.clear()
    for job in range(8):
        table.credit.ask(job)
    while len(units) < 8:
        await RisingEdge(dut.clk)
    assert not any(units), "a job from before the reset"
    assert table.jobs() == [0] * table.n_units
