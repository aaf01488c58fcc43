"""Proofs of the order-preserving trigger."""

from testbench.formal.proof import Mutation, Proof

_TRIGGER = "rtl.cou.trigger"
_ACT = "rtl.cou.act_stage"
_CONTEXTS = "rtl.cou.context_file"
_PLAN = "rtl.cou.plan_stage"
_PLANNER = "rtl.cou.pass_planner"
_CONTRACT = "testbench.formal.contracts.trigger"

_ORDER = (
    Mutation(
        name="consumes-without-counting", module=_PLANNER,
        old="plan.after.consumed.eq(progress.consumed + v.more)", new="plan.after.consumed.eq(progress.consumed)",
    ),
    Mutation(
        name="asks-for-the-first-again", module=_PLANNER,
        old="key.seq_id.eq(progress.consumed + desc.seq_skip)", new="key.seq_id.eq(desc.seq_skip)",
    ),
    Mutation(
        name="does-not-wait-for-its-packet", module=_PLANNER,
        old="absent, timed_out = v.more & ~v.there, ", new="absent, timed_out = v.more & 0, ",
    ),
    Mutation(
        name="keeps-the-packet", module=_CONTEXTS,
        old="m.d.sync += [there.eq(0), registers_c.sure.eq(0)]", new="pass",
    ),
    Mutation(
        name="any-arrival-will-do", module=_CONTEXTS,
        old="wanting[c] & (key[c] == arrival.key)", new="wanting[c]",
    ),
    Mutation(
        name="does-not-wait-for-its-operand", module=_CONTEXTS,
        old="wakes | (phase[c] == Phase.LOADING) & self.i_loaded.valid & (self.i_loaded.payload.context == c)",
        new="wakes | (phase[c] == Phase.LOADING)",
    ),
    Mutation(
        name="same-descriptor-again", module=_CONTEXTS,
        old="registers_c.position.eq(registers_c.position + 1)", new="registers_c.position.eq(registers_c.position)",
    ),
    Mutation(
        name="two-passes-at-once", module=_ACT,
        old="self.step.next_phase.eq(Phase.RUNNING)", new="self.step.next_phase.eq(Phase.READY)",
    ),
    Mutation(
        name="takes-what-is-only-announced", module=_ACT,
        old="sure = ~plan.unsure | self.step.certain", new="sure = ~plan.unsure | self.step.certain | (waited == 0)",
    ),
    Mutation(
        name="another-slot-confirms", module=_CONTEXTS,
        old="wanting[c] & there & (registers_c.packet == arrival.slot)", new="wanting[c] & there",
    ),
    Mutation(
        name="keeps-what-was-dropped", module=_CONTEXTS, old="with m.Elif(withdrawn):", new="with m.Elif(0):",
    ),
    Mutation(
        name="loads-beside-and-again", module=_ACT, old="self.step.loads.eq(1)]", new="self.step.loads.eq(0)]",
    ),
    Mutation(
        name="packet-of-a-descriptor-before", module=_PLANNER,
        old='"packets_left": progress.consumed != desc.cp_count', new='"packets_left": desc.cp_count != 0',
    ),
)
_BESIDE = (
    Mutation(
        name="progress-of-another-context", module=_PLAN,
        old="[far_write.addr.eq(kept.context),",
        new="[far_write.addr.eq(context),",
    ),
    Mutation(
        name="answer-for-another-context", module=_TRIGGER,
        old="wakes.payload.context.eq(origin.context)", new="wakes.payload.context.eq(0)",
    ),
    Mutation(
        name="header-of-another-slot", module=_PLAN,
        old="header.slot.eq(registers.packet)", new="header.slot.eq(look.packet)",
    ),
)
_FAULTS = (
    Mutation(
        name="length-of-an-empty-slice", module=_PLANNER,
        old='"mismatch": wants_data & ~v.fits', new='"mismatch": wants_data & ~v.fits & v.has_bytes',
    ),
    Mutation(
        name="reported-as-long-as-the-pass-waits", module=_ACT,
        old="m.d.sync += found.reported.eq(1)", new="m.d.sync += found.reported.eq(self.o_run.ready)",
    ),
    Mutation(
        name="goes-without-being-reported", module=_ACT,
        old="reply.payload.ok & ~step.check & ~remarkable", new="reply.payload.ok & ~step.check",
    ),
    Mutation(
        name="bad-address-not-reported", module=_ACT,
        old="self.window.answer.ready.eq(valid | self.o_fault.ready)", new="self.window.answer.ready.eq(1)",
    ),
    Mutation(
        name="another-address-reported", module=_ACT,
        old="fault.detail.eq(self.o_run.payload.output.result_addr)", new="fault.detail.eq(self.i.payload.load.addr)",
    ),
    Mutation(
        name="given-up-in-silence", module=_ACT,
        old='with m.If(self.o_fault.ready):\n                m.next = "DROP"',
        new='with m.If(1):\n                m.next = "DROP"',
    ),
    Mutation(
        name="given-up-twice", module=_ACT,
        old="leave.eq(self.step.sleep | self.step.drop)", new="leave.eq(self.step.sleep)",
    ),
    Mutation(
        name="ends-beside-one-that-is-given-up", module=_TRIGGER,
        old="done.ready.eq(ends.ready & ~act.step.drop)", new="done.ready.eq(ends.ready)",
    ),
    Mutation(
        name="report-of-another-operation", module=_ACT,
        old="self.o_fault.payload.job.eq(plan.job)", new="self.o_fault.payload.job.eq(0)",
    ),
    Mutation(
        name="damage-not-reported", module=_TRIGGER,
        old="accepted.eq(~damaged | damage.ready)", new="accepted.eq(1)",
    ),
    Mutation(
        name="damage-of-another-operation", module=_TRIGGER,
        old="damage.payload.job.eq(origin.job)", new="damage.payload.job.eq(0)",
    ),
    Mutation(
        name="missing-if-it-is-there", module=_TRIGGER,
        old="act.i_found.payload.missing.eq(~answer.hit)", new="act.i_found.payload.missing.eq(answer.hit)",
    ),
)
_PROGRESS = (
    Mutation(
        name="arrival-missed", module=_CONTEXTS,
        old="[key[c].eq(step.key), wanting[c].eq(1), asking", new="[key[c].eq(step.key), asking",
    ),
    Mutation(
        name="arrival-beside-the-look-up-missed", module=_CONTEXTS,
        old="same_key.eq(self.i_arrival.valid & wanting[c] &", new="same_key.eq(self.i_arrival.valid & ~asking[c] &",
    ),
    Mutation(
        name="answer-missed", module=_CONTEXTS,
        old="found = answered & answer.hit & wanting[c]", new="found = answered & 0",
    ),
    Mutation(
        name="credit-beside-the-answer-missed", module=_ACT,
        old="self._sleep(m, Mux(found.has_reason | found.changed, Phase.READY, Phase.BLOCKED))",
        new="self._sleep(m, Phase.BLOCKED)",
    ),
    Mutation(
        name="credit-missed", module=_CONTEXTS,
        old="(called[c] | claims | expired)", new="(claims | expired)",
    ),
    Mutation(
        name="not-given-up-while-it-waits", module=_CONTEXTS,
        old="announced | found | expired)", new="announced | found)",
    ),
    Mutation(
        name="not-given-up-without-a-credit", module=_CONTEXTS,
        old="(called[c] | claims | expired)", new="(called[c] | claims)",
    ),
    Mutation(
        name="operand-missed", module=_CONTEXTS,
        old="(phase[c] == Phase.LOADING) & self.i_loaded.valid & (self.i_loaded.payload.context == c)", new="0",
    ),
    Mutation(
        name="tells-for-ever", module=_ACT,
        old="m.d.sync += found.reported.eq(1)", new="m.d.sync += found.reported.eq(0)",
    ),
    Mutation(
        name="pass-that-ended-missed", module=_CONTEXTS,
        old="| self.done.valid & (self.done.context == c)",
        new="| self.done.valid & self.done.ends & (self.done.context == c)",
    ),
    Mutation(
        name="does-not-begin", module=_PLAN,
        old="begins.ready.eq(~self.o.valid & ~progresses &", new="begins.ready.eq(~self.o.valid & progresses &",
    ),
)

TRIGGER_PROOFS: tuple[Proof, ...] = (
    Proof(
        name="trigger-packet",
        claim="no packet is consumed before it is there, nor any but the one that is next; up to the first one",
        contract=f"{_CONTRACT}:OrderContract",
        parameters={"n_contexts": 1, "expires": False, "consumed": 1},
        depth=12,
        mutations=tuple(m for m in _ORDER if m.name == "any-arrival-will-do"),
    ),
    Proof(
        name="trigger-order",
        claim="each packet is consumed once, in ascending SeqID, by its descriptor, whatever order they come in",
        contract=f"{_CONTRACT}:OrderContract",
        parameters={"n_contexts": 1, "expires": False, "consumed": 2},
        depth=26,
        quick=False,
        mutations=_ORDER,
    ),
    Proof(
        name="trigger-order-beside",
        claim="the same beside another context, of operations that may be given up, up to the first packet",
        contract=f"{_CONTRACT}:OrderContract",
        parameters={"consumed": 1},
        depth=15,
        quick=False,
        mutations=_BESIDE,
    ),
    Proof(
        name="trigger-faults",
        claim="every fault reaches the table: one report of each, of its operation, none withdrawn, none without cause",
        contract=f"{_CONTRACT}_faults:FaultContract",
        parameters={"n_jobs": 2},
        depth=14,
        quick=False,
        mutations=_FAULTS,
    ),
    Proof(
        name="trigger-progress",
        claim="what can be done for a context is done within 13 cycles in which nobody else is waited for",
        contract=f"{_CONTRACT}_progress:ProgressContract",
        parameters={"bound": 13},
        depth=26,
        quick=False,
        mutations=_PROGRESS,
    ),
)
