"""All proofs."""

from testbench.formal.arithmetic_proofs import ARITHMETIC_PROOFS
from testbench.formal.job_proofs import JOB_PROOFS
from testbench.formal.link_proofs import LINK_PROOFS
from testbench.formal.proof import Mutation, Proof
from testbench.formal.switch_proofs import SWITCH_PROOFS
from testbench.formal.table_proofs import TABLE_PROOFS
from testbench.formal.trigger_proofs import TRIGGER_PROOFS

_FIFO = "rtl.kit.fifo"
_SKID = "rtl.kit.skid"
_ALTERNATING = "rtl.kit.alternating_queue"
_SLOTS = "rtl.buffer.packet_slots"
_CREDIT = "rtl.credit.credit_table"
_SHARED_POOL = "rtl.credit.shared_pool"


class UnknownProofError(ValueError):
    """No such proof."""


def _fifo(name: str, claim: str, *, registered: bool) -> Proof:
    """A proof of a variant of the queue with asynchronous memory."""
    if registered:
        room, pop, kept = "self.i.ready.eq(room),", "pop.eq(take & some),", "kept"
    else:
        room, pop, kept = "self.i.ready.eq(store.w_rdy),", "store.r_en.eq(self.o.ready),", "store.level"
    writes = (Mutation(name="writes-when-full", module=_FIFO, old="put.en.eq(came),", new="put.en.eq(self.i.valid),"),)
    return Proof(
        name=name,
        claim=claim,
        contract="testbench.formal.contracts.stream_order:FifoContract",
        parameters={"depth": 3, "registered": registered},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="takes-when-full",
                module=_FIFO,
                old=room,
                new="self.i.ready.eq(1),",
            ),
            Mutation(
                name="keeps-what-was-read",
                module=_FIFO,
                old=pop,
                new=f"{pop.removesuffix('),').removesuffix(',')} & ({kept} != 2)),",
            ),
            *(writes if registered else ()),
        ),
    )


PROOFS: tuple[Proof, ...] = (
    _fifo("fifo", "items come out in order, none is lost, none twice, the level is right", registered=False),
    _fifo("registered-fifo", "the same of the variant that offers from a register", registered=True),
    Proof(
        name="half-rate-fifo",
        claim="the same of the variant whose register is loaded only while it is empty",
        contract="testbench.formal.contracts.stream_order:FifoContract",
        parameters={"depth": 3, "registered": True, "full_rate": False},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="offers-on-and-on",
                module=_FIFO,
                old="with m.If(self.o.ready):\n                m.d.sync += full.eq(0)",
                new="with m.If(self.o.ready):\n                m.d.sync += full.eq(full)",
            ),
            Mutation(
                name="loads-over-what-waits",
                module=_FIFO,
                old="take.eq(~full | (self.o.ready if self.full_rate else 0)),",
                new="take.eq(1),",
            ),
        ),
    ),
    Proof(
        name="patient-fifo",
        claim="the same of the variant whose items all go through its memory",
        contract="testbench.formal.contracts.stream_order:FifoContract",
        parameters={"depth": 3, "registered": True, "prompt": False},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="offers-what-is-not-read",
                module=_FIFO,
                old="full.eq(pop | (came & pass_by))",
                new="full.eq(pop | came)",
            ),
            Mutation(
                name="stores-what-passes-by",
                module=_FIFO,
                old="pass_by.eq(take & ~some if self.prompt else 0),",
                new="pass_by.eq(take & ~some),",
            ),
        ),
    ),
    Proof(
        name="unguarded-fifo",
        claim="the same of the variant whose register also takes over what is no item",
        contract="testbench.formal.contracts.stream_order:FifoContract",
        parameters={"depth": 3, "registered": True, "guarded": False},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="loads-over-what-waits",
                module=_FIFO,
                old="take.eq(~full | (self.o.ready if self.full_rate else 0)),",
                new="take.eq(1),",
            ),
        ),
    ),
    Proof(
        name="fifo-of-two",
        claim="the same of the variant that is a skid buffer",
        contract="testbench.formal.contracts.stream_order:FifoContract",
        parameters={"depth": 2, "registered": False},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="counts-one",
                module=_FIFO,
                old="self.level.eq(pair.o.valid + ~pair.i.ready)",
                new="self.level.eq(pair.o.valid)",
            ),
            Mutation(
                name="loses-the-skid",
                module=_SKID,
                old="valid.eq(self.i.valid | ~ready |",
                new="valid.eq(self.i.valid |",
            ),
        ),
    ),
    Proof(
        name="deep-fifo",
        claim="the same of the variant with synchronous memory",
        contract="testbench.formal.contracts.stream_order:DeepFifoContract",
        mode="bmc",
        depth=24,
        mutations=(
            Mutation(
                name="overtakes",
                module=_FIFO,
                old="pass_by.eq(take & ~some & ~ahead),",
                new="pass_by.eq(take & ~some),",
            ),
        ),
    ),
    Proof(
        name="skid",
        claim="items come out in order, none is lost, none twice",
        contract="testbench.formal.contracts.stream_order:SkidContract",
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="loses-the-skid",
                module=_SKID,
                old="valid.eq(self.i.valid | ~ready |",
                new="valid.eq(self.i.valid |",
            ),
            Mutation(
                name="doubles-the-skid",
                module=_SKID,
                old="ready.eq(~valid | self.o.ready | (ready & ~self.i.valid)),",
                new="ready.eq(Mux(~valid | self.o.ready, ready | self.i.valid, ready & ~self.i.valid)),",
            ),
        ),
    ),
    Proof(
        name="turn-buffer",
        claim="items come out in order, none is lost, none twice",
        contract="testbench.formal.contracts.stream_order:TurnContract",
        mode="bmc",
        depth=14,
        mutations=(
            Mutation(
                name="place-filled-twice", module=_SKID,
                old="full.eq(~get & (full | (put & some)))", new="full.eq(~get & full)",
            ),
            Mutation(
                name="emptied-out-of-turn", module=_SKID,
                old="get_at.eq(get_at ^ get)", new="get_at.eq(Mux(get, ~put_at, get_at))",
            ),
            Mutation(
                name="both-at-once-counts", module=_SKID,
                old="some.eq(put | full | (some & ~get))", new="some.eq(put | (some & ~get))",
            ),
        ),
    ),
    Proof(
        name="alternating-queue",
        claim="none is lost, none twice; those of one key in order; two of one key in a row only if no other waits",
        contract="testbench.formal.contracts.turns:AlternatingContract",
        parameters={"depth": 2},
        mode="bmc",
        depth=12,
        mutations=(
            Mutation(
                name="slot-given-twice", module=_ALTERNATING,
                old="(used | Mux(stored, 1 << free, 0)) & ~Mux", new="used & ~Mux",
            ),
            Mutation(
                name="gap-not-closed", module=_ALTERNATING, old="with m.If(goes & (chosen <= k)):",
                new="with m.If(goes & (chosen < k)):",
            ),
            Mutation(
                name="last-of-those-past", module=_ALTERNATING,
                old="m.d.sync += [head.eq(self.i.payload), last.eq(key)]", new="m.d.sync += head.eq(self.i.payload)",
            ),
            Mutation(
                name="past-those-who-wait", module=_ALTERNATING,
                old="past.eq(came & take & ~valid[0])", new="past.eq(came & take)",
            ),
            Mutation(
                name="first-come-first-served", module=_ALTERNATING,
                old="with m.If(Mux(other.any(), other[k], among[k])):", new="with m.If(among[k]):",
            ),
        ),
    ),
    Proof(
        name="preferring-queue",
        claim="with kinds: none is lost, none twice; those of one key and kind in order; the kind that is wanted first",
        contract="testbench.formal.contracts.turns:AlternatingContract",
        parameters={"depth": 2, "prefers": True},
        mode="bmc",
        depth=8,
        mutations=(
            Mutation(
                name="kind-not-kept", module=_ALTERNATING,
                old="m.d.sync += waiting[k].kind.eq(self.kind(self.i.payload))", new="pass",
            ),
            Mutation(
                name="other-kind-wanted", module=_ALTERNATING,
                old="(waiting[k].kind == self.wanted)", new="(waiting[k].kind != self.wanted)",
            ),
            Mutation(
                name="first-of-any-kind", module=_ALTERNATING, old="Mux(right.any(), right, valid)", new="valid",
            ),
        ),
    ),
    Proof(
        name="held-queue",
        claim="the same as alternating-queue, and nothing is chosen while that is held back",
        contract="testbench.formal.contracts.turns:AlternatingContract",
        parameters={"depth": 2, "holds": True},
        mode="bmc",
        depth=10,
        mutations=(
            Mutation(
                name="chosen-all-the-same", module=_ALTERNATING,
                old="take.eq((~full | self.o.ready) & may_choose)", new="take.eq(~full | self.o.ready)",
            ),
            Mutation(
                name="goes-and-stays", module=_ALTERNATING,
                old="        with m.Elif(self.o.ready):\n            m.d.sync += full.eq(0)\n", new="",
            ),
        ),
    ),
    Proof(
        name="slot-pool",
        claim="no slot is handed out twice, none is lost, the level is right",
        contract="testbench.formal.contracts.slot_pool:SlotPoolContract",
        parameters={"n_slots": 3},
        mode="prove",
        depth=16,
        mutations=(
            Mutation(
                name="returned-before-fresh",
                module=_SLOTS,
                old="returned.o.ready.eq(self.o.ready & ~fresh),",
                new="returned.o.ready.eq(self.o.ready),",
            ),
            Mutation(
                name="one-slot-too-many",
                module=_SLOTS,
                old="none_fresh.eq(n_fresh == self.n_slots - 1)",
                new="none_fresh.eq(n_fresh == self.n_slots)",
            ),
        ),
    ),
    Proof(
        name="credit-table",
        claim="no credit is lost or made; the last one goes to the oldest pulse only; a job reported at rest is",
        contract="testbench.formal.contracts.credit:CreditTableContract",
        parameters={"lending": False, "peer_credits": 2},
        depth=34,
        quick=False,
        any_memory=False,
        mutations=(
            Mutation(
                name="grants-one-too-many", module=_CREDIT,
                old="own.eq(stored.out[0] < Mux(", new="own.eq(stored.out[0] <= Mux(",
            ),
            Mutation(
                name="returns-one-at-most", module=_CREDIT,
                old="update.out[k].eq(stored.out[k] - back)",
                new="update.out[k].eq(stored.out[k] - (back != 0))",
            ),
            Mutation(
                name="at-rest-with-credits-out", module=_CREDIT,
                old="with m.If(sum_out.watched & (sum_out.out == back)):",
                new="with m.If(sum_out.watched & (sum_out.out != 0)):",
            ),
            Mutation(
                name="never-settled", module=_CREDIT,
                old="t.after.watched.eq(owing)", new="t.after.watched.eq(0)",
            ),
            Mutation(
                name="last-for-anyone",
                module=_CREDIT,
                old="Mux(asking.oldest, share, share - 1)),",
                new="Mux(asking.oldest, share, share)),",
            ),
        ),
    ),
    Proof(
        # With a share of one every packet may ask; that one asks for ever after a refusal is found by the bench.
        name="credit-loans",
        claim="the same with shared credits: none is lost or made; none stays after the end of an operation",
        contract="testbench.formal.contracts.credit:CreditTableContract",
        parameters={"lending": True, "peer_credits": 1},
        depth=34,
        quick=False,
        any_memory=False,
        mutations=(
            Mutation(
                name="loan-used-twice", module=_CREDIT,
                old="update.loans.eq(stored.loans - loan)", new="update.loans.eq(stored.loans)",
            ),
            Mutation(
                name="loan-takes-a-credit-as-well", module=_CREDIT,
                old="with m.If(own & ~loan):", new="with m.If(own):",
            ),
            Mutation(
                name="loan-kept-after-the-end", module=_CREDIT,
                old="keep.eq(~sum_out.watched & ", new="keep.eq(",
            ),
            Mutation(
                name="loan-stays-at-the-end", module=_CREDIT,
                old="flushing.eq(self._shares), ", new="flushing.eq(0), ",
            ),
            Mutation(
                name="loan-goes-back-and-stays", module=_CREDIT,
                old="t.update.loans.eq(t.stored.loans - 1), t.updates.eq(1),",
                new="t.updates.eq(1),",
            ),
            Mutation(
                name="asks-without-room", module=_CREDIT,
                old="(reserved != LOANS_ASKED)", new="(loans.asked != LOANS_ASKED)",
            ),
        ),
    ),
    Proof(
        name="shared-pool",
        claim="outstanding and free shared credits are the pool, whatever peers return; none is renewed at the cost of "
        "those who have none",
        contract="testbench.formal.contracts.shared_pool:SharedPoolContract",
        parameters={"pool": 3},
        mode="prove",
        depth=16,
        mutations=(
            Mutation(
                name="lends-more-than-there-are", module=_SHARED_POOL,
                old="want & ((self.free != 0) | (ends & ~hungry))", new="want",
            ),
            Mutation(
                name="keeps-what-was-consumed", module=_SHARED_POOL,
                old="self.free + (self.taken & ends) + ", new="self.free + ",
            ),
            Mutation(
                name="keeps-what-was-written-off", module=_SHARED_POOL,
                old="(self.taken & self.granted) + self.lost", new="(self.taken & self.granted)",
            ),
            Mutation(
                name="always-renews", module=_SHARED_POOL, old="(ends & ~hungry)", new="ends",
            ),
            Mutation(
                name="takes-back-what-was-not-lent", module=_SHARED_POOL,
                old="(self.unused & some)", new="self.unused",
            ),
            Mutation(
                name="job-at-rest-with-loans-out", module=_SHARED_POOL,
                old="self.gone.eq(1 + ends - self.granted)", new="self.gone.eq(1 + ends)",
            ),
            Mutation(
                name="one-loan-back-twice", module=_SHARED_POOL,
                old="(some & ~self.unused | two)", new="some",
            ),
        ),
    ),
    *JOB_PROOFS,
    *LINK_PROOFS,
    *TABLE_PROOFS,
    *TRIGGER_PROOFS,
    *SWITCH_PROOFS,
    *ARITHMETIC_PROOFS,
)


def find_proof(name: str) -> Proof:
    """The proof of that name.

    Raises
    ------
    UnknownProofError
        If there is none.
    """
    for proof in PROOFS:
        if proof.name == name:
            return proof
    raise UnknownProofError(f"must be one of {', '.join(proof.name for proof in PROOFS)}, not {name!r}")
