"""Which packets the job table lets in: those that a credit covers, all of them, and no other."""

from amaranth import Module, Signal

from testbench.formal.contract import Contract

N_CREDITS, POOL = 2, 1
IN_FLIGHT = 2
"""Questions that can be without an answer: one in the table, and one whose answer waits."""
QUIET = 6
"""Cycles after which everything that happened has had its effect."""
STILL = 4
"""Cycles for which nothing has moved when what is lost is written off."""


class CoveredPacketsContract(Contract):
    """:class:`~rtl.nic.job_table.JobTable`: the packets of one job, any one, beside another one that does anything.

    Its peers are honest or not. Honest ones send a packet only against a credit: one of those that they have from the
    beginning, or one that a CREDIT packet has brought that left at least a cycle before. Others send, and return, what
    they like. The unit sends CREDIT packets for packets that came, and grants no more shared credits than it has.
    """

    writes_off = False
    """If true, what is lost of the job is written off, and there is nothing but the job, whose answers are taken at
    once: what follows takes more cycles than a proof of everything can look through."""

    def build(self, m: Module) -> None:
        from firmware_models.abi.encoding import JobOrderKind
        from rtl.interface import JobReportKind, JobShapes
        from rtl.nic.job_table import JobTable

        # Two jobs, two units, numbers of pulses modulo two: no register that says nothing.
        shapes = JobShapes(job_bits=1, pulse_bits=1, unit_bits=1)
        m.submodules.unit = unit = JobTable(
            n_units=1, n_packets=4, level_bits=1, n_jobs=2, n_credits=N_CREDITS, pool=POOL,
            shapes=shapes,
        )
        job, honest = self.constant(1, "job"), self.constant(1, "honest")

        # Questions, and who waits for an answer: of this job or not, on a shared credit, known to be refused.
        asked, question = self.offered(unit.packet.query, "packet"), unit.packet.query.payload
        m.d.comb += unit.packet.answer.ready.eq(self.free(1, "packet_ready"))
        answer, new = unit.packet.answer, Signal(init=1)
        answers = answer.valid & new
        m.d.sync += new.eq(~answer.valid | answer.ready)
        mine = question.job_id == job
        refused, barred, sure = Signal(), Signal(), Signal()
        rows = {"mine": mine, "shared": question.shared, "refused": barred, "sure": sure}
        level, shorter = Signal(2), Signal(2)
        m.d.comb += shorter.eq(level - answers)
        m.d.sync += level.eq(shorter + asked)
        self.check(~answers | (level != 0))
        about = {}
        for name, bit in rows.items():
            row = Signal(IN_FLIGHT, name=f"row_{name}")
            m.d.sync += row.eq((row >> answers) | ((asked & bit) << shorter))
            about[name] = row[0]
        comes = answers & about["mine"]
        let_in = comes & answer.payload.ok
        comes_own, comes_shared = let_in & ~about["shared"], let_in & about["shared"]

        # Orders of software: a job is refused from the answer that says so until it is to be opened again.
        ordered, order, standing = self.offered(unit.order, "order"), unit.order.payload, unit.standing
        m.d.comb += standing.ready.eq(self.free(1, "standing_ready"))
        self.assume(order.kind <= max(JobOrderKind))
        ever_refused, ever_opened = Signal(), Signal()
        about_mine = unit.order.valid & (order.job_id == job)
        with m.If(ordered & about_mine & (order.kind == JobOrderKind.REFUSE)):
            m.d.sync += ever_refused.eq(1)
        opens = about_mine & (order.kind == JobOrderKind.OPEN)
        m.d.comb += barred.eq(refused & ~opens)
        with m.If(opens):
            m.d.sync += [ever_opened.eq(1), refused.eq(0)]
        with m.Elif(standing.valid & (standing.payload.job_id == job) & standing.payload.refused):
            m.d.sync += refused.eq(~ever_opened)

        # Reports; only those of the job that take something back matter here.
        reported, report = self.offered(unit.reports[0], "report"), unit.reports[0].payload
        is_kind = {kind: Signal(name=f"is_{kind.name}") for kind in JobReportKind}
        for kind, signal in is_kind.items():
            m.d.comb += signal.eq(unit.reports[0].valid & (report.job_id == job) & (report.kind == kind))
        self.assume(~unit.reports[0].valid | (report.kind.as_value() < len(JobReportKind)))
        # Shared credits that are reported as returned: `row` keeps, in order, which of them belong to the job.
        returns = reported & (report.kind == JobReportKind.RETURNED)
        judged = unit.returned[0] | unit.unknown
        waiting, fewer, row = Signal(2), Signal(2), Signal(3)
        m.d.comb += fewer.eq(waiting - judged)
        m.d.sync += [
            waiting.eq(fewer + returns), row.eq((row >> judged) | ((returns & (report.job_id == job)) << fewer)),
        ]
        self.check(~judged | (waiting != 0))
        back = unit.returned[0] & row[0]

        # CREDIT packets.
        given, fields = self.free(1, "given"), unit.given
        m.d.comb += [unit.given_valid.eq(given), unit.given.eq(self.free(len(unit.given.as_value()), "given_fields"))]
        gives = given & (fields.job_id == job)
        gives_own, gives_shared, grants = gives & ~fields.shared, gives & fields.shared, gives & fields.granted

        if self.writes_off:
            others = (
                unit.packet.query.valid & ~mine, unit.order.valid & ~about_mine, given & ~gives,
                unit.reports[0].valid & (report.job_id != job),
            )
            for other in others:
                self.assume(~other)
            self.assume((order.kind != JobOrderKind.REFUSE) & standing.ready & unit.packet.answer.ready)
        else:
            self.assume(order.kind != JobOrderKind.WRITE_OFF)

        # Losses are written off when nothing of the job has been in flight for a while and nothing arrives beside the
        # order: its peers hold all their guaranteed credits then, and no shared one.
        still, writing, ordering, stood = Signal(range(STILL + 1)), Signal(), Signal(), Signal()
        writes = about_mine & (order.kind == JobOrderKind.WRITE_OFF)
        stands = standing.valid & standing.ready & (standing.payload.job_id == job)
        moves = (unit.packet.query.valid & mine) | (level != 0) | gives | (
            unit.reports[0].valid & (report.job_id == job)
        )
        with m.If(moves):
            m.d.sync += still.eq(0)
        with m.Elif(still != STILL):
            m.d.sync += still.eq(still + 1)
        m.d.sync += [writing.eq((writing | ordered & writes) & ~stands), stood.eq(writes & ~unit.order.ready)]
        # Software waits for the answer to an order before the next one.
        m.d.sync += ordering.eq((ordering | ordered & about_mine) & ~stands)
        self.assume(~(about_mine & ordering))
        self.assume(~writes | (still == STILL) | stood)
        self.assume(~(writes | writing) | ~moves)
        wrote_off = Signal()
        m.d.comb += wrote_off.eq(stands & writing & standing.payload.closed & ~standing.payload.busy)

        # The books: packets that came and have no CREDIT packet yet, and shared credits that peers have.
        own, shared, rights = Signal(3), Signal(3), Signal(3)
        twice = reported & is_kind[JobReportKind.DUPLICATE], reported & is_kind[JobReportKind.SHARED_DUPLICATE]
        self.assume(~is_kind[JobReportKind.DUPLICATE] | (own != 0) & ~gives_own)
        self.assume(~is_kind[JobReportKind.SHARED_DUPLICATE] | (shared != 0) & ~gives_shared)
        self.assume(~gives_own | (own != 0))
        self.assume(~gives_shared | (shared != 0))
        self.assume(~grants | (rights + shared - gives_shared < POOL))
        m.d.sync += [
            own.eq(own + comes_own - gives_own - twice[0]), shared.eq(shared + comes_shared - gives_shared - twice[1]),
            rights.eq(rights + grants + twice[1] - comes_shared - back),
        ]
        with m.If(wrote_off):
            m.d.sync += [own.eq(0), shared.eq(0), rights.eq(0)]
        self.check(own <= N_CREDITS)
        self.check(shared + rights <= POOL)
        self.check(~comes_shared | (rights != 0))
        self.check(~back | (rights != 0))

        # Credits in the hands of honest peers: guaranteed and shared.
        purse, unspent = Signal(3, init=N_CREDITS), Signal(3)
        sends = unit.packet.query.valid & mine & honest
        self.assume(~(sends & ~question.shared) | (purse != 0))
        self.assume(~(sends & question.shared) | (unspent != 0))
        last = sends & question.shared & (unspent == 1)
        self.assume(~(honest & is_kind[JobReportKind.RETURNED]) | (unspent != 0) & ~last)
        m.d.sync += [
            purse.eq(purse + gives_own - (asked & mine & honest & ~question.shared)),
            unspent.eq(unspent + grants - (asked & mine & honest & question.shared)
                     - (reported & is_kind[JobReportKind.RETURNED] & honest)),
        ]
        with m.If(wrote_off):
            m.d.sync += [purse.eq(N_CREDITS), unspent.eq(0)]
        self.check(~(comes & honest) | answer.payload.ok | ever_refused)
        self.check(~(judged & row[0] & honest) | back)
        # A refused job, and nothing that is lost for ever: after a while there is room again.
        self.check(~(comes & about["refused"]) | ~answer.payload.ok)
        # An order whose answer nobody takes holds up everything behind it: a report that frees room, too.
        quiet = Signal(range(QUIET + 1))
        with m.If(given | reported | ordered | asked | answer.valid | standing.valid):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != QUIET):
            m.d.sync += quiet.eq(quiet + 1)
        m.d.comb += sure.eq(
            (quiet == QUIET) & ~given & ~reported & ~ever_refused & (own < N_CREDITS) & ~question.shared & (level == 0)
        )
        self.check(~(comes & about["sure"]) | answer.payload.ok)

        all_out = Signal()
        with m.If(own == N_CREDITS):
            m.d.sync += all_out.eq(1)
        self.reach(comes & ~honest & ~answer.payload.ok & ~ever_refused, "a packet that no credit covers")
        self.reach(all_out & comes_own, "a packet on a credit that has returned")
        self.reach(comes_shared, "a packet on a shared credit")
        if self.writes_off:
            since = Signal()
            with m.If(wrote_off & (own == N_CREDITS)):
                m.d.sync += since.eq(1)
            self.reach(since & comes_own, "a packet after all credits were lost and written off")


class WrittenOffCreditsContract(CoveredPacketsContract):
    """The same of one job alone, whose host writes off what links have thrown away."""

    writes_off = True
