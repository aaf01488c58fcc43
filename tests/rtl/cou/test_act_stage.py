"""The stage that acts: what each plan asks of other parts, in order, and what becomes of its context."""

import random

import pytest

from firmware_models.abi.encoding import Status
from rtl.cou.act_stage import ActStage
from rtl.cou.phase import Phase
from rtl.cou.shapes import CouShapes
from rtl.cou.step import STEPS
from testbench.parts.acts import ActBench
from testbench.parts.faults import changed
from testbench.parts.simulation import run
from testbench.unit_config import UNIT

SHAPES = CouShapes(UNIT.changed(cou={"n_jobs": 2, "n_contexts": 4, "n_blocks": 8, "intermediate_bytes": 512}))


def observed(part: ActStage, rng: random.Random) -> ActBench:
    """A bench that has run."""
    bench = ActBench(part, rng)
    run(part, bench.ends, cycles=2000, rng=rng)
    return bench


@pytest.mark.parametrize("seed", range(2))
def test_plans_are_carried_out(seed: int) -> None:
    bench = observed(ActStage(shapes=SHAPES), random.Random(seed))
    assert bench.counts["left"] > 150
    assert bench.counts["long search"] > 0
    statuses = (Status.TIMEOUT, Status.BAD_ADDRESS, Status.BAD_TERMS, Status.PEER_ERROR, Status.LENGTH_MISMATCH)
    for kind in (*STEPS, *statuses, Phase.READY, Phase.BLOCKED, "announced", "not waited for", "loaded before",
                 "loaded beside", "check and credit", "check and report", "sent", "run"):
        assert bench.counts[kind] > 1, kind


@pytest.mark.parametrize(("old", "new"), [
    ("waited[-1]):\n", "waited.any()):\n"),
    ("m.d.comb += self.credit.hold.eq(1)", "m.d.comb += self.credit.hold.eq(waited[-1])"),
    ("sure = ~plan.unsure | self.step.certain", "sure = ~plan.unsure"),
    ("lookup.key.seq_id.eq(plan.key.seq_id + found.ahead)", "lookup.key.seq_id.eq(plan.key.seq_id)"),
    ("(plan.key.seq_id + ahead)[:len(ahead)], 1", "ahead, 1"),
    ("(ahead + 1 == plan.wanted) | ahead.all()", "ahead + 1 == plan.wanted"),
    ("for known in (found.searched, found.ahead, found.missing)", "for known in (found.searched, found.ahead)"),
    ("found.has_reason | found.changed, Phase.READY", "found.has_reason, Phase.READY"),
    ("found.changed.eq(self.returned | self.step.finish)", "found.changed.eq(self.returned)"),
    ("m.d.sync += found.has_reason.eq(found.changed)", "m.d.sync += found.has_reason.eq(0)"),
    ("step.credit | step.check & plan.sends", "step.credit"),
    ("(~plan.foreign | found.window_ok)", "(~plan.foreign | found.window_known)"),
    ("self.window.answer.ready.eq(valid | self.o_fault.ready)", "self.window.answer.ready.eq(1)"),
    ("~step.check & ~remarkable", "~step.check"),
    ("m.d.sync += found.reported.eq(1)", "m.d.sync += found.reported.eq(~plan.marked)"),
    ("with m.If(plan.differs):", "with m.If(plan.differs & ~plan.marked):"),
    ("answer.eq(Mux(reply.valid & reply.ready, reply.payload, kept))", "answer.eq(kept)"),
    ("self.step.fire & plan.final", "self.step.fire"),
    ("plan.fill & ~filled & ~loader.idle, ~plan", "plan.fill & ~loader.idle, ~plan"),
    ("asks = self.o_lookup.ready & step.ask & ~loads", "asks = self.o_lookup.ready & step.ask"),
    ("found.settled.eq(self.i.payload.step.credit)", "found.settled.eq(1)"),
    ("self.want.asks & reply.valid & ~reply.payload.ok", "self.want.asks & reply.valid & found.changed"),
], ids=[
    "too little patience", "a request decided on too early", "nothing is announced", "a search for one packet",
    "missing from 0 on", "a search that goes round", "missing of the operation before", "a reason beside the answer",
    "no older context ends", "a reason beside the request", "no credit for a foreign result", "a write to nobody",
    "a bad address unreported", "a pass before its report", "a report twice", "the lesser error", "an older credit",
    "a trigger in each pass", "loaded twice", "asked for while loading", "a pass before its check",
    "a refusal that is not heard",
])
def test_planted(old: str, new: str) -> None:
    """An error of the stage is found."""
    with pytest.raises(AssertionError):
        observed(changed(ActStage, old, new)(shapes=SHAPES), random.Random(1))
