"""The operations in progress: cuts them into pulses, watches over them, and ends each in one completion."""

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import CplKind, Status
from rtl.cou.shapes import CouShapes
from rtl.cou.trigger_signatures import OperationsSignature
from rtl.interface import STATUS_BITS, CompletionEvent
from rtl.kit.round_robin import RoundRobin


def _reports(shapes: CouShapes, *, n_contexts: int, n_jobs: int) -> data.StructLayout:
    """Reports of the trigger and of those who find errors."""
    return data.StructLayout({
        "active": n_jobs, "n_free": range(n_contexts + 1), "progress": n_jobs, "fault_pending": 1,
        "write_started": 1, "write_job": shapes.job,
    })


class _Table:
    """Registers of all operations: arrays of words, and words with a bit for each.

    Members
    -------
    operation, offset, rest, pulses, status, detail : Array
        The operation; where its next pulse begins and how much of a share is left; pulses that have begun; its first
        error.
    live, started, expired, finished : Signal(n_jobs)
        There is one; all its pulses have begun; a time-out ends it; nothing of it is under way any more.
    """

    def __init__(self, shapes: CouShapes, n_jobs: int):
        self.operation, self.offset, self.rest, self.pulses, self.status, self.detail = (
            Array(Signal(shape, name=f"{name}_{j}") for j in range(n_jobs)) for name, shape in (
                ("operation", shapes.operation), ("offset", 32), ("rest", 32), ("pulses", shapes.formats.pulse_bits),
                ("status", STATUS_BITS), ("detail", 64),
            )
        )
        self.live, self.started, self.expired, self.finished = (
            Signal(n_jobs, name=name) for name in ("live", "started", "expired", "finished")
        )


class OperationTable(wiring.Component):
    """Registers of the operations of one unit.

    An operation offers its pulses one by one, in order, as contexts become free. A pulse takes its share of every
    block of the message, so there are as many as the first block has shares. The last free contexts are kept for
    operations that have none: otherwise two nodes could each fill their contexts with the job that the other one
    has no room for. When all pulses are through and host memory has acknowledged all writes, the completion is
    posted; the first error that was reported is its status.

    Timing: an operation offers a pulse five cycles after the last one was offered, if that was taken at once. Inputs
    from the trigger take effect a cycle later.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    n_contexts : int
        Contexts of the unit, from 1 to as many as `shapes` can number.
    n_jobs : int
        Operations of the unit, from 1 to as many as `shapes` can number.

    Members
    -------
    i : ``In(stream.Signature(operation))``
        New operations.
    o_start : ``Out(stream.Signature(start))``
        The next pulse to be given a context.
    trigger : ``In(OperationsSignature)``
        The trigger, which has the pulses.
    i_fault : ``In(stream.Signature(fault))``, fault_pending : ``In(1)``
        Errors; high while one is on its way: no operation ends meanwhile.
    i_written : ``In(stream.Signature({job, error}))``
        A write of a result to host memory has ended.
    holds : ``Out``, close : ``In(n_jobs)``
        The operations that there are; ends some as a time-out does, in JOB_CLOSED.
    watchdog : ``In(32)``
        Cycles without progress after which a time-out ends an operation; 0: never.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Completions.
    o_release : ``Out(stream.Signature({job, pulses}))``
        To the sequence store; `pulses` that the operation had.
    """

    def __init__(self, *, shapes: CouShapes, n_contexts: int, n_jobs: int):
        shapes.check(n_contexts=n_contexts, n_jobs=n_jobs)
        self.shapes, self.n_contexts, self.n_jobs = shapes, n_contexts, n_jobs
        super().__init__({
            "i": In(stream.Signature(shapes.operation)),
            "o_start": Out(stream.Signature(shapes.start)),
            "trigger": In(OperationsSignature(shapes, n_contexts=n_contexts, n_jobs=n_jobs)),
            "i_fault": In(stream.Signature(shapes.fault)), "fault_pending": In(1),
            "i_written": In(stream.Signature(shapes.written)),
            "holds": Out(data.ArrayLayout(shapes.holds, n_jobs)),
            "close": In(n_jobs),
            "watchdog": In(32),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "o_release": Out(stream.Signature(shapes.released)),
        })

    def elaborate(self, platform):
        m = Module()
        n_jobs = self.n_jobs
        table, view = _Table(self.shapes, n_jobs), self.trigger.view
        # Reports may be noted a cycle later: `active`, which ends an operation, comes as late.
        reports = _reports(self.shapes, n_contexts=self.n_contexts, n_jobs=n_jobs)
        seen, start = Signal(reports), self.trigger.write_started
        m.d.sync += [
            seen.active.eq(self.trigger.active), seen.n_free.eq(self.trigger.n_free),
            seen.progress.eq(self.trigger.progress), seen.fault_pending.eq(self.fault_pending),
            seen.write_started.eq(start.valid), seen.write_job.eq(start.payload.job),
        ]
        m.d.comb += [
            self.i.ready.eq(1), self.i_written.ready.eq(1), self.i_fault.ready.eq(1),
            self.trigger.expire.eq(table.expired), view.operation.eq(table.operation[view.job]),
            view.expired.eq(table.expired.bit_select(view.job, 1)), view.status.eq(table.status[view.job]),
            view.fault_pending.eq(self.fault_pending),
        ]
        for job in range(n_jobs):
            self._keep(m, table, seen, job)
        picked, settle = self._offer_pulses(m, table, seen)
        self._end_operations(m, table, waits=self.o_start.valid | picked | (settle != 0) | seen.fault_pending)

        return m

    def _keep(self, m: Module, table: _Table, seen: data.View, j: int) -> None:
        """One operation: its writes, its watchdog and its errors, of which the first one stays."""
        status, detail = table.status, table.detail
        live, started, expired = table.live[j], table.started[j], table.expired[j]
        writes = Signal(16, name=f"writes_{j}")
        idle_cycles = Signal(32, name=f"idle_cycles_{j}")
        detailed = Signal(name=f"detailed_{j}")
        written = self.i_written.valid & (self.i_written.payload.job == j)
        begins_write = seen.write_started & (seen.write_job == j)
        m.d.sync += writes.eq(writes + begins_write - written)

        # An expired operation starts no more pulses.
        with m.If(live & (self.watchdog != 0)):
            m.d.sync += idle_cycles.eq(idle_cycles + 1)
        # The comparison is a cycle old: it does not count if there was progress in that cycle.
        late = Signal(name=f"late_{j}")
        m.d.sync += late.eq(live & (self.watchdog != 0) & (idle_cycles >= self.watchdog) & ~seen.progress[j])
        with m.If(seen.progress[j]):
            m.d.sync += idle_cycles.eq(0)
        with m.Elif(live & late):
            m.d.sync += [expired.eq(1), started.eq(1)]
            with m.If(status[j] == Status.OK):
                m.d.sync += status[j].eq(Status.TIMEOUT)
        with m.If(live & self.close[j]):
            m.d.sync += [expired.eq(1), started.eq(1)]
            with m.If(status[j] == Status.OK):
                m.d.sync += status[j].eq(Status.JOB_CLOSED)
        holds, operation = self.holds[j], table.operation[j]
        # Registered: a comparison of counters, for those who have time.
        waits = Signal(name=f"waits_{j}")
        m.d.sync += waits.eq(live & (self.watchdog != 0) & (idle_cycles > self.watchdog >> 1))
        m.d.comb += [
            holds.live.eq(live), holds.job_id.eq(operation.job_id), holds.waits.eq(waits),
            holds.terms.eq(operation.terms), holds.next_pulse.eq(operation.base_pulse + table.pulses[j]),
        ]
        with m.If(written & self.i_written.payload.error & (status[j] == Status.OK)):
            m.d.sync += status[j].eq(Status.MEMORY_ERROR)
        fault = self.i_fault.payload
        with m.If(self.i_fault.valid & (fault.job == j)):
            with m.If((status[j] == Status.OK) | (status[j] == fault.status) & ~detailed):
                m.d.sync += [status[j].eq(fault.status), detail[j].eq(fault.detail), detailed.eq(fault.detail != 0)]
            # It would wait in vain: what came instead of its packet is of another operation.
            with m.If((fault.status == Status.BAD_TERMS) & waits):
                m.d.sync += [expired.eq(1), started.eq(1)]

        with m.If(self.i.valid & (self.i.payload.job == j)):
            m.d.sync += [
                table.operation[j].eq(self.i.payload), table.offset[j].eq(0), table.pulses[j].eq(0),
                table.rest[j].eq(self.i.payload.blocks.bytes),
                status[j].eq(Status.OK), detail[j].eq(0), detailed.eq(0), live.eq(1), started.eq(0), expired.eq(0),
                idle_cycles.eq(0),
            ]
        m.d.sync += table.finished[j].eq(live & started & ~seen.active[j] & (writes == 0))

    def _offer_pulses(self, m: Module, table: _Table, seen: data.View) -> tuple[Signal, Signal]:
        """Offers pulses round robin over the operations. Returns a flag that one is about to be offered, and the
        cycles until the reports include the last one.

        The offer is registered, so an operation rests for a cycle or two between two of its pulses, until `active` and
        `n_free` include the last one.
        """
        n_jobs = self.n_jobs
        without = Cat(~seen.active[j] for j in range(n_jobs))
        n_without = sum(without[j] for j in range(n_jobs))
        spare = seen.n_free > n_without
        start = self.o_start
        settle = Signal(2)
        # The choice takes a cycle of its own. It stays valid, because an operation with a pulse left to start has not
        # ended.
        picked, job = Signal(), Signal(self.shapes.job, name="picked_job")
        m.submodules.turn = turn = RoundRobin(n=n_jobs)
        m.d.comb += [
            turn.requests.eq(Mux(
                start.valid | picked | (settle != 0) | (seen.n_free == 0), 0,
                table.live & ~table.started & (without | spare.replicate(n_jobs)),
            )),
            turn.advance.eq(1),
        ]
        with m.If(settle != 0):
            m.d.sync += settle.eq(settle - 1)
        with m.If(start.valid & start.ready):
            m.d.sync += [start.valid.eq(0), settle.eq(2)]
        # An operation that comes while no other wants a context is chosen at once.
        fresh = self.i.valid & ~start.valid & ~picked & (settle == 0) & (seen.n_free != 0) & ~turn.grant.any()
        m.d.sync += [picked.eq(turn.grant.any() | fresh), job.eq(Mux(fresh, self.i.payload.job, turn.index))]
        with m.If(picked):
            chosen, offset, rest = table.operation[job], table.offset[job], table.rest[job]
            whole = rest > chosen.pulse_bytes
            m.d.sync += [
                start.valid.eq(1), start.payload.job.eq(job), start.payload.job_id.eq(chosen.job_id),
                start.payload.cut.eq(chosen.blocks.cut), start.payload.clear.eq(chosen.blocks.clear),
                start.payload.offset.eq(offset),
                start.payload.pulse.eq(chosen.base_pulse + table.pulses[job]),
                start.payload.bytes.eq(Mux(whole, chosen.pulse_bytes, rest)),
                offset.eq(offset + chosen.pulse_bytes), rest.eq(rest - chosen.pulse_bytes),
                table.pulses[job].eq(table.pulses[job] + 1),
            ]
            with m.If(~whole):
                m.d.sync += table.started.bit_select(job, 1).eq(1)
        return picked, settle

    def _end_operations(self, m: Module, table: _Table, *, waits: Value) -> None:
        """Completions leave one at a time; the entry is released with them.

        An offer that is still out belongs to an operation that has a context to come. That one has finished may be
        known a cycle late: it stays so, and none leaves in the cycle after it has left.
        """
        event, release = self.o_event, self.o_release
        m.submodules.ending = ending = RoundRobin(n=self.n_jobs)
        job = ending.index
        m.d.comb += [
            ending.requests.eq(Mux(event.valid | release.valid | waits, 0, table.finished)),
            ending.advance.eq(1),
        ]
        with m.If(event.valid & event.ready):
            m.d.sync += event.valid.eq(0)
        with m.If(release.valid & release.ready):
            m.d.sync += release.valid.eq(0)
        with m.If(ending.grant.any()):
            done = table.operation[job]
            m.d.sync += [
                event.valid.eq(1), event.payload.vp.eq(done.vp), event.payload.status.eq(table.status[job]),
                event.payload.kind.eq(CplKind.COLLECTIVE), event.payload.job_id.eq(done.job_id),
                event.payload.bytes.eq(done.length), event.payload.tag.eq(done.tag),
                event.payload.detail.eq(table.detail[job]),
                release.valid.eq(1), release.payload.job.eq(job), release.payload.pulses.eq(table.pulses[job]),
                table.live.bit_select(job, 1).eq(0),
            ]
