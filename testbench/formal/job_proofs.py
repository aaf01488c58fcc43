"""Proofs of the job table."""

from testbench.formal.proof import Mutation, Proof

_JOBS = "rtl.nic.job_table"
_STALE = Mutation(
    name="reads-what-is-being-written", module=_JOBS, old="other_job.eq(at_job != entry_job)", new="other_job.eq(1)",
)

JOB_PROOFS: tuple[Proof, ...] = (
    Proof(
        name="job-table",
        claim="never two units for one job; it stays where it is until nothing of it is there, and is let go of then",
        contract="testbench.formal.contracts.job_table:JobTableContract",
        depth=17,
        quick=False,
        mutations=(
            Mutation(
                name="let-go-with-packets-in-the-buffer", module=_JOBS,
                old="held.eq(entry.busy | entry.owing | (entry.packets != 0)),",
                new="held.eq(entry.busy | entry.owing),",
            ),
            Mutation(
                name="let-go-with-credits-out", module=_JOBS,
                old="held.eq(entry.busy | entry.owing | (entry.packets != 0)),",
                new="held.eq(entry.busy | (entry.packets != 0)),",
            ),
            Mutation(
                name="let-go-during-an-operation", module=_JOBS,
                old="held.eq(entry.busy | entry.owing | (entry.packets != 0)),",
                new="held.eq(entry.owing | (entry.packets != 0)),",
            ),
            _STALE,
            Mutation(
                name="takes-the-job-before-for-this-one", module=_JOBS,
                old="m.d.sync += entry_job.eq(at_job)", new="pass",
            ),
            Mutation(
                name="acts-twice-while-it-waits", module=_JOBS,
                old="act.eq((by_packet | by_sequence | reported | ordered) & ~blocked),",
                new="act.eq(by_packet | by_sequence | reported | ordered),",
            ),
            Mutation(
                name="never-let-go", module=_JOBS,
                old="freed.eq(acted & ~held & entry.held)", new="freed.eq(0)",
            ),
            Mutation(
                name="works-though-closed", module=_JOBS,
                old="let_in = by_sequence & ~entry.busy & ~entry.closed", new="let_in = by_sequence & ~entry.busy",
            ),
            Mutation(
                name="opened-during-an-operation", module=_JOBS,
                old="(command.kind == JobOrderKind.OPEN) & entry.closed & at_rest",
                new="(command.kind == JobOrderKind.OPEN) & entry.closed",
            ),
            Mutation(
                name="written-off-though-open", module=_JOBS,
                old="(command.kind == JobOrderKind.WRITE_OFF) & entry.closed & ~entry.busy",
                new="(command.kind == JobOrderKind.WRITE_OFF) & ~entry.busy",
            ),
            Mutation(
                name="keeps-what-was-written-off", module=_JOBS,
                old="after.owing.eq(0), after.packets.eq(0), after.shared", new="after.owing.eq(0), after.shared",
            ),
            Mutation(
                name="half-a-sweep", module=_JOBS,
                old="swept.eq(sweep == self.n_jobs - 1)]", new="swept.eq(1)]",
            ),
            Mutation(
                name="reads-during-a-reading", module=_JOBS,
                old="advance.eq(swept & ~blocked & ~is_read)", new="advance.eq(swept & ~blocked)",
            ),
            Mutation(
                name="forgets-who-waits", module=_JOBS,
                old="with m.If(~blocked):\n            m.d.sync += [touches",
                new="with m.If(1):\n            m.d.sync += [touches",
            ),
        ),
    ),
    Proof(
        name="covered-packets",
        claim="of no job are there more packets than credits were given for, whatever is sent; those that a credit "
              "covers are let in, all of them",
        contract="testbench.formal.contracts.covered_packets:CoveredPacketsContract",
        depth=20,
        quick=False,
        mutations=(
            Mutation(
                name="lets-in-without-a-credit", module=_JOBS,
                old="Mux(at_shared, known, entry.taken != limits.taken)", new="Mux(at_shared, known, 1)",
            ),
            Mutation(
                name="lets-in-without-a-shared-credit", module=_JOBS,
                old="Mux(at_shared, known, entry.taken != limits.taken)",
                new="Mux(at_shared, 1, entry.taken != limits.taken)",
            ),
            Mutation(
                name="shared-ones-count-as-guaranteed", module=_JOBS,
                old="before.data.taken + ~shared", new="before.data.taken + 1",
            ),
            Mutation(
                name="grants-are-forgotten", module=_JOBS,
                old="before.data.shared + given.granted", new="before.data.shared",
            ),
            Mutation(
                name="a-credit-is-seen-late", module=_JOBS,
                old="allowed = store.read_port(transparent_for=[write])", new="allowed = store.read_port()",
            ),
            Mutation(
                name="limits-are-those-of-another-job", module=_JOBS,
                old="allowed.addr.eq(job)", new="allowed.addr.eq(at_job)",
            ),
            Mutation(
                name="credits-in-a-row-count-once", module=_JOBS,
                old="before = store.read_port(transparent_for=[write])", new="before = store.read_port()",
            ),
            Mutation(
                name="returns-twice", module=_JOBS,
                old="m.d.comb += [after.packets.eq(fewer), after.shared.eq(entry.shared + 1)]",
                new="m.d.comb += after.packets.eq(fewer)",
            ),
            Mutation(
                name="believes-what-returns", module=_JOBS,
                old="self.returned[k].eq(returns & known", new="self.returned[k].eq(returns",
            ),
            Mutation(
                name="duplicates-cost-a-credit", module=_JOBS,
                old="m.d.comb += [after.packets.eq(fewer), after.taken.eq(entry.taken - 1)]",
                new="m.d.comb += after.packets.eq(fewer)",
            ),
            Mutation(
                name="lets-in-though-refused", module=_JOBS,
                old="entry.taken != limits.taken) & ~entry.refused", new="entry.taken != limits.taken)",
            ),
        ),
    ),
    Proof(
        name="written-off-credits",
        claim="so it is, too, after what was lost has been written off: all credits are there again, and no other",
        contract="testbench.formal.contracts.covered_packets:WrittenOffCreditsContract",
        depth=25,
        quick=False,
        mutations=(
            Mutation(
                name="written-off-credits-stay-out", module=_JOBS,
                old="after.taken.eq(limits.taken - self.n_credits)", new="after.taken.eq(entry.taken)",
            ),
        ),
    ),
)
