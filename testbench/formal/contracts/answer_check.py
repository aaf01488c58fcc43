"""ACKs: answers to operations that have been opened become commands, others do not."""

from amaranth import Module, Signal

from testbench.formal.contract import Contract

ENTRIES = 2
WITHIN = 3
"""Cycles until an answer is passed on or dropped, while nobody holds it up."""


class AnswerCheckContract(Contract):
    """Proves :class:`~rtl.p2p.answer_check.AnswerCheck`. One operation, any one, is followed beside others."""

    def build(self, m: Module) -> None:
        from rtl.p2p.answer_check import AnswerCheck
        from rtl.p2p.records import Outstanding, nonce_of

        m.submodules.unit = unit = AnswerCheck(n=ENTRIES)
        taken = self.offered(unit.i, "answer")
        opens, asked, followed = self.free(1, "opens"), self.free(Outstanding.size, "asked"), Signal(Outstanding)
        m.d.comb += [
            followed.eq(self.constant(Outstanding.size, "followed")), unit.opened.eq(opens), unit.outstanding.eq(asked),
            unit.o.ready.eq(self.free(1, "ready")),
        ]
        header, command = unit.i.payload, unit.o.payload
        bits = ENTRIES.bit_length() - 1
        begins = opens & (asked == followed.as_value())
        opens_here = opens & (unit.outstanding.number[:bits] == followed.number[:bits])

        # Only an answer that bears all of an operation that has been opened is passed on.
        answers = unit.i.valid & (header.tag == followed.number) & (header.source_id == followed.node) & (
            header.source_vp == followed.peer_vp) & (header.dest_vp == followed.vp) & (
            nonce_of(header) == followed.nonce)
        ever, is_last = Signal(), Signal()
        m.d.sync += ever.eq(ever | begins)
        with m.If(opens_here):
            m.d.sync += is_last.eq(begins)
        self.check(~(answers & unit.o.valid) | ever)
        self.reach(answers & unit.o.valid & unit.o.ready, "an answer is passed on")

        # Answers are passed on unchanged; the others are counted, once each.
        self.check(~unit.o.valid | unit.i.valid & (command.number == header.tag))
        self.check(~unit.o.valid | (command.status == header.status) & (command.detail == header.addr))
        self.check(~unit.o.valid | (taken == unit.o.ready))
        dropped = Signal()
        m.d.sync += dropped.eq(taken & ~unit.o.valid)
        self.check((unit.unknown ^ unit.forged) == dropped)
        self.check(~unit.unknown | ~unit.forged)
        self.reach(unit.forged, "a forged one")

        # An answer to the last operation of an entry is never dropped, unless another one is opened there meanwhile.
        is_new, disturbed = Signal(init=1), Signal()
        m.d.sync += [is_new.eq(~unit.i.valid | taken), disturbed.eq(opens_here | (disturbed & ~is_new))]
        self.check(~(answers & is_last & taken) | unit.o.valid | (disturbed & ~is_new))
        waited = Signal(range(WITHIN + 2))
        with m.If(~unit.i.valid | taken | unit.o.valid):
            m.d.sync += waited.eq(0)
        with m.Else():
            m.d.sync += waited.eq(waited + 1)
        self.check(waited < WITHIN)
