"""Which offload unit serves which job.

Architecture: ``docs/jobs.md``, ``docs/decisions/0009-jobs-move-at-rest.md``.
"""

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from firmware_models.abi.encoding import JobOrderKind
from rtl.interface import JOBS, JobReportKind, JobShapes, PlacementSignature
from rtl.kit.memory import BlockMemory
from rtl.kit.round_robin import RoundRobin
from rtl.nic.job_steps import Touch, Turn, WaitingReport, let_in_at
from rtl.nic.least_unit import LeastUnit
from rtl.nic.placement_memory import PlacementMemory


class JobTable(wiring.Component):
    """Assigns each job to an offload unit at first touch, and keeps it there until it is at rest.

    A job is *at rest* when nothing of it is at its unit: no operation, no packet in the buffer or on the way there, and
    no credit that is still out. Whatever touches a job at rest, a packet or a sequence, assigns it anew: to the unit
    with the fewest jobs, among those to the one with the emptiest buffer. So as long as no more than
    n_units x m jobs are not at rest at once, no unit is ever given more than m.

    All questions and reports pass through one pipeline, one in two cycles, so they take effect one after the other: a
    packet and a sequence that touch a job in the same cycle get the same answer.

    Obligations of the clients:

    - ``packet``: each query is one packet of the job. With `ok` it then goes to the unit that the answer names, which
      reports PACKET_GONE (or a DUPLICATE) once for it. It may do so later than when it has gone: a shared credit that
      is granted for the packet keeps the job there as the packet did. Without `ok` no credit covers it.
    - ``sequence``: `ok` lets one operation in, which then goes to that unit; it reports ENDED once for it, also if it
      has no room for it after all. Without `ok` an operation of the job is in progress, or the job is `closed`.
    - ``credit``: changes nothing. `ok`: the job is not at rest, and credits that come for it go to that unit.
    - The unit reports SETTLED once after each ENDED with `owing`, unless another operation has been let in meanwhile;
      then it may as well leave it to the next ENDED.

    Software closes a job, and opens it again when it is at rest; its pulses then begin at 0. Packets of a closed job
    come to its unit all the same, which drops them and returns their credits: so a job comes to rest by what brings
    every job to rest, and nothing of it can be on its way any more when all its nodes say so.

    Which packets are covered. The peers of a job have `n_credits` credits for packets here, all together. A packet
    takes one, the CREDIT packet that leaves for it (``given_valid``) gives one back. A packet on a shared credit takes
    one that a CREDIT packet has brought and that has not RETURNED. So of no job there are ever more packets here than
    its peers were given credits for, whatever they send, and none that a credit was given for is refused. Of a job that
    software has `refused` none is let in at all.

    What a link has thrown away never comes back. Software writes it off when nothing else of the job can be on its way:
    the job is at rest then; the answer (`written_off`, `unit`, `lost`) is for its unit.

    Timing: an answer comes three cycles after its query if nobody else wants the table, which takes a touch in two
    cycles; an assignment takes as many cycles more as the tournament of the units has rounds if another one came right
    before. ``credit`` takes two cycles, one in two, or three if its job's entry is being written. After a reset the
    table is cleared first, one job a cycle.

    Parameters
    ----------
    n_units : int
        Offload units, a power of two.
    n_packets : int
        Packets that one unit can hold, those on their way to it included.
    level_bits : int
        Bits of a buffer's level.
    n_credits : int
        Packets that all peers of one job may have here on guaranteed credits.
    pool : int
        Shared credits of one unit. If 0 a packet that claims to be on one takes a guaranteed one.
    n_jobs : int
        JobIDs, a power of two.
    shapes : JobShapes
        Layouts of streams about jobs.

    Members
    -------
    packet, sequence, credit : ``In(PlacementSignature)``
        Clients.
    order : ``In(stream.Signature(JobOrder))``, standing : ``Out(stream.Signature(JobStanding))``
        Software's orders, and an answer to each.
    reports : array of n_units ``In(stream.Signature(JobReport))``
        Reports of the offload units.
    given_valid : ``In(1)``, given : ``In(CreditGiven)``
        A CREDIT packet leaves this NIC.
    returned : array of n_units ``Out(1)``, unknown : ``Out(1)``
        Pulses: RETURNED was true, of a job at this unit; it was not.
    levels : array of n_units ``In(level_bits)``
        Packets in the buffers of the units.
    jobs : array of n_units ``Out(range(n_jobs + 1))``
        Jobs at each unit that are not at rest.
    """

    def __init__(
        self, *, n_units: int, n_packets: int, level_bits: int, n_credits: int, pool: int,
        n_jobs: int = 1 << JOBS.job_bits, shapes: JobShapes = JOBS,
    ):
        bounds = ("n_units", n_units, 1 << shapes.unit_bits), ("n_jobs", n_jobs, 1 << shapes.job_bits)
        for name, value, most in bounds:
            if not 1 <= value <= most or value & (value - 1):
                raise ValueError(f"{name} must be a power of two, 1 to {most}, not {value!r}")
        for name, value, least in (("n_packets", n_packets, 1), ("n_credits", n_credits, 1), ("pool", pool, 0)):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value!r}")
        self.n_credits, self.pool = n_credits, pool
        self.n_units, self.n_packets, self.n_jobs = n_units, n_packets, n_jobs
        self.level_bits, self.shapes = level_bits, shapes
        # `held`: the job is not at rest.
        self.entry = data.StructLayout({
            "unit": (n_units - 1).bit_length(), "held": 1, "busy": 1, "owing": 1, "packets": bits_for(n_packets),
            "pulses": shapes.pulse_bits, "closed": 1, "refused": 1, "taken": bits_for(n_credits),
            "shared": bits_for(pool),
        })
        # How far `taken` and `shared` may count, modulo their width.
        self.limits = data.StructLayout({"taken": bits_for(n_credits), "shared": bits_for(pool)})
        super().__init__({
            "packet": In(PlacementSignature(shapes)),
            "sequence": In(PlacementSignature(shapes)),
            "credit": In(PlacementSignature(shapes)),
            "order": In(stream.Signature(shapes.order)), "standing": Out(stream.Signature(shapes.standing)),
            "reports": In(stream.Signature(shapes.report)).array(n_units),
            "levels": In(level_bits).array(n_units),
            "given_valid": In(1), "given": In(shapes.given),
            "returned": Out(1).array(n_units), "unknown": Out(1),
            "jobs": Out(range(n_jobs + 1)).array(n_units),
        })

    def elaborate(self, platform):
        m = Module()
        n_units = self.n_units
        job_bits = max(1, (self.n_jobs - 1).bit_length())
        m.submodules.table = table = BlockMemory(shape=self.entry, depth=self.n_jobs, shallow=True, careless=True)
        m.submodules.least = least = self._compare(m)

        # A reset does not reach into the memory: sweep it.
        swept, sweep = Signal(), Signal(job_bits)
        with m.If(~swept):
            m.d.sync += [sweep.eq(sweep + 1), swept.eq(sweep == self.n_jobs - 1)]

        waiting = self._collect_reports(m)
        allowed = self._allow(m, swept, sweep)
        at_job, entry_job, advance = Signal(job_bits), Signal(job_bits), Signal()
        turn = self._choose(m, waiting, advance)
        job, other, by_report, by_order = turn.job, turn.other, turn.by_report, turn.by_order
        question, order = self.packet.query, self.order
        m.d.comb += [
            table.read_enable.eq(advance), table.read_address.eq(job), allowed.en.eq(advance), allowed.addr.eq(job),
        ]

        # Second stage: what was read gets a register of its own, in a cycle in which nothing else is read, and nothing
        # takes effect. Third stage: it takes effect, on that register alone; fourth: it is written. So the register
        # knows better than the memory how the job stands that it is about, until it is that of another one.
        by_packet, by_sequence, reported, ordered = Signal(), Signal(), Signal(), Signal()
        command = Signal(self.shapes.order)
        acting, at_shared = Signal(self.shapes.report), Signal()
        limits, covered, known = Signal(self.limits), Signal(), Signal()
        entry, after = Signal(self.entry), Signal(self.entry, attrs={"keep": 1})
        act, acted, blocked, at_rest, held, joined, freed, assigns = (
            Signal(name=name) for name in ("act", "acted", "blocked", "at_rest", "held", "joined", "freed", "assigns")
        )
        touches = Cat(by_packet, by_sequence, reported, ordered)
        touched = Cat(question.valid & ~other, other & ~by_report & ~by_order, other & by_report, other & by_order)
        with m.If(advance):
            m.d.sync += [at_job.eq(job), at_shared.eq(question.payload.shared & (self.pool > 0))]
        with m.If(waiting.is_taken):
            m.d.sync += acting.eq(waiting.report)
        with m.If(order.valid & order.ready):
            m.d.sync += command.eq(order.payload)
        reading, is_read, other_job = Signal.like(touched), Signal(), Signal()
        m.d.comb += [advance.eq(swept & ~blocked & ~is_read), other_job.eq(at_job != entry_job)]
        m.d.sync += [reading.eq(Mux(advance, touched, 0)), is_read.eq(advance & touched.any())]
        with m.If(~blocked):
            m.d.sync += [touches.eq(reading), limits.eq(allowed.data)]
        with m.If(is_read):
            m.d.sync += entry_job.eq(at_job)
        # The read entry comes late in the cycle: one choice is behind it.
        with m.If(Mux(is_read, other_job, ~blocked)):
            m.d.sync += entry.eq(Mux(is_read, table.read_data, after))
        m.d.sync += entry.held.eq(Mux(is_read & other_job, table.read_data.held, held))
        packet_answer, sequence_answer = self.packet.answer, self.sequence.answer
        let_in = by_sequence & ~entry.busy & ~entry.closed
        admits = Signal()
        m.d.comb += [
            known.eq(entry.shared != limits.shared),
            covered.eq(Mux(at_shared, known, entry.taken != limits.taken) & ~entry.refused),
            admits.eq(by_packet & covered),
        ]

        # An answer has to be gone before the next one: it is known a cycle before who has to wait for that.
        waits, about = Signal(), reading | touches
        m.d.sync += waits.eq((Cat(
            port.valid & ~port.ready for port in (packet_answer, sequence_answer, self.standing)
        ) & Cat(about[0], about[1], about[3])).any())
        m.d.comb += [
            at_rest.eq(~entry.held),
            # In the fourth stage `entry.held` still says what was before.
            held.eq(entry.busy | entry.owing | (entry.packets != 0)),
            joined.eq(acted & held & ~entry.held), freed.eq(acted & ~held & entry.held), least.taken.eq(joined),
            assigns.eq(at_rest & (admits | let_in)),
            blocked.eq(waits | (at_rest & (by_packet | by_sequence) & ~least.valid)),
            act.eq((by_packet | by_sequence | reported | ordered) & ~blocked),
            after.eq(entry),
            table.write_address.eq(sweep), table.write_data.eq(0), table.write_enable.eq(acted | ~swept),
        ]
        m.d.sync += acted.eq(act)
        with m.If(swept):
            m.d.comb += [table.write_address.eq(entry_job), table.write_data.eq(entry), table.write_data.held.eq(held)]
        with m.If(assigns):
            m.d.comb += after.unit.eq(least.unit)
        touch = Touch(
            entry=entry, after=after, limits=limits, at_shared=at_shared, by_packet=by_packet, by_sequence=by_sequence,
            reported=reported, ordered=ordered, act=act, at_rest=at_rest, known=known,
        )
        let_in_at(m, touch, admits, let_in)
        self._report(m, touch, acting)
        self._obey(m, touch, command)
        for k in range(n_units):
            m.d.sync += self.jobs[k].eq(self.jobs[k] + (joined & (entry.unit == k)) - (freed & (entry.unit == k)))

        self._take_back(m, entry, returns=act & reported & (acting.kind == JobReportKind.RETURNED), known=known)
        self._answer(m, touch, admits, let_in)
        self._stand(m, touch, command)
        self._show_placements(m, table, swept)

        return m

    def _compare(self, m: Module) -> LeastUnit:
        """Finds the unit with the least to do."""
        least = LeastUnit(
            n_units=self.n_units, n_jobs=self.n_jobs, level_bits=self.level_bits, unit_bits=self.shapes.unit_bits,
        )
        for k in range(self.n_units):
            m.d.comb += [least.jobs[k].eq(self.jobs[k]), least.levels[k].eq(self.levels[k])]
        return least

    def _show_placements(self, m: Module, table: BlockMemory, swept: Signal) -> None:
        """Fills the memory for looks with what is written into the table."""
        m.submodules.placements = shown = PlacementMemory(n_units=self.n_units, n_jobs=self.n_jobs, shapes=self.shapes)
        connect(m, flipped(self.credit), shown.look)
        m.d.comb += [
            shown.swept.eq(swept), shown.write_enable.eq(table.write_enable),
            shown.write_address.eq(table.write_address),
            *(shown.write_data[name].eq(table.write_data[name]) for name in ("unit", "held")),
        ]

    def _choose(self, m: Module, waiting: WaitingReport, advance: Signal) -> Turn:
        """First stage: chooses a packet, or a report or a sequence in turn, and then a packet again; its entry is read.

        Whose turn it is does not depend on whether a packet is there. Orders, which are rare, go before sequences.
        """
        job = Signal(max(1, (self.n_jobs - 1).bit_length()))
        was_other, was_report = Signal(), Signal()
        other, by_report, by_order = Signal(), Signal(), Signal()
        report, report_valid = waiting.report, waiting.valid
        question, sequence, order = self.packet.query, self.sequence.query, self.order
        m.d.comb += [
            other.eq((report_valid | sequence.valid | order.valid) & ~was_other),
            by_report.eq(report_valid & ~((sequence.valid | order.valid) & was_report)),
            by_order.eq(order.valid & ~by_report), order.ready.eq(advance & other & by_order),
            waiting.is_taken.eq(advance & other & by_report), question.ready.eq(advance & ~other),
            sequence.ready.eq(advance & other & ~by_report & ~by_order),
            job.eq(Mux(other, Mux(
                by_report, report.job_id, Mux(by_order, order.payload.job_id, sequence.payload.job_id)
            ), question.payload.job_id)),
        ]
        with m.If(advance):
            m.d.sync += was_other.eq(other)
            with m.If(other):
                m.d.sync += was_report.eq(by_report)
        return Turn(job=job, other=other, by_report=by_report, by_order=by_order)

    def _take_back(self, m: Module, entry, *, returns, known) -> None:
        """Takes back shared credits that have returned."""
        m.d.sync += self.unknown.eq(returns & ~known)
        for k in range(self.n_units):
            m.d.sync += self.returned[k].eq(returns & known & (entry.unit == k))

    def _allow(self, m: Module, swept: Signal, sweep: Signal):
        """Counts what CREDIT packets give, job by job; one leaves in every cycle at most. Gives a port that reads how
        far a job's packets may count: they may come in the cycle after.
        """
        m.submodules.limits = store = memory.Memory(
            shape=self.limits, depth=self.n_jobs, init=[], attrs={"ram_style": "block"},
        )
        write = store.write_port()
        before = store.read_port(transparent_for=[write])
        allowed = store.read_port(transparent_for=[write])
        giving, given = Signal(), Signal(self.shapes.given)
        job_bits = len(sweep)
        shared = given.shared & (self.pool > 0)
        m.d.sync += giving.eq(self.given_valid)
        with m.If(self.given_valid):
            m.d.sync += given.eq(self.given)
        m.d.comb += [
            before.addr.eq(self.given.job_id[:job_bits]), before.en.eq(self.given_valid),
            write.en.eq(giving | ~swept), write.addr.eq(sweep),
            write.data.taken.eq(self.n_credits), write.data.shared.eq(0),
        ]
        with m.If(swept):
            m.d.comb += [
                write.addr.eq(given.job_id[:job_bits]), write.data.taken.eq(before.data.taken + ~shared),
                write.data.shared.eq(before.data.shared + given.granted),
            ]
        return allowed

    def _collect_reports(self, m: Module) -> WaitingReport:
        """Collects reports in a register in front of the table, one at a time, so that only packets come late in a
        cycle.
        """
        m.submodules.turn = turn = RoundRobin(n=self.n_units)
        report, report_valid, report_taken = Signal(self.shapes.report), Signal(), Signal()
        m.d.comb += turn.advance.eq(~report_valid)
        for k, port in enumerate(self.reports):
            m.d.comb += [turn.requests[k].eq(port.valid), port.ready.eq(turn.grant[k] & ~report_valid)]
        with m.If(~report_valid):
            m.d.sync += report_valid.eq(turn.requests.any())
            with m.If(turn.requests.any()):
                m.d.sync += report.eq(Array(port.payload for port in self.reports)[turn.index])
        with m.Elif(report_taken):
            m.d.sync += report_valid.eq(0)
        return WaitingReport(report=report, valid=report_valid, is_taken=report_taken)

    def _report(self, m: Module, touch: Touch, acting: View) -> None:
        """Computes the entry after a report of a unit."""
        entry, after, reported, known = touch.entry, touch.after, touch.reported, touch.known
        fewer = entry.packets - (entry.packets != 0)
        with m.If(reported):
            with m.Switch(acting.kind):
                with m.Case(JobReportKind.PACKET_LEFT):
                    m.d.comb += after.packets.eq(fewer)
                with m.Case(JobReportKind.RETURNED):
                    with m.If(known):
                        m.d.comb += [after.packets.eq(fewer), after.shared.eq(entry.shared + 1)]
                with m.Case(JobReportKind.DUPLICATE):
                    m.d.comb += [after.packets.eq(fewer), after.taken.eq(entry.taken - 1)]
                with m.Case(JobReportKind.SHARED_DUPLICATE):
                    m.d.comb += after.packets.eq(fewer)
                    if self.pool:
                        m.d.comb += after.shared.eq(entry.shared - 1)
                    else:
                        m.d.comb += after.taken.eq(entry.taken - 1)
                with m.Case(JobReportKind.ENDED):
                    m.d.comb += [
                        after.busy.eq(0), after.owing.eq(acting.owing), after.pulses.eq(entry.pulses + acting.pulses),
                    ]
                with m.Case(JobReportKind.SETTLED):
                    m.d.comb += after.owing.eq(0)

    @staticmethod
    def _obey(m: Module, touch: Touch, command: View) -> None:
        """Computes the entry after an order, other than one that writes off."""
        entry, after, ordered, at_rest = touch.entry, touch.after, touch.ordered, touch.at_rest
        opens = (command.kind == JobOrderKind.OPEN) & entry.closed & at_rest
        refuses = (command.kind == JobOrderKind.REFUSE) & at_rest
        with m.If(ordered & ((command.kind == JobOrderKind.CLOSE) | opens | refuses)):
            m.d.comb += [after.closed.eq(~opens), after.refused.eq(~opens & (entry.refused | refuses))]
            with m.If(opens):
                m.d.comb += after.pulses.eq(0)

    def _answer(self, m: Module, touch: Touch, admits: Signal, let_in: Value) -> None:
        """Answers a packet or a sequence."""
        entry, after = touch.entry, touch.after
        for answer, acts, ok in (
            (self.packet.answer, touch.act & touch.by_packet, admits),
            (self.sequence.answer, touch.act & touch.by_sequence, let_in),
        ):
            with m.If(answer.ready):
                m.d.sync += answer.valid.eq(0)
            with m.If(acts):
                m.d.sync += [
                    answer.valid.eq(1), answer.payload.ok.eq(ok), answer.payload.unit.eq(after.unit),
                    answer.payload.base_pulse.eq(entry.pulses), answer.payload.closed.eq(entry.closed),
                ]

    def _stand(self, m: Module, touch: Touch, command: View) -> None:
        """Answers an order; carries out one that writes off what is lost."""
        entry, after, limits = touch.entry, touch.after, touch.limits
        ordered, act, at_rest = touch.ordered, touch.act, touch.at_rest
        writes_off = (command.kind == JobOrderKind.WRITE_OFF) & entry.closed & ~entry.busy
        with m.If(ordered & writes_off):
            # Its peers have all their guaranteed credits again, and no shared one.
            m.d.comb += [
                after.owing.eq(0), after.packets.eq(0), after.shared.eq(limits.shared),
                after.taken.eq(limits.taken - self.n_credits),
            ]
        standing = self.standing
        with m.If(standing.ready):
            m.d.sync += standing.valid.eq(0)
        with m.If(act & ordered):
            m.d.sync += [
                standing.valid.eq(1), standing.payload.kept.eq(after.packets),
                standing.payload.written_off.eq(writes_off & ~at_rest),
                standing.payload.unit.eq(entry.unit),
                standing.payload.lost.eq(entry.packets),
                standing.payload.changed.eq(after.closed ^ entry.closed),
                standing.payload.job_id.eq(command.job_id),
                *(standing.payload[name].eq(after[name]) for name in ("closed", "refused", "busy", "owing")),
            ]
