"""Proofs of the point-to-point path."""

from testbench.formal.proof import Mutation, Proof

_GETS = "rtl.p2p.get_requester"

_ANSWERS = "rtl.p2p.answer_check"
_RECORDS = "rtl.p2p.records"

P2P_PROOFS: tuple[Proof, ...] = (
    Proof(
        name="answer-check",
        claim="an ACK is passed on only if it bears number, node, VPs and nonce of an operation that was opened",
        contract="testbench.formal.contracts.answer_check:AnswerCheckContract",
        depth=8,
        any_memory=False,  # what nobody has opened is zeros, and no operation
        mutations=(
            Mutation(name="number-alone", module=_ANSWERS, old="~wrong.any())", new="~wrong[0])"),
            Mutation(name="any-node", module=_RECORDS, old="asked.node != answer.source_id, ", new=""),
            Mutation(name="any-vp-answers", module=_RECORDS, old="asked.peer_vp != answer.source_vp,", new=""),
            Mutation(
                name="half-of-the-nonce", module=_RECORDS, old="asked.nonce[half:] != nonce[half:],", new="",
            ),
            Mutation(
                name="compared-with-the-one-before", module=_ANSWERS, old="m.d.comb += read.en.eq(1)",
                new="m.d.comb += read.en.eq(~self.i.valid)",
            ),
            Mutation(
                name="dropped-while-it-waits", module=_ANSWERS, old="self.i.ready.eq(self.o.ready | wrong.any())",
                new="self.i.ready.eq(1)",
            ),
            Mutation(
                name="counted-twice", module=_ANSWERS, old="self.forged.eq(~wrong[0] & wrong[1:].any())",
                new="self.forged.eq(wrong[1:].any())",
            ),
        ),
    ),
    Proof(
        name="get-requester",
        claim="each fragment is asked for once and in order; of one node one GET goes after the other; bounds hold",
        contract="testbench.formal.contracts.get_requester:GetRequesterContract",
        parameters={"in_hand": 2, "window": 2, "under_way": 2, "bound": 7},
        depth=21,
        quick=False,
        any_memory=False,  # a place is always written before it is read; so bits that are never set need no search
        mutations=(
            Mutation(
                name="rivals-of-one-node-not-seen", module=_GETS,
                old="waiting.eq(0), before.eq(rivals)]", new="waiting.eq(0), before.eq(0)]",
            ),
            Mutation(
                name="wait-never-over", module=_GETS, old="before.eq(before & ~freed),", new="before.eq(before),",
            ),
            Mutation(
                name="window-not-looked-at", module=_GETS, old="(waiting != window) & ", new="",
            ),
            Mutation(
                name="bound-of-all-not-looked-at", module=_GETS,
                old="may_ask.eq(self.awaited.count < self.limits.under_way)", new="may_ask.eq(1)",
            ),
            Mutation(
                name="landing-of-another-counted", module=_GETS,
                old="self.awaited.landed & hand.taken[k] & (self.awaited.entry == entry)",
                new="self.awaited.landed & hand.taken[k]",
            ),
            Mutation(
                name="failed-one-goes-on", module=_GETS,
                old='with m.If(hand.gives_up):\n                    m.next = "STOP"', new="",
            ),
            Mutation(
                name="failed-one-waits-for-its-window", module=_GETS,
                old="(hand.failed[k] | (may_ask", new="((may_ask",
            ),
            Mutation(
                name="place-written-by-both-sides", module=_GETS,
                old="waits=request_left | hand.ends)", new="waits=request_left & hand.ends)",
            ),
            Mutation(
                name="rival-ends-as-another-begins", module=_GETS,
                old="waits=request_left | hand.ends)", new="waits=request_left & ~hand.ends)",
            ),
            Mutation(
                name="one-in-hand", module=_GETS,
                old="~hand.taken.all()),\n                    self.i.ready.eq(self.room),\n                    "
                "self.i_number.ready.eq(self.i.valid & ~hand.taken.all()),",
                new="~hand.taken.any()),\n                    self.i.ready.eq(self.room),\n                    "
                "self.i_number.ready.eq(self.i.valid & ~hand.taken.any()),",
            ),
            Mutation(
                name="opened-before-it-is-booked", module=_GETS,
                old='with m.If(self.o_book.ready):\n                    m.next = "OPEN"', new='m.next = "OPEN"',
            ),
            Mutation(
                name="nonce-of-the-number", module=_GETS, old="begun.nonce.eq(number.nonce),",
                new="begun.nonce.eq(number.number),",
            ),
            Mutation(
                name="address-stays", module=_GETS,
                old="after.remote.eq(rest.remote + self.mtu),", new="after.remote.eq(rest.remote),",
            ),
            Mutation(
                name="place-kept-after-the-last", module=_GETS,
                old="m.d.comb += hand.ends.eq(final)", new="m.d.comb += hand.ends.eq(0)",
            ),
            Mutation(
                name="turn-goes-on-while-it-asks", module=_GETS,
                old="look.en.eq(hand.turn.advance),", new="look.en.eq(1),",
            ),
            Mutation(
                name="always-the-first-place", module="rtl.kit.round_robin",
                old="m.d.sync += after.eq(Cat(self.grant[:k].any() for k in range(self.n)))", new="pass",
            ),
        ),
    ),
)
