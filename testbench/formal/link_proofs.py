"""Proofs of the reliable link."""

from testbench.formal.proof import Mutation, Proof

_RECEIVER = "rtl.link.frame_receiver"
_SENDER = "rtl.link.frame_sender"
_BUFFER = "rtl.link.replay_buffer"
_CONTRACT = "testbench.formal.contracts.reliable_link:ReliableLinkContract"
_SIZES = {"buffer_flits": 2, "replay_flits": 2}
_MORE_IS_KEPT = {"buffer_flits": 2, "replay_flits": 4}

_DATA = (
    Mutation(
        name="acknowledgement-off-by-one", module=_BUFFER,
        old="target.eq(Mux(taken, notice.value, oldest)),", new="target.eq(Mux(taken, notice.value + 1, oldest)),",
    ),
    Mutation(
        name="sends-on-after-a-jump", module=_SENDER,
        old="with m.If(Mux(after, buffer.jumps[1], buffer.jumps[0])):", new="with m.If(0):",
    ),
    Mutation(
        name="forgets-what-came-last", module=_BUFFER,
        old="shown = Mux(passes_by, fresh.as_value(), store.read_data)", new="shown = store.read_data",
    ),
    Mutation(
        name="duplicate-delivered", module=_RECEIVER,
        old="matches.eq(concerned & (fields.position[:self.bits] == after) & ~marks & ~owes.is_owed & ~self.cut),",
        new="matches.eq(concerned & ((fields.position[:self.bits] == after) | behind) & ~marks & ~owes.is_owed),",
    ),
    Mutation(
        name="delivers-what-is-not-checked", module=_RECEIVER,
        old="opens = self.good & (self.i.fields.kind != ControlKind.TRAIN)",
        new="opens = control & (self.i.fields.kind != ControlKind.TRAIN)",
    ),
    Mutation(
        name="goes-on-after-damage", module=_RECEIVER,
        old="(concerned & ~matches) | ours & (now.fails | now.data & run.holds & full)",
        new="(concerned & ~matches) | ours & (now.data & run.holds & full)",
    ),
    Mutation(
        name="leaves-a-copy-open", module=_RECEIVER,
        old="spoils.eq((breaks | self.cut) & (after != whole_after)),", new="spoils.eq(0),",
    ),
    Mutation(
        name="no-mark", module=_RECEIVER,
        old="self.flit.last.eq(1), self.flit.bad.eq(1),", new="self.flit.last.eq(1), self.flit.bad.eq(0),",
    ),
)
_ROOM = (
    Mutation(
        name="credits-of-spoiled-copies-returned", module=_RECEIVER,
        old="left_after.eq(left + (credit_spent & ~is_owed)),", new="left_after.eq(left + credit_spent),",
    ),
    Mutation(
        name="takes-a-replay-before-there-is-room", module=_RECEIVER,
        old="matches.eq(concerned & (fields.position[:self.bits] == after) & ~marks & ~owes.is_owed & ~self.cut),",
        new="matches.eq(concerned & (fields.position[:self.bits] == after)),",
    ),
    Mutation(
        name="credits-of-packets-that-may-be-spoiled", module=_RECEIVER,
        old="free=Mux(ahead[-1], left, whole))", new="free=left)",
    ),
    Mutation(
        name="more-flits-than-there-is-room-for", module=_RECEIVER,
        old="full.eq((room == 0) | now.data & ((at - whole)[:self.bits] == self.buffer_flits - 1)),",
        new="full.eq(0),",
    ),
    Mutation(
        name="credit-counted-twice", module=_BUFFER,
        old="given.eq(given + turn.grant[vc] - ring.dropped + ring.moved),",
        new="given.eq(given + (turn.grant[vc] & (given != 1)) - ring.dropped + ring.moved),",
    ),
    Mutation(
        name="credits-beyond-the-room-of-the-ring", module=_BUFFER,
        old="(given != freed) & (given != (ring.oldest + spare)[:self.bits])", new="given != freed",
    ),
)

_BY_NAME = {mutation.name: mutation for mutation in (*_DATA, *_ROOM)}
_QUICK = ("acknowledgement-off-by-one", "duplicate-delivered", "delivers-what-is-not-checked", "no-mark")
_WITH_MORE = ("credits-of-packets-that-may-be-spoiled",)

LINK_PROOFS: tuple[Proof, ...] = (
    Proof(
        name="reliable-link",
        claim="whatever happens to words in both directions: packets come once and in order, within the credits",
        contract=_CONTRACT,
        parameters={**_SIZES, "both": False},
        depth=18,
        mutations=tuple(_BY_NAME[name] for name in _QUICK),
    ),
    Proof(
        name="reliable-link-deeper",
        claim="the same in more cycles, and a credit comes back for no flit of a spoiled copy",
        contract=_CONTRACT,
        parameters={**_SIZES, "both": False},
        depth=21,
        quick=False,
        mutations=tuple(
            mutation for name, mutation in _BY_NAME.items() if name not in (*_QUICK, *_WITH_MORE)
        ),
    ),
    Proof(
        name="reliable-link-with-more-kept",
        claim="the same if the sender keeps more than the receiver has room for",
        contract=_CONTRACT,
        parameters={**_MORE_IS_KEPT, "both": False},
        depth=18,
        quick=False,
        mutations=tuple(_BY_NAME[name] for name in _WITH_MORE),
    ),
    Proof(
        name="reliable-link-that-falls",
        claim="the same with packets of both channels in each other's middle, if either end is down now and then",
        contract=_CONTRACT,
        parameters={**_SIZES, "falls": True},
        depth=17,
        quick=False,
        mutations=(
            Mutation(
                name="forgets-that-a-packet-ended", module=_SENDER,
                old="with m.If(~self.link.up & self.o.valid):", new="with m.If(~self.link.up):",
            ),
            Mutation(
                name="takes-the-other-channels-flit", module=_SENDER,
                old="buffer.ahead.eq(Mux(sends_control, next_vc, run.vc)),", new="buffer.ahead.eq(run.vc),",
            ),
            Mutation(
                name="one-room-for-both", module=_RECEIVER,
                old="credit_spent.eq(self.credit_valid & (self.credit_vc == vc)),",
                new="credit_spent.eq(self.credit_valid),",
            ),
        ),
    ),
    Proof(
        name="reliable-link-that-dies",
        claim="nothing is thrown away while the link is not dead; what is thrown away never comes; all else comes once "
        "and in order, within the credits",
        contract=_CONTRACT,
        parameters={**_SIZES, "both": False, "falls": True, "dies": True},
        depth=18,
        quick=False,
        mutations=(
            Mutation(
                name="throws-away-what-is-only-down", module=_BUFFER,
                old="with m.If(self.link.dead):", new="with m.If(~self.link.up):",
            ),
            Mutation(
                name="goes-on-inside-of-a-packet", module=_BUFFER,
                old="ended.eq(Mux(arrives, self.i.flit.last, ~inside))", new="ended.eq(1)",
            ),
            Mutation(
                name="goes-on-where-it-was", module=_BUFFER,
                old="m.d.sync += [pointer.eq(notice.value) for pointer in (put, sent, oldest, whole)]", new="pass",
            ),
            Mutation(
                name="credits-twice-for-what-is-thrown-away", module=_BUFFER,
                old="turn.grant[vc] - ring.dropped + ring.moved),", new="turn.grant[vc] - ring.dropped),",
            ),
            Mutation(
                name="keeps-what-comes-meanwhile", module=_BUFFER,
                old="with m.If(arrives & ~drains):", new="with m.If(arrives):",
            ),
        ),
    ),
)
