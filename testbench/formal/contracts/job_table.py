"""The job table: one job, one unit, for as long as anything of the job is there."""

from amaranth import Module, Signal

from testbench.formal.contract import Contract

N_UNITS = 2
N_PACKETS = 2
IN_FLIGHT = 2
"""Questions of one asker that can be without an answer: one in the table, and one whose answer waits."""
QUIET = 6
"""Cycles after which everything that happened has had its effect."""


class JobTableContract(Contract):
    """:class:`~rtl.nic.job_table.JobTable`: for one job, any one, beside others that do whatever they like.

    The contract keeps books of what the answers have brought to each unit: packets, an operation, credits that are out.
    Units report of this job only what they have; of the other job they report anything.
    """

    def build(self, m: Module) -> None:
        from firmware_models.abi.encoding import JobOrderKind
        from rtl.interface import JobReportKind, JobShapes
        from rtl.nic.job_table import JobTable

        # Two jobs, two units, numbers of pulses modulo two: no register that says nothing.
        shapes = JobShapes(job_bits=1, pulse_bits=1, unit_bits=1)
        m.submodules.unit = unit = JobTable(
            n_units=N_UNITS, n_packets=N_PACKETS, level_bits=1, n_jobs=2, n_credits=N_PACKETS, pool=0,
            shapes=shapes,
        )
        job = self.constant(1, "job")
        for k in range(N_UNITS):
            m.d.comb += unit.levels[k].eq(self.free(1, f"level_{k}"))
        # Which packets are let in is another contract's: here it may be any.
        m.d.comb += [unit.given_valid.eq(self.free(1, "given")), unit.given.job_id.eq(self.free(1, "given_job"))]

        def asker(port, name):
            """Questions taken, answers taken that are the job's, and how many of its questions are on their way."""
            asked = self.offered(port.query, name)
            m.d.comb += port.answer.ready.eq(self.free(1, f"{name}_answer_ready"))
            answered = port.answer.valid & port.answer.ready
            # Answers come in order: whose they are is remembered in a row.
            row, level = Signal(IN_FLIGHT, name=f"{name}_row"), Signal(2, name=f"{name}_level")
            mine = port.query.payload.job_id == job
            shorter, rest = Signal(2, name=f"{name}_shorter"), Signal(IN_FLIGHT, name=f"{name}_rest")
            m.d.comb += [shorter.eq(level - answered), rest.eq(row >> answered)]
            m.d.sync += [level.eq(shorter + asked), row.eq(rest | ((asked & mine) << shorter))]
            self.check(~port.answer.valid | (level != 0))
            self.check(level <= IN_FLIGHT)
            waiting = sum(row[place] & (level > place) for place in range(IN_FLIGHT))
            return asked & mine, answered & row[0], waiting

        ask_packet, packet, packets_asked = asker(unit.packet, "packet")
        ask_sequence, sequence, sequences_asked = asker(unit.sequence, "sequence")
        ask_credit, credit, _ = asker(unit.credit, "credit")
        # Software's orders about the job, not beside a question of the scheduler: what comes first would be open.
        ask_order, order, standing = self.offered(unit.order, "order"), unit.order, unit.standing
        m.d.comb += standing.ready.eq(self.free(1, "standing_ready"))
        mine, closed, ordering = order.payload.job_id == job, Signal(), Signal()
        stands = standing.valid & standing.ready & (standing.payload.job_id == job)
        m.d.sync += ordering.eq((ordering | ask_order & mine) & ~stands)
        self.assume(~order.valid | (order.payload.kind <= max(JobOrderKind)))
        self.assume(~(order.valid & mine & ordering))
        seeking = unit.sequence.query.valid & (unit.sequence.query.payload.job_id == job)
        self.assume(~((order.valid & mine | ordering) & (seeking | (sequences_asked != 0))))
        # Losses are written off when nothing else of the job is in flight, and nothing arrives beside the order.
        quiet, writing, stood = Signal(range(QUIET + 1)), Signal(), Signal()
        writes = order.valid & mine & (order.payload.kind == JobOrderKind.WRITE_OFF)
        written_off = stands & standing.payload.written_off
        m.d.sync += [writing.eq((writing | ask_order & writes) & ~stands), stood.eq(writes & ~order.ready)]
        self.assume(~writes | (quiet == QUIET) | stood)
        self.assume(~(writes | writing) | ~(unit.packet.query.valid & (unit.packet.query.payload.job_id == job)))
        for port in unit.reports:
            self.assume(~(writes | writing) | ~(port.valid & (port.payload.job_id == job)))
        self.check(~written_off | (standing.payload.kept == 0) & ~standing.payload.owing)
        with m.If(stands):
            m.d.sync += closed.eq(standing.payload.closed)
            self.check(standing.payload.changed == standing.payload.closed ^ closed)

        held = [Signal(2, name=f"held_{k}") for k in range(N_UNITS)]
        busy, owing = Signal(N_UNITS), Signal(N_UNITS)
        pulses = Signal(1)
        there = Signal(N_UNITS)
        ended, any_report = Signal(N_UNITS), Signal()
        for k, port in enumerate(unit.reports):
            report = port.payload
            taken = self.offered(port, f"report_{k}")
            mine = port.valid & (report.job_id == job)
            is_kind = {kind: Signal(name=f"{kind.name}_{k}") for kind in JobReportKind}
            for kind, signal in is_kind.items():
                m.d.comb += signal.eq(mine & (report.kind == kind))
            self.assume(~port.valid | (report.kind.as_value() < len(JobReportKind)))
            goes = Signal(name=f"goes_{k}")
            m.d.comb += goes.eq(
                is_kind[JobReportKind.PACKET_LEFT] | is_kind[JobReportKind.DUPLICATE]
                | is_kind[JobReportKind.SHARED_DUPLICATE]
            )
            self.assume(~goes | (held[k] != 0))
            self.assume(~is_kind[JobReportKind.ENDED] | busy[k])
            self.assume(~is_kind[JobReportKind.SETTLED] | owing[k])
            came = packet & unit.packet.answer.payload.ok & (unit.packet.answer.payload.unit == k)
            begun = sequence & unit.sequence.answer.payload.ok & (unit.sequence.answer.payload.unit == k)
            m.d.sync += held[k].eq(held[k] + came - (taken & goes))
            m.d.comb += ended[k].eq(taken & is_kind[JobReportKind.ENDED])
            self.check(~(written_off & there[k]) | closed & ~busy[k] & (standing.payload.unit == k))
            self.check(~(written_off & there[k]) | (standing.payload.lost == held[k]))
            with m.If(written_off):
                m.d.sync += [held[k].eq(0), owing[k].eq(0)]
            with m.If(begun):
                m.d.sync += busy[k].eq(1)
            with m.Elif(ended[k]):
                m.d.sync += [busy[k].eq(0), owing[k].eq(report.owing), pulses.eq(pulses + report.pulses)]
            with m.Elif(taken & is_kind[JobReportKind.SETTLED]):
                m.d.sync += owing[k].eq(0)
            m.d.comb += there[k].eq((held[k] != 0) | busy[k] | owing[k])
            with m.If(taken):
                m.d.comb += any_report.eq(1)
        # The units have room for so many packets of the job, those on their way included.
        room = held[0] + held[1] + packets_asked < N_PACKETS
        self.assume(~(unit.packet.query.valid & (unit.packet.query.payload.job_id == job)) | room)

        # Never two units for one job, and never one that the job has been taken from while it was busy.
        self.check(~there.all())
        for k in range(N_UNITS):
            self.check(
                ~(packet & unit.packet.answer.payload.ok & there[1 - k]) | (unit.packet.answer.payload.unit != k)
            )
            self.check(
                ~(sequence & unit.sequence.answer.payload.ok & there[1 - k])
                | (unit.sequence.answer.payload.unit != k)
            )
        # No operation of a closed job; it is opened without one, and then counts pulses from 0.
        self.check(~(sequence & unit.sequence.answer.payload.ok) | ~closed)
        self.check(~(sequence & ~unit.sequence.answer.payload.ok) | (unit.sequence.answer.payload.closed == closed))
        opened = stands & standing.payload.changed & ~standing.payload.closed
        self.check(~opened | ~busy.any() & ~owing.any())
        with m.If(opened):
            m.d.sync += pulses.eq(0)
        # One operation at a time, and its pulses go on where those before ended.
        let_in = sequence & unit.sequence.answer.payload.ok
        self.check(~let_in | ~busy.any())
        self.check(~let_in | (unit.sequence.answer.payload.base_pulse == pulses))
        # Whoever looks for it while it is there finds it.
        sought, place = Signal(), Signal(N_UNITS)
        with m.If(ask_credit):
            m.d.sync += [sought.eq(there.any() & ~writes & ~writing), place.eq(there)]
        with m.Elif(writes | writing):
            m.d.sync += sought.eq(0)
        self.check(~(credit & sought) | unit.credit.answer.payload.ok)
        for k in range(N_UNITS):
            self.check(~(credit & sought & place[k]) | (unit.credit.answer.payload.unit == k))

        # A job at rest is released. The counts show it, once nothing has happened for a while and the other job has
        # never been seen.
        other = Signal()
        for port in (unit.order, unit.packet.query, unit.sequence.query, *unit.reports):
            with m.If(port.valid & (port.payload.job_id != job)):
                m.d.sync += other.eq(1)
        happens = order.valid | ask_packet | ask_sequence | any_report | (packets_asked != 0) | (sequences_asked != 0)
        with m.If(happens):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != QUIET):
            m.d.sync += quiet.eq(quiet + 1)
        for k in range(N_UNITS):
            self.check((quiet != QUIET) | other | writing | (unit.jobs[k] == there[k]))

        was_at_first = Signal()
        with m.If(there[0]):
            m.d.sync += was_at_first.eq(1)
        moved = was_at_first & let_in & (unit.sequence.answer.payload.unit == 1)
        # One question is taken a cycle, so both are offered; the one that waits must find the unit of the other.
        touched = [port.query.valid & (port.query.payload.job_id == job) for port in (unit.packet, unit.sequence)]
        self.reach(touched[0] & touched[1] & ~there.any(), "a packet and a sequence touch the job at once")
        self.reach(moved, "the job has moved to another unit")
        self.reach(owing.any() & ~busy.any(), "credits are out after the operation has ended")
        self.reach(sequence & ~unit.sequence.answer.payload.ok, "an operation is refused while another is in progress")
        self.reach(let_in & (pulses != 0), "an operation follows another one")
