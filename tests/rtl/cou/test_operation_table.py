"""The operation table: pulses of each operation in order, and one completion when all of it has ended."""

import random
from collections import Counter
from functools import partial

import pytest

from firmware_models.abi.encoding import CplKind, Status
from firmware_models.config import Config
from rtl.cou.operation_table import OperationTable
from rtl.cou.shapes import CouShapes
from rtl.interface import CompletionEvent
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, pack
from testbench.parts.operations import Context, Running
from testbench.parts.simulation import Takes, fields, run
from testbench.unit_config import UNIT

CONFIGS = {
    "one context each": UNIT.changed(cou={"n_jobs": 4, "n_contexts": 4}),
    "contexts to spare": UNIT.changed(cou={"n_jobs": 2, "n_contexts": 4}),
}
FAULTS_OF_PEERS = (Status.PEER_ERROR, Status.LENGTH_MISMATCH, Status.BUFFER_ERROR, Status.BAD_ADDRESS)
SLACK = 4
"""Cycles in which an input may take effect."""


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


class Bench:
    """The other parts of a unit, and what the table must make of what they say."""

    def __init__(self, config: Config, rng: random.Random, *, watchdog: int):
        self.rng, self.watchdog = rng, watchdog
        self.n_jobs, self.n_contexts = config.cou.n_jobs, config.cou.n_contexts
        self.shapes = CouShapes(config)
        self.part = OperationTable(shapes=self.shapes, n_contexts=self.n_contexts, n_jobs=self.n_jobs)
        self.running: dict[int, Running] = {}
        self.by_tag: dict[int, tuple[int, Running]] = {}
        self.contexts: list[Context] = []
        self.cycle, self.tag = 0, 0
        self.pending: list[tuple[int, int, Status, int]] = []
        """Faults on their way: cycle of arrival, job, status, detail."""
        self.now: dict[str, object] = {}
        self.counts: Counter[object] = Counter()

    def n_free(self) -> int:
        """Contexts without a pulse."""
        return self.n_contexts - len(self.contexts)

    def active(self) -> set[int]:
        """Jobs that have a context."""
        return {context.job for context in self.contexts}

    def drive(self, put) -> None:
        """All inputs of a cycle."""
        rng, part, now = self.rng, self.part, self.now
        now.clear()
        self._begin()
        self._progress()
        self._fail()
        put(part.i.valid, "operation" in now)
        put(part.i.payload.as_value(), now["operation"].bits if "operation" in now else rng.getrandbits(160))
        put(part.trigger.active, sum(1 << job for job in self.active()))
        put(part.trigger.n_free, self.n_free())
        put(part.trigger.progress, now["progress"])
        put(part.trigger.write_started.valid, "starts" in now)
        put(part.trigger.write_started.payload.job, now.get("starts", rng.getrandbits(2)))
        put(part.i_written.valid, "written" in now)
        job, error = now.get("written", (rng.getrandbits(2), rng.getrandbits(1)))
        put(part.i_written.payload.as_value(), pack(self.shapes.written, {"job": job, "error": error}))
        put(part.fault_pending, bool(self.pending))
        due = self.pending[0] if self.pending and self.pending[0][0] <= self.cycle else None
        put(part.i_fault.valid, due is not None)
        _, job, status, detail = due or (0, rng.getrandbits(2), Status.TIMEOUT, rng.getrandbits(64))
        now["fault"] = due
        put(part.i_fault.payload.as_value(), pack(
            self.shapes.fault, {"job": job, "status": status.value, "detail": detail}))
        put(part.close, sum(1 << job for job in now["close"]))
        put(part.watchdog, self.watchdog)
        now["looks"] = rng.randrange(self.n_jobs)
        put(part.trigger.view.job, now["looks"])

    def _begin(self) -> None:
        """A new operation in a free entry."""
        rng = self.rng
        free = [job for job in range(self.n_jobs) if job not in self.running]
        if not free or rng.random() > 0.15:
            return
        pulse_bytes, self.tag = 64 * rng.randint(1, 4), self.tag + 1
        share = rng.choice((0, 1, pulse_bytes, pulse_bytes + 1, 9 * pulse_bytes, 9 * pulse_bytes - 1))
        job = rng.choice(free)
        values = {
            "job": job, "job_id": rng.getrandbits(8), "vp": rng.getrandbits(11), "tag": self.tag,
            "length": rng.getrandbits(32), "pulse_bytes": pulse_bytes, "terms": rng.getrandbits(16),
            "base_pulse": rng.choice((0xFFFE, rng.getrandbits(16))), "lazy": rng.getrandbits(1),
        }
        blocks = {"cut": rng.getrandbits(1), "bytes": share, "clear": rng.getrandbits(1)}
        bits = pack(self.shapes.operation, {**values, "blocks": pack(self.shapes.blocks, blocks)})
        operation = Running(bits, {**values, **blocks, "bytes": share}, share, since=self.cycle,
                            n_sound=rng.choice((0, 1, 3)) if self.watchdog and rng.random() < 0.25 else 99)
        operation.progress_at = self.cycle
        self.running[job] = operation
        self.by_tag[self.tag] = job, operation
        self.now["operation"] = operation

    def _progress(self) -> None:
        """Contexts go on, but for those that hang: they end when their operation is ended."""
        rng, moved = self.rng, 0
        for context in list(self.contexts):
            operation = self.running[context.job]
            moves = operation.expired_at is not None or not context.hangs
            if moves and rng.random() < 0.7:
                moved |= 1 << context.job
                context.left -= 1
                if context.writes and "starts" not in self.now:
                    context.writes -= 1
                    self.now["starts"] = context.job
                    operation.writes.append(self.cycle + rng.randint(2, 25))
        self.now["progress"] = moved
        for job in range(self.n_jobs):
            if moved >> job & 1:
                self.running[job].progress_at = self.cycle
        ends = [(cycle, job) for job, operation in self.running.items() for cycle in operation.writes[:1]]
        if ends and min(ends)[0] <= self.cycle:
            job = min(ends)[1]
            self.now["written"] = job, int(rng.random() < 0.1)
            self.running[job].writes.pop(0)

    def _fail(self) -> None:
        """Errors that are found while a context is there, on their way for some cycles; jobs that are closed."""
        rng = self.rng
        ends = {context.job for context in self.contexts if context.left < 2}
        if self.contexts and not self.pending and rng.random() < (0.06 if ends else 0.01):
            job = rng.choice(sorted(ends or self.active()))
            status = rng.choice((*FAULTS_OF_PEERS, Status.BAD_TERMS))
            for _ in range(rng.choice((1, 1, 2))):
                detail = rng.choice((0, rng.getrandbits(64)))
                self.pending.append((self.cycle + rng.randint(0, 12), job, status, detail))
        self.now["close"] = {
            job for job, operation in self.running.items()
            if operation.since < self.cycle - 1 and not operation.ended and rng.random() < 0.003
        }

    def step(self, read) -> None:
        """Compares the outputs with what has happened so far, then notes what happens in this cycle."""
        assert read(self.part.i.ready) & read(self.part.i_fault.ready) & read(self.part.i_written.ready)
        for job in range(self.n_jobs):
            self._watch(read, job)
        self._view(read)
        if read(self.starts.port.valid):
            self._offer(fields(self.shapes.start, read(self.starts.port.payload.as_value())))
        if read(self.events.port.valid) and not self.shown:
            self._complete(fields(CompletionEvent, read(self.events.port.payload.as_value())))
        self.shown = read(self.events.port.valid) and not read(self.events.port.ready)
        if read(self.releases.port.valid) and read(self.releases.port.ready):
            job = read(self.releases.port.payload.job)
            operation = self.running.pop(job)
            assert operation.ended
            assert read(self.releases.port.payload.pulses) == operation.n_taken
        self._note(read)
        self.cycle += 1

    def _watch(self, read, job: int) -> None:
        """Time-outs, and the entry as others see it."""
        operation, holds = self.running.get(job), self.part.holds[job]
        expired = read(self.part.trigger.expire) >> job & 1
        if operation is None or operation.since == self.cycle:
            return
        if not operation.ended:
            live = read(holds.live)
            assert live or read(self.events.port.valid), "an operation is gone without its completion"
            if live:
                offered = read(self.starts.port.valid) and read(self.starts.port.payload.job) == job
                values = operation.fields
                assert read(holds.job_id) == values["job_id"]
                assert read(holds.terms) == values["terms"]
                assert read(holds.next_pulse) == (values["base_pulse"] + operation.n_taken + offered) % (1 << 16)
        # Progress counts some cycles later.
        idle = self.cycle - operation.progress_at
        operation.idle = [*operation.idle[1 - SLACK:], idle]
        if not operation.ended and self.watchdog:
            if read(holds.waits):
                assert max(operation.idle) >= self.watchdog // 2
            elif idle > self.watchdog // 2 + SLACK:
                assert operation.ended or not read(holds.live)
        if expired and operation.expired_at is None:
            operation.expired_at = self.cycle
            closed = operation.closed_at is not None and operation.closed_at < self.cycle
            terms = any(status is Status.BAD_TERMS for _, status, _ in operation.errors)
            if not closed and not terms:
                assert self.watchdog, "a time-out without a watchdog"
                assert max(operation.idle) >= self.watchdog, "a time-out too soon"
                operation.errors.append((self.cycle - 1, Status.TIMEOUT, 0))
                self.counts["time-outs"] += 1
        if operation.expired_at is None and not operation.ended and read(holds.live):
            assert not self.watchdog or idle <= self.watchdog + SLACK, "a time-out too late"
            assert operation.closed_at is None or self.cycle <= operation.closed_at, "a closed job goes on"
        if operation.expired_at is not None and not operation.ended and read(holds.live):
            assert expired, "a time-out is over before its operation"

    def _view(self, read) -> None:
        """The look-up of the stage that plans."""
        view, job = self.part.trigger.view, self.now["looks"]
        operation = self.running.get(job)
        assert read(view.fault_pending) == bool(self.pending)
        assert read(view.expired) == read(self.part.trigger.expire) >> job & 1
        if operation is not None and operation.since < self.cycle and not operation.ended:
            assert read(view.operation.as_value()) == operation.bits
            assert read(view.status) in {status.value for status, _ in operation.outcomes(self.cycle)}

    def _offer(self, start: dict[str, int]) -> None:
        """A pulse on offer is the next one of its operation."""
        operation = self.running[start["job"]]
        values, number = operation.fields, operation.n_taken
        offset = number * values["pulse_bytes"]
        assert number < operation.pulses
        assert start == {
            "job": start["job"], "job_id": values["job_id"], "pulse": (values["base_pulse"] + number) % (1 << 16),
            "offset": offset, "bytes": min(values["pulse_bytes"], operation.share - offset), "cut": values["cut"],
            "clear": values["clear"],
        }
        if operation.expired_at is not None and self.new_offer:
            assert self.cycle <= operation.expired_at + 2, "a pulse of an operation that is being ended"

    def _complete(self, event: dict[str, int]) -> None:
        """A completion: of an operation that has nothing more under way."""
        job, operation = self.by_tag.pop(event["tag"])
        values = operation.fields
        assert not operation.ended
        operation.ended = True
        assert job not in self.active(), "a completion before the last context has ended"
        assert not operation.writes, "a completion before the last write has ended"
        assert operation.n_taken == operation.pulses or operation.expired_at is not None, "pulses are missing"
        assert not any(fault[1] == job for fault in self.pending), "a completion before an error that is on its way"
        assert (Status(event.pop("status")), event.pop("detail")) in operation.outcomes(self.cycle)
        assert event == {"vp": values["vp"], "kind": CplKind.COLLECTIVE.value, "job_id": values["job_id"],
                         "bytes": values["length"], "tag": values["tag"]}
        self.counts["completions"] += 1
        self.counts["errors"] += bool(operation.errors)
        self.counts["pulses", operation.pulses > 1] += 1

    def _note(self, read) -> None:
        """Events of this cycle."""
        now = self.now
        if now["fault"]:
            _, job, status, detail = self.pending.pop(0)
            operation = self.running[job]
            operation.errors.append((self.cycle, status, detail))
            if status is Status.BAD_TERMS and read(self.part.holds[job].waits):
                operation.closed_at = operation.closed_at or self.cycle
                self.counts["bad terms"] += 1
        if "written" in now and now["written"][1]:
            self.running[now["written"][0]].errors.append((self.cycle, Status.MEMORY_ERROR, 0))
        for job in now["close"]:
            operation = self.running.get(job)
            if operation is not None and not operation.ended and read(self.part.holds[job].live):
                operation.errors.append((self.cycle, Status.JOB_CLOSED, 0))
                operation.closed_at = operation.closed_at or self.cycle
                self.counts["closed"] += 1
        self.contexts = [context for context in self.contexts if context.left > 0 or context.writes]
        port = self.starts.port
        self.new_offer = not read(port.valid) or bool(read(port.ready))
        if read(port.valid) and read(port.ready):
            job = read(port.payload.job)
            operation = self.running[job]
            if job in self.active():
                without = self.n_jobs - len(self.active())
                assert self.n_free() > without, "the last context is taken from an operation that has none"
            assert self.n_free(), "there is no context"
            self.counts["second contexts"] += job in self.active()
            operation.n_taken += 1
            self.contexts.append(Context(
                job, self.rng.randint(1, 15), self.rng.choice((0, 0, 1, 2)), operation.n_taken > operation.n_sound))

    def run(self, cycles: int) -> None:
        """Runs; in the end nothing has been forgotten."""
        part, rng = self.part, self.rng
        self.starts, self.events = Takes(part.o_start, rng), Takes(part.o_event, rng)
        self.releases = Takes(part.o_release, rng)
        self.shown, self.new_offer = False, True
        run(part, [Inputs(self.drive), self.starts, self.events, self.releases], step=self.step, cycles=cycles, rng=rng)
        for operation in self.running.values():
            assert operation.since > self.cycle - 500, "an operation that does not end"


@pytest.mark.parametrize("name", CONFIGS)
def test_operations(rng: random.Random, name: str) -> None:
    """With a watchdog: some contexts hang."""
    bench = Bench(CONFIGS[name], rng, watchdog=40)
    bench.run(900)
    assert bench.counts["completions"] > 8
    assert bench.counts["errors"] > 4
    assert bench.counts["time-outs"] > 0
    assert min(bench.counts["pulses", several] for several in (False, True)) > 0
    assert (bench.counts["second contexts"] > 10) is (name == "contexts to spare")


def test_without_a_watchdog(rng: random.Random) -> None:
    bench = Bench(CONFIGS["contexts to spare"], rng, watchdog=0)
    bench.run(400)
    assert bench.counts["completions"] > 2


def test_no_pulse_after_a_time_out(rng: random.Random) -> None:
    """An operation has one pulse of five when its watchdog runs out, and contexts are free again."""
    cou, shapes, ends = CONFIGS["contexts to spare"].cou, CouShapes(CONFIGS["contexts to spare"]), []
    part = OperationTable(shapes=shapes, n_contexts=cou.n_contexts, n_jobs=cou.n_jobs)
    bits = pack(shapes.operation, {"pulse_bytes": 64, "job_id": 7, "blocks": pack(shapes.blocks, {"bytes": 300})})
    state = {"cycle": 0, "taken": 0, "expired": 0}

    def drive(put) -> None:
        put(part.i.valid, state["cycle"] == 3)
        put(part.i.payload.as_value(), bits)
        put(part.trigger.n_free, 0 if state["taken"] and state["cycle"] < 80 else 3)
        put(part.trigger.active, bool(state["taken"]) and state["cycle"] < 120)
        put(part.o_start.ready, 1)
        put(part.watchdog, 30)

    def step(read) -> None:
        state["taken"] += read(part.o_start.valid)
        state["expired"] = state["expired"] or read(part.trigger.expire)
        if read(part.o_event.valid) and read(part.o_release.valid):
            ends.append((state["cycle"], read(part.o_event.payload.status), read(part.o_release.payload.pulses)))
        state["cycle"] += 1

    run(part, [Inputs(drive)], step=step, rng=rng, cycles=130)
    assert state["taken"] == 1
    assert state["expired"]
    assert ends[0][0] > 120
    assert ends[0][1:] == (Status.TIMEOUT.value, 1)


FAULTS = {
    "pulses that are too long by one": ("whole = rest > chosen.pulse_bytes", "whole = rest >= chosen.pulse_bytes"),
    "the last context goes to whoever comes": ("spare = seen.n_free > n_without", "spare = seen.n_free >= n_without"),
    "a write that is forgotten": ("~seen.active[j] & (writes == 0)", "~seen.active[j]"),
    "a later error": ("(status[j] == Status.OK) | (status[j] == fault.status) & ~detailed", "1"),
    "an error on its way": (" | (settle != 0) | seen.fault_pending", " | (settle != 0)"),
    "half of a watchdog": ("(idle_cycles >= self.watchdog)", "(idle_cycles >= self.watchdog >> 1)"),
    "pulses after a time-out": ("with m.Elif(live & late):\n            m.d.sync += [expired.eq(1), started.eq(1)]",
                                "with m.Elif(live & late):\n            m.d.sync += expired.eq(1)"),
    "an operation that begins expired": ("started.eq(0), expired.eq(0),", "started.eq(0),"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "OperationTable", changed(OperationTable, *FAULTS[fault]))
    name = "one context each" if "whoever" in fault else "contexts to spare"
    rng = random.Random(1)
    test = partial(test_no_pulse_after_a_time_out, rng) if "time-out" in fault else partial(test_operations, rng, name)
    with pytest.raises(AssertionError):
        test()
