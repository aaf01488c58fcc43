"""Proofs of the tag tables."""

from testbench.formal.proof import Mutation, Proof

_TABLE = "rtl.buffer.cuckoo_table"
_LOOKUP = "rtl.buffer.cuckoo_lookup"
_STASH = "rtl.buffer.tag_stash"
_LINEAR = "rtl.buffer.linear_table"
_CUCKOO = {"n_entries": 4, "banks": 2, "ways": 1, "stash": 2, "max_kicks": 2}

TABLE_PROOFS: tuple[Proof, ...] = (
    Proof(
        name="cuckoo-table",
        claim="no key is lost or doubled, a look-up returns what was inserted after 4 cycles, a free frees once",
        contract="testbench.formal.contracts.tag_table:CuckooContract",
        parameters=_CUCKOO,
        depth=17,
        any_memory=False,
        quick=False,
        mutations=(
            Mutation(
                name="free-leaves-the-stash",
                module=_TABLE,
                old="[write_at.eq(match), stash.effect.drop.eq(1), ",
                new="[write_at.eq(match), ",
            ),
            Mutation(
                name="no-forwarding",
                module=_TABLE,
                old='match[p].eq(Mux(over["act"][p], same_as["act"] & ~clears["act"], stored[p])),',
                new="match[p].eq(stored[p]),",
            ),
            Mutation(
                name="no-forwarding-from-the-write-before",
                module=_TABLE,
                old='stored[p].eq(Mux(over["acted"][p], same_as["acted"] & ~clears["acted"], same))',
                new="stored[p].eq(same)",
            ),
            Mutation(
                name="look-up-misses-removals",
                module=_LOOKUP,
                old="hit.eq(pick.any() & ~removed)",
                new="hit.eq(pick.any())",
            ),
            Mutation(
                name="look-up-skips-the-stash",
                module=_LOOKUP,
                old="same[p].eq(in_stash[j].same)",
                new="same[p].eq(0)",
            ),
        ),
    ),
    Proof(
        name="cuckoo-sweep",
        claim="the same from memories with any content when reset ends",
        contract="testbench.formal.contracts.tag_table:CuckooContract",
        parameters=_CUCKOO,
        depth=17, quick=False,
        mutations=(
            Mutation(
                name="half-a-sweep",
                module=_TABLE,
                old="swept.eq(swept_row == self.rows - 1)",
                new="swept.eq(swept_row == 0)",
            ),
        ),
    ),
    Proof(
        name="linear-table",
        claim="no key is lost or doubled, a look-up returns what was inserted, a free frees once and closes the gap",
        contract="testbench.formal.contracts.tag_table:LinearContract",
        parameters={"n_entries": 4},
        depth=20,
        any_memory=False,
        quick=False,
        mutations=(
            Mutation(
                name="gap-not-closed",
                module=_LINEAR,
                old="m.d.comb += write.en.eq(1)\n                    m.d.sync += hole",
                new="m.d.sync += hole",
            ),
            Mutation(
                name="moves-past-its-home",
                module=_LINEAR,
                old=">= (index - hole)",
                new=">= (index - hole - 1)",
            ),
            Mutation(
                name="look-up-does-not-start-over",
                module=_LINEAR,
                old="ends = same | (empty & ~moved & ~moving)",
                new="ends = same | empty",
            ),
            Mutation(
                name="look-up-misses-removals",
                module=_LINEAR,
                old="hit = (same | doubtful) & ~is_removed",
                new="hit = same | doubtful",
            ),
        ),
    ),
)
