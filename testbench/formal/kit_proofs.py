"""Proofs of buffers and queues of the kit."""

from testbench.formal.proof import Mutation, Proof

_FIFO = "rtl.kit.fifo"
_SKID = "rtl.kit.skid"
_ALTERNATING = "rtl.kit.alternating_queue"


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


KIT_PROOFS: tuple[Proof, ...] = (
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
        name="registers-in-a-row",
        claim="the same of the variant that is two registers in a row",
        contract="testbench.formal.contracts.stream_order:FifoContract",
        parameters={"depth": 2, "registered": True, "full_rate": False, "prompt": False},
        mode="prove",
        depth=12,
        mutations=(
            Mutation(
                name="loads-over-what-waits",
                module=_FIFO,
                old="with m.If(came if self.guarded else ~waits):",
                new="with m.If(self.i.valid if self.guarded else ~waits):",
            ),
            Mutation(
                name="offers-while-it-loads",
                module=_FIFO,
                old="with m.If(~offered):",
                new="with m.If(self.o.ready):",
            ),
            Mutation(
                name="offers-once-more",
                module=_FIFO,
                old="offered.eq(Mux(offered, ~self.o.ready, waits)),",
                new="offered.eq(Mux(offered, ~self.o.ready | waits, waits)),",
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
)
