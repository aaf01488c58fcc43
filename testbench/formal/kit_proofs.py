"""Proofs of buffers and queues of the kit."""

from testbench.formal.proof import Mutation, Proof

_QUEUE = "rtl.kit.queue"
_REGISTER = "rtl.kit.register"
_SKID = "rtl.kit.skid"
_ALTERNATING = "rtl.kit.alternating_queue"
_ORDER = "testbench.formal.contracts.stream_order"


KIT_PROOFS: tuple[Proof, ...] = (
    Proof(
        name="queue",
        claim="items come out in order, none is lost, none twice, the level is right",
        contract=f"{_ORDER}:QueueContract",
        parameters={"depth": 3},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="takes-when-full", module=_QUEUE,
                old="stored.eq(self.i.valid & ~ring.full), self.i.ready.eq(~ring.full),\n"
                    "            self.o.payload.eq(head), self.o.valid.eq(full), self.level.eq(ring.kept + full),",
                new="stored.eq(self.i.valid), self.i.ready.eq(1),\n"
                    "            self.o.payload.eq(head), self.o.valid.eq(full), self.level.eq(ring.kept + full),",
            ),
            Mutation(
                name="keeps-what-was-read", module=_QUEUE,
                old="pop.eq(take & ring.occupied),", new="pop.eq(take & ring.occupied & (ring.kept != 2)),",
            ),
            Mutation(
                name="writes-when-full", module=_QUEUE, old="put.en.eq(stored),", new="put.en.eq(self.i.valid),",
            ),
        ),
    ),
    Proof(
        name="half-rate-queue",
        claim="the same of a queue whose register is loaded only while it is empty",
        contract=f"{_ORDER}:QueueContract",
        parameters={"depth": 3, "full_rate": False},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="offers-on-and-on", module=_QUEUE,
                old="with m.If(self.o.ready):\n                m.d.sync += full.eq(0)",
                new="with m.If(self.o.ready):\n                m.d.sync += full.eq(full)",
            ),
            Mutation(
                name="loads-over-what-waits", module=_QUEUE,
                old="take.eq(~full | (self.o.ready if self.full_rate else 0)),", new="take.eq(1),",
            ),
        ),
    ),
    Proof(
        name="patient-queue",
        claim="the same of a queue whose items all go through its memory",
        contract=f"{_ORDER}:QueueContract",
        parameters={"depth": 3, "prompt": False},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="offers-what-is-not-read", module=_QUEUE,
                old="full.eq(pop | (stored & pass_by))", new="full.eq(pop | stored)",
            ),
            Mutation(
                name="stores-what-passes-by", module=_QUEUE,
                old="pass_by.eq(take & ~ring.occupied if self.prompt else 0),",
                new="pass_by.eq(take & ~ring.occupied),",
            ),
        ),
    ),
    Proof(
        name="unguarded-queue",
        claim="the same of a queue whose register also takes over what is no item",
        contract=f"{_ORDER}:QueueContract",
        parameters={"depth": 3, "guarded": False},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="loads-over-what-waits", module=_QUEUE,
                old="take.eq(~full | (self.o.ready if self.full_rate else 0)),", new="take.eq(1),",
            ),
        ),
    ),
    Proof(
        name="block-queue",
        claim="the same of a queue in synchronous memory",
        contract=f"{_ORDER}:BlockQueueContract",
        mode="bmc",
        depth=24,
        mutations=(
            Mutation(
                name="overtakes", module=_QUEUE,
                old="pass_by.eq(take & ~occupied & ~ahead),", new="pass_by.eq(take & ~occupied),",
            ),
        ),
    ),
    *(
        Proof(
            name=name,
            claim=claim,
            contract=f"{_ORDER}:RegisterContract",
            parameters={"guarded": guarded},
            mode="prove",
            depth=12,
            mutations=(
                Mutation(
                    name="loads-over-what-waits", module=_REGISTER,
                    old="with m.If(taken if self.guarded else ~full):",
                    new="with m.If(self.i.valid if self.guarded else 1):",
                ),
                Mutation(
                    name="offers-on-and-on", module=_REGISTER,
                    old="with m.If(~full | self.o.ready):", new="with m.If(~full):",
                ),
            ),
        ) for name, claim, guarded in (
            ("register", "items come out in order, none is lost, none twice, the level is right", True),
            ("unguarded-register", "the same of a register that also takes over what is no item", False),
        )
    ),
    Proof(
        name="register-pair",
        claim="the same of two registers in a row",
        contract=f"{_ORDER}:RegisterPairContract",
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="loads-over-what-waits", module=_REGISTER,
                old="with m.If(taken):\n            m.d.sync += first.eq(self.i.payload)",
                new="with m.If(self.i.valid):\n            m.d.sync += first.eq(self.i.payload)",
            ),
            Mutation(
                name="offers-while-it-loads", module=_REGISTER,
                old="with m.If(~offered):", new="with m.If(self.o.ready):",
            ),
            Mutation(
                name="offers-once-more", module=_REGISTER,
                old="offered.eq(Mux(offered, ~self.o.ready, waits)),",
                new="offered.eq(Mux(offered, ~self.o.ready | waits, waits)),",
            ),
        ),
    ),
    Proof(
        name="skid",
        claim="items come out in order, none is lost, none twice, the level is right",
        contract="testbench.formal.contracts.stream_order:SkidContract",
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="counts-one", module=_SKID, old="self.level.eq(valid + ~ready)", new="self.level.eq(valid)",
            ),
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
                name="entry-filled-twice", module=_SKID,
                old="full.eq(~get & (full | (put & occupied)))", new="full.eq(~get & full)",
            ),
            Mutation(
                name="emptied-out-of-turn", module=_SKID,
                old="get_at.eq(get_at ^ get)", new="get_at.eq(Mux(get, ~put_at, get_at))",
            ),
            Mutation(
                name="both-at-once-counts", module=_SKID,
                old="occupied.eq(put | full | (occupied & ~get))", new="occupied.eq(put | (occupied & ~get))",
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
                name="gap-not-closed", module=_ALTERNATING, old="with m.If(head_taken & (chosen <= k)):",
                new="with m.If(head_taken & (chosen < k)):",
            ),
            Mutation(
                name="last-of-those-past", module=_ALTERNATING,
                old="m.d.sync += [head.eq(self.i.payload), last.eq(key)]", new="m.d.sync += head.eq(self.i.payload)",
            ),
            Mutation(
                name="past-those-who-wait", module=_ALTERNATING,
                old="passed_by.eq(accepted & take & ~valid[0])", new="passed_by.eq(accepted & take)",
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
)
