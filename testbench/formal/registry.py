"""All proofs."""

from testbench.formal.arithmetic_proofs import ARITHMETIC_PROOFS
from testbench.formal.job_proofs import JOB_PROOFS
from testbench.formal.kit_proofs import KIT_PROOFS
from testbench.formal.link_proofs import LINK_PROOFS
from testbench.formal.p2p_proofs import P2P_PROOFS
from testbench.formal.proof import Mutation, Proof
from testbench.formal.switch_proofs import SWITCH_PROOFS
from testbench.formal.table_proofs import TABLE_PROOFS
from testbench.formal.trigger_proofs import TRIGGER_PROOFS

_SLOTS = "rtl.buffer.packet_slots"
_CREDIT = "rtl.credit.credit_table"
_SHARED_POOL = "rtl.credit.shared_pool"


class UnknownProofError(ValueError):
    """No such proof."""


PROOFS: tuple[Proof, ...] = (
    *KIT_PROOFS,
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
                old="update.n_shared.eq(stored.n_shared - spends)", new="update.n_shared.eq(stored.n_shared)",
            ),
            Mutation(
                name="loan-takes-a-credit-as-well", module=_CREDIT,
                old="with m.If(own & ~spends):", new="with m.If(own):",
            ),
            Mutation(
                name="loan-kept-after-the-end", module=_CREDIT,
                old="keep.eq(~sum_out.watched & ", new="keep.eq(",
            ),
            Mutation(
                name="loan-stays-at-the-end", module=_CREDIT,
                old="flushing.eq(self.shares), ", new="flushing.eq(0), ",
            ),
            Mutation(
                name="loan-goes-back-and-stays", module=_CREDIT,
                old="t.update.n_shared.eq(t.stored.n_shared - 1), t.updates.eq(1),",
                new="t.updates.eq(1),",
            ),
            Mutation(
                name="asks-without-room", module=_CREDIT,
                old="(reserved != self.sizes.most_wanted)", new="(shared.wanted != self.sizes.most_wanted)",
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
                old="self.free + (consumption.taken & ends) + ", new="self.free + ",
            ),
            Mutation(
                name="keeps-what-was-written-off", module=_SHARED_POOL,
                old="self.granted + self.lost",
                new="(consumption.taken & consumption.granted)",
            ),
            Mutation(
                name="always-renews", module=_SHARED_POOL, old="(ends & ~hungry)", new="ends",
            ),
            Mutation(
                name="takes-back-what-was-not-lent", module=_SHARED_POOL,
                old="(self.unused & any_free)", new="self.unused",
            ),
            Mutation(
                name="job-at-rest-with-loans-out", module=_SHARED_POOL,
                old="consumption.n_left.eq(1 + ends - consumption.granted)", new="consumption.n_left.eq(1 + ends)",
            ),
            Mutation(
                name="one-loan-back-twice", module=_SHARED_POOL,
                old="(any_free & ~self.unused | two)", new="any_free",
            ),
        ),
    ),
    *JOB_PROOFS,
    *LINK_PROOFS,
    *P2P_PROOFS,
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
