"""Proofs of the job table."""

from testbench.formal.proof import Mutation, Proof

_JOBS = "rtl.nic.job_table"
_STALE = Mutation(
    name="reads-what-is-being-written", module=_JOBS,
    old="read = table.read_port(transparent_for=[write])", new="read = table.read_port()",
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
                old="at_rest.eq(~entry.busy & ~entry.owing & (entry.packets == 0)),",
                new="at_rest.eq(~entry.busy & ~entry.owing),",
            ),
            Mutation(
                name="let-go-with-credits-out", module=_JOBS,
                old="at_rest.eq(~entry.busy & ~entry.owing & (entry.packets == 0)),",
                new="at_rest.eq(~entry.busy & (entry.packets == 0)),",
            ),
            Mutation(
                name="let-go-during-an-operation", module=_JOBS,
                old="at_rest.eq(~entry.busy & ~entry.owing & (entry.packets == 0)),",
                new="at_rest.eq(~entry.owing & (entry.packets == 0)),",
            ),
            _STALE,
            Mutation(
                name="acts-twice-while-it-waits", module=_JOBS,
                old="act.eq((by_packet | by_sequence | reported | ordered) & ~blocked),",
                new="act.eq(by_packet | by_sequence | reported | ordered),",
            ),
            Mutation(
                name="never-let-go", module=_JOBS,
                old="act & ~at_rest & ~stays & (entry.unit == k)", new="0",
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
                old="m.d.comb += [after.owing.eq(0), after.packets.eq(0)]", new="m.d.comb += after.owing.eq(0)",
            ),
            Mutation(
                name="half-a-sweep", module=_JOBS,
                old="swept.eq(sweep == self.n_jobs - 1)]", new="swept.eq(1)]",
            ),
            Mutation(
                name="reads-during-a-reading", module=_JOBS,
                old="advance.eq(swept & ~blocked & ~reading.any())", new="advance.eq(swept & ~blocked)",
            ),
            Mutation(
                name="forgets-who-waits", module=_JOBS,
                old="with m.If(~blocked):\n            m.d.sync += [touches",
                new="with m.If(1):\n            m.d.sync += [touches",
            ),
        ),
    ),
)
