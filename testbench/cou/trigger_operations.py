"""Operations around the trigger: they are given out, their pulses offered, and what is left of them taken away.

`bench` is :class:`testbench.cou.trigger_bench.Bench`, which stands on this module.
"""

from typing import Any

from testbench import clock
from testbench.cou.trigger_model import Operation, Pulse, random_operation
from testbench.runner import parameters

JOBS, CONTEXTS, NODE = 2, 4, 77
QUIET = 900
"""Cycles without progress of an operation after which only a time-out can end it."""


async def serve(bench: Any, job: int) -> None:
    """Operations of one table entry, one after the other."""
    base = bench.rng.randrange(1 << 16)
    for number in range(parameters()["operations"]):
        doomed = bench.early or bench.rng.random() < 0.3
        operation = random_operation(bench.rng, job=job, node=NODE, base=base, doomed=doomed)
        while any(other is not None and other.job_id == operation.job_id for other in bench.jobs):
            operation = random_operation(bench.rng, job=job, node=NODE, base=base, doomed=doomed)
        base = (base + len(operation.pulses)) % (1 << 16)
        await _execute(bench, operation, number)


async def _execute(bench: Any, operation: Operation, number: int) -> None:
    job = operation.job
    bench.writes.append(("operation", job, operation.fields()))
    for place, desc in enumerate(operation.descriptors):
        bench.writes.append(("descriptor", {"position": place, "job": job}, desc))
    for pulse in operation.pulses:
        for packet in pulse.packets:
            if packet.comes:
                bench.later(lambda packet=packet: bench.buffer.come(packet), most=bench.rng.choice((20, 300)))
    while any(name != "header" and name != "arrival" for name, _, _ in bench.writes):
        await clock.cycles(bench.dut, 1)
    await clock.cycles(bench.dut, 2)
    bench.jobs[job], bench.last_change[job] = operation, bench.now
    bench.waiting[job] = list(operation.pulses)
    give_up = bench.now + bench.rng.randrange(400) if bench.early else None
    while not all(pulse.ended for pulse in operation.pulses):
        await clock.cycles(bench.dut, 5)
        quiet = bench.now - bench.last_change[job] > QUIET and not _contexts_move(bench, job)
        if not operation.expired and (quiet and operation.doomed if give_up is None else bench.now >= give_up):
            operation.expired = True
            bench.credits.forget(operation.job_id)
            bench.expire |= 1 << job
            bench.dut.expire.value = bench.expire
            while bench.offering == job:
                await clock.cycles(bench.dut, 1)
            for pulse in bench.waiting[job]:
                pulse.ended = True
            bench.waiting[job].clear()
    await clock.cycles(bench.dut, 60)
    assert not int(bench.dut.active.value) >> job & 1, "a context is still in use"
    while int(bench.dut.o_fault__valid.value):
        await clock.cycles(bench.dut, 5)
    # One that has done nothing yet can only have been given up, and that is reported.
    silent = [p for p in operation.pulses if p.context is not None and p.untouched and p not in bench.given_up]
    assert not silent, "given up in silence"
    # A check may fail before the pass that it is for is seen, so reports are compared at the end.
    assert bench.early or sorted(operation.expected) == sorted(operation.received), "reports"
    ended = bench.written[job]
    assert bench.early or operation.expired or ended[0] == ended[1], f"results to be written {ended}"
    bench.written[job] = [0, 0]
    bench.counts["given_up" if operation.expired else "ended"] += 1
    # Packets left over from the operation are freed with it, once all of them have arrived.
    while any(p.comes and p.key not in bench.buffer.slots and p.key not in _gone(pulse) for pulse in operation.pulses
              for p in pulse.packets):
        await clock.cycles(bench.dut, 5)
    for pulse in operation.pulses:
        for packet in pulse.packets[pulse.consumed:]:
            if packet.comes:
                bench.buffer.free(packet.key)
    while bench.sources["i_arrival"].pending:
        await clock.cycles(bench.dut, 1)
    while any(p.key in bench.buffer.slots for pulse in operation.pulses for p in pulse.packets):
        await clock.cycles(bench.dut, 1)
    bench.expire &= ~(1 << job)
    bench.dut.expire.value = bench.expire
    await clock.cycles(bench.dut, 3)
    bench.jobs[job] = None


def _contexts_move(bench: Any, job: int) -> bool:
    """True if something is under way for a pulse of the job."""
    return (bool(bench.waiting[job]) and len(bench.contexts) < CONTEXTS) or any(
        pulse.running or pulse.loading for pulse in bench.pulses() if pulse.operation.job == job
    ) or any(source.pending for source in bench.sources.values())


def _gone(pulse: Pulse) -> set[tuple[int, ...]]:
    """Keys of packets that a pulse has consumed."""
    return {packet.key for packet in pulse.packets[:pulse.consumed]}


async def start_pulses(bench: Any) -> None:
    """Offers pulses while contexts are free, of any job, each job's in ascending order."""
    bench.waiting: list[list[Pulse]] = [[] for _ in range(JOBS)]
    bench.offering: int | None = None
    while True:
        await clock.cycles(bench.dut, 1)
        jobs = [job for job in range(JOBS) if bench.waiting[job]]
        if not jobs or not int(bench.dut.n_free.value):
            continue
        bench.offering = bench.rng.choice(jobs)
        pulse = bench.waiting[bench.offering].pop(0)
        operation = pulse.operation
        await bench.sources["i_start"].send({
            "job": operation.job, "job_id": operation.job_id, "pulse": pulse.number,
            "offset": pulse.index * operation.message.step(), "bytes": operation.message.pulses()[pulse.index],
            "cut": int(operation.message.cut), "clear": int(operation.clear),
        })
        await clock.cycles(bench.dut, 4)
        bench.offering = None
