"""Proofs of the point-to-point path."""

from testbench.formal.proof import Mutation, Proof

_GETS = "rtl.p2p.get_requester"
_RANGE = "rtl.p2p.range_check"
_ADMISSION = "rtl.p2p.admission"
_SERVER = "rtl.p2p.get_server"
_WHOLE = "testbench.formal.contracts.whole_operation"

_ANSWERS = "rtl.p2p.answer_check"
_RECORDS = "rtl.p2p.records"

P2P_PROOFS: tuple[Proof, ...] = (
    Proof(
        name="answer-check",
        claim="an ACK is passed on only if it bears number, node, VPs and nonce of an operation that was opened",
        contract="testbench.formal.contracts.answer_check:AnswerCheckContract",
        depth=8,
        any_memory=False,  # entries that nobody has opened have numbers that match nothing
        mutations=(
            Mutation(name="number-alone", module=_ANSWERS, old="~wrong.any())", new="~wrong[0])"),
            Mutation(name="any-node", module=_RECORDS, old="outstanding.node != answer.source_id, ", new=""),
            Mutation(name="any-vp-answers", module=_RECORDS, old="outstanding.peer_vp != answer.source_vp,", new=""),
            Mutation(
                name="half-of-the-nonce", module=_RECORDS, old="outstanding.nonce[half:] != nonce[half:],", new="",
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
        name="range-check",
        claim="a fragment whose range is proper lies within it, as far from a flit's edge; no proper one is refused",
        contract=f"{_WHOLE}:RangeCheckContract",
        parameters={"flit_bytes": 4, "address_bits": 8, "bytes_bits": 6},
        mode="prove",
        depth=5,
        mutations=(
            Mutation(name="shorter-than-its-fragment", module=_RANGE, old="self.bytes > left,", new="0,"),
            Mutation(name="sum-wraps", module=_RANGE, old="total[-1],", new="0,"),
            Mutation(
                name="between-flits", module=_RANGE, old="before[:(self.flit_bytes - 1).bit_length()].any(),", new="0,",
            ),
            Mutation(name="part-without-data", module=_RANGE, old="self.part & (self.bytes == 0),", new="0,"),
            Mutation(
                name="below-zero", module=_RANGE, old="Cat(self.whole_addr, self.below).eq(first)",
                new="self.whole_addr.eq(first)",
            ),
            Mutation(name="end-alone", module=_RANGE, old="total.eq(before + left)", new="total.eq(left)"),
        ),
    ),
    Proof(
        name="whole-put",
        claim="a PUT is written only if its window was asked about the whole of its operation, and allowed it",
        contract=f"{_WHOLE}:AdmissionContract",
        depth=10,
        mutations=(
            Mutation(
                name="before-not-looked-at", module=_ADMISSION, old="window.query.payload.addr.eq(whole.whole_addr),",
                new="window.query.payload.addr.eq(header.addr),",
            ),
            Mutation(
                name="left-not-looked-at", module=_ADMISSION, old="window.query.payload.bytes.eq(whole.whole_bytes),",
                new="window.query.payload.bytes.eq(header.length),",
            ),
            Mutation(
                name="any-range", module=_ADMISSION, old="window.query.valid.eq(whole.fits & ~whole.below)",
                new="window.query.valid.eq(1)",
            ),
            Mutation(
                name="answer-not-looked-at", module=_ADMISSION, old="with m.If(~window.answer.payload.ok):",
                new="with m.If(0):",
            ),
            Mutation(
                name="part-without-data-is-empty", module=_ADMISSION,
                old="(incoming.length == 0) & ~is_part(incoming)", new="incoming.length == 0",
            ),
        ),
    ),
    Proof(
        name="whole-get",
        claim="memory is read for a GET only if its window was asked about the whole of its operation, and allowed it",
        contract=f"{_WHOLE}:GetServerContract",
        depth=14,
        mutations=(
            Mutation(
                name="before-not-looked-at", module=_SERVER, old="query.payload.addr.eq(whole.whole_addr),",
                new="query.payload.addr.eq(request.addr),",
            ),
            Mutation(
                name="left-not-looked-at", module=_SERVER, old="query.payload.bytes.eq(whole.whole_bytes),",
                new="query.payload.bytes.eq(n_bytes),",
            ),
            Mutation(
                name="any-range", module=_SERVER, old="query.valid.eq(whole.fits & ~whole.below)",
                new="query.valid.eq(1)",
            ),
            Mutation(
                name="answer-not-looked-at", module=_SERVER, old="with m.If(~answer.payload.ok):", new="with m.If(0):",
            ),
            Mutation(
                name="whole-read", module=_SERVER, old="self.read.request.payload.bytes.eq(n_bytes),",
                new="self.read.request.payload.bytes.eq(whole.whole_bytes),",
            ),
        ),
    ),
    Proof(
        name="get-requester",
        claim="each fragment is asked for once and in order; of one node one GET goes after the other; bounds hold",
        contract="testbench.formal.contracts.get_requester:GetRequesterContract",
        parameters={"in_hand": 2, "window": 2, "under_way": 2, "bound": 8},
        depth=24,
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
                old="hand.ends.eq(final & request_left),", new="hand.ends.eq(0),",
            ),
            Mutation(
                name="range-of-the-fragment", module=_GETS, old="operation.left.eq(rest.left),",
                new="operation.left.eq(size),",
            ),
            Mutation(
                name="last-one-without-a-range", module=_GETS,
                old="part.eq((rest.index != 0) | (rest.left > self.mtu)),", new="part.eq(rest.left > self.mtu),",
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
