"""The trigger's last step: carries out the plan of a context."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import Status
from rtl.cou.context_signatures import CreditWantSignature, LoaderSignature, StepSignature, event
from rtl.cou.pass_planner import plan_layout
from rtl.cou.phase import Phase
from rtl.cou.shapes import CouShapes
from rtl.cou.terms import terms_detail
from rtl.credit.credit_signatures import CreditRequestSignature
from rtl.credit.layouts import credit_answer
from rtl.interface import WindowSignature


def lookup_layout(shapes: CouShapes) -> data.StructLayout:
    """A look-up, its context, and a flag that it belongs to a search for missing packets."""
    return data.StructLayout({"key": shapes.key, "context": shapes.context, "job": shapes.job, "search": 1})


class _Findings:
    """Findings about a plan while it stands here.

    Members
    -------
    window_known, window_ok : Signal
        The address has been checked; it lies in a window.
    credited, filled, reported : Signal
        There is a credit; the operand is being laid down beside its pass; a mismatch has been reported.
    settled : Signal
        All that its step waits for is there. A credit is taken before an address is checked, so either is the last.
    waited : Signal
        Cycles for which a packet has been waited for that is only announced; its highest bit: long enough.
    changed, has_reason : Signal
        A reason to ask for a credit again comes up in this cycle; one has since the last request.
    searched, ahead, missing : Signal
        All packets have been searched for; the one that is next, from the first that is wanted; those that are missing.
    """

    def __init__(self, patience: int, seq_bits: int):
        self.window_known, self.window_ok, self.credited, self.filled, self.reported, self.settled, self.searched = (
            Signal(name=name) for name in (
                "window_known", "window_ok", "credited", "filled", "reported", "settled", "searched",
            )
        )
        self.changed, self.has_reason = Signal(name="changed"), Signal(name="has_reason")
        self.waited = Signal(range(patience + 1), name="waited")
        self.ahead, self.missing = Signal(seq_bits, name="ahead"), Signal(1 << seq_bits, name="missing")
        self.of_a_plan = (
            self.window_known, self.credited, self.filled, self.reported, self.settled, self.waited, self.has_reason,
        )
        """Findings that the next plan knows nothing of."""


class ActStage(wiring.Component):
    """Carries out the plan of a context, and puts the context to sleep until an event wakes it up.

    It waits for what must be known before the pass can be handed over: the check of an address, a credit, the missing
    packets of an operation that a time-out ends. It also waits for room in the queues of other parts.

    An operand that comes with the descriptor is loaded beside its pass if the loader is idle. For a packet that is only
    announced, nothing happens but the look-up of a credit: its tag follows within a few cycles (:attr:`PATIENCE`), or
    the context sleeps again until it does.

    Timing: one cycle; with a credit, as many more as the credit table takes to answer.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.

    Members
    -------
    i : ``In(stream.Signature(plan))``
        Plans; after each one there is a cycle without one.
    step : ``Out(StepSignature)``, want : ``Out(CreditWantSignature)``
        To the context file: what becomes of the selected context, and the credit that it wants.
    loader : ``Out(LoaderSignature)``
        Operand loader.
    o_lookup : ``Out(stream.Signature({key, context, job, search}))``, i_found : ``In(stream.Signature({missing}))``
        Packet buffer; answers of a search.
    window : ``Out(WindowSignature())``
        Check of addresses that were not checked when the descriptor was taken.
    credit : ``Out(CreditRequestSignature)``
        Credit table.
    returned : ``In(1)``
        Some credit has returned.
    o_run, o_send : ``Out(stream.Signature(run))``, ``Out(stream.Signature(send))``
        Passes that combine or write, and those that only send.
    o_fault : ``Out(stream.Signature(fault))``
        Errors.
    fired : ``Out(1)``
        Pulse: a descriptor has triggered.
    o_write_started : ``Out(event({job}))``
        A write of a result of this operation to host memory begins.
    """

    #: Cycles that a packet which has been announced is waited for here: as many as a tag takes into an idle table,
    #: less those of looking at the context. A power of two.
    PATIENCE = 4

    def __init__(self, *, shapes: CouShapes):
        self.shapes = shapes
        super().__init__({
            "i": In(stream.Signature(plan_layout(shapes))),
            "step": Out(StepSignature(shapes)), "want": Out(CreditWantSignature(shapes)),
            "loader": Out(LoaderSignature(shapes)),
            "o_lookup": Out(stream.Signature(lookup_layout(shapes))),
            "i_found": In(stream.Signature(data.StructLayout({"missing": 1}))),
            "window": Out(WindowSignature()),
            "credit": Out(CreditRequestSignature(shapes.formats)), "returned": In(1),
            "o_run": Out(stream.Signature(shapes.run)), "o_send": Out(stream.Signature(shapes.send)),
            "o_fault": Out(stream.Signature(shapes.fault)),
            "fired": Out(1), "o_write_started": Out(event(data.StructLayout({"job": shapes.job}))),
        })

    def elaborate(self, platform):
        m = Module()
        found, reply, loader = _Findings(self.PATIENCE, self.shapes.formats.seq_bits), self.credit.answer, self.loader
        load, plan = self.loader.request, self.i.payload
        step, remarkable = plan.step, plan.remarkable
        filled, reported, settled, waited = found.filled, found.reported, found.settled, found.waited
        leave = Signal()
        # A credit that returns while one is refused, or an older context that ends, is a reason to ask again.
        m.d.comb += found.changed.eq(self.returned | self.step.finish)
        with m.If(found.changed):
            m.d.sync += found.has_reason.eq(1)
        self._say(m, found, answer=self._answer_of_credit_table(m))

        # That an answer of the credit table is waited for stands beside the state: it decides whether a pass goes.
        m.d.sync += self.want.asks.eq(self.want.asks & ~reply.valid)
        with m.FSM() as fsm:
            with m.State("ACT"):
                self._act(m, found)
            self._report(m, found)
            self._drop(m, found)
            self._search(m, found)
            self._check(m, found)
            self._take_credit(m, found)

        # The pass is given away when nothing is left to be done before. A plan has one step, so none but the three that
        # lead here is looked at.
        runs, sends = self.o_run, self.o_send
        here = self.i.valid & fsm.ongoing("ACT")
        sure = ~plan.unsure | self.step.certain
        loads, brought = step.load | plan.fill & ~filled & ~loader.idle, ~plan.fill | filled | loader.idle
        acts = sure & brought & (step.run | settled) & (~remarkable | reported)
        grants = reply.valid & reply.payload.ok & ~step.check & ~remarkable
        acts_now = Signal()
        m.d.comb += [
            acts_now.eq(here & acts | self.want.asks & grants),
            runs.valid.eq(acts_now & ~plan.direct), sends.valid.eq(acts_now & plan.direct),
            self.step.fire.eq(acts_now & Mux(plan.direct, sends.ready, runs.ready)),
            self.fired.eq(self.step.fire & plan.final),
            self.o_write_started.valid.eq(self.step.fire & self.o_run.payload.output.write_back),
        ]
        # `step.sleep` is computed here, beside the states: each of them names only the phase in which the context
        # sleeps.
        asks = self.o_lookup.ready & step.ask & ~loads
        m.d.comb += [
            self.step.sleep.eq(
                self.step.fire | here & Mux(sure, load.ready & loads | asks, waited[-1])
                | self.want.asks & reply.valid & ~reply.payload.ok
            ),
            leave.eq(self.step.sleep | self.step.drop),
        ]

        # The next plan knows nothing of this one. It comes after a cycle without a plan, and that there is one is known
        # early.
        m.d.comb += self.i.ready.eq(leave)
        with m.If(~self.i.valid):
            m.d.sync += [known.eq(0) for known in found.of_a_plan]

        # That a plan leaves shows where it stands, in the stage before.
        return m

    def _act(self, m: Module, found: _Findings) -> None:
        """Takes the step of the plan, or what is to be done before. A plan has one step, so none of these looks at the
        others."""
        request, load, lookup = self.credit.request, self.loader.request, self.o_lookup
        plan, step, filled, waited = self.i.payload, self.i.payload.step, found.filled, found.waited
        with m.If(self.i.valid & plan.unsure & ~self.step.certain):
            m.d.sync += waited.eq(waited + 1)
            m.d.comb += self.credit.hold.eq(1)
            with m.If(waited[-1]):
                self._sleep(m, Phase.WAITING)
            with m.Else():
                m.d.comb += request.valid.eq(step.credit)
        with m.Elif(self.i.valid & (step.load | plan.fill & ~filled & ~self.loader.idle)):
            m.d.comb += load.valid.eq(1)
            with m.If(load.ready):
                self._sleep(m, Phase.LOADING)
        with m.Elif(self.i.valid):
            with m.If(plan.fill & ~filled):
                # A loader with nothing to do takes it at once.
                m.d.comb += [load.valid.eq(1), load.payload.beside.eq(1), self.step.loads.eq(1)]
                m.d.sync += filled.eq(1)
            with m.If(step.search & ~found.searched):
                m.d.comb += [lookup.valid.eq(1), lookup.payload.search.eq(1)]
                with m.If(lookup.ready):
                    m.next = "SEARCH"
            with m.If(step.search & found.searched | step.give_up):
                m.next = "TIMEOUT"
            with m.If(step.ask):
                m.d.comb += lookup.valid.eq(1)
                with m.If(lookup.ready):
                    m.d.comb += self.step.wait.eq(1)
                    self._sleep(m, Phase.WAITING)
            # The credit first: an address is checked once, and reported once.
            with m.If((step.credit | step.check & plan.sends) & ~found.credited):
                m.d.comb += request.valid.eq(1)
                m.d.sync += found.has_reason.eq(found.changed)
                with m.If(request.ready):
                    m.d.sync += self.want.asks.eq(1)
                    m.next = "CREDIT"
            with m.If(step.check & ~found.window_known & (found.credited | ~plan.sends)):
                m.d.comb += self.window.query.valid.eq(1)
                with m.If(self.window.query.ready):
                    m.next = "CHECK"
            # With a credit the pass will go, so this is reported once, and before the operation can end.
            with m.If((step.run | found.settled) & plan.remarkable & ~found.reported):
                m.next = "MISMATCH"

    def _sleep(self, m: Module, phase) -> None:
        """Names the phase in which the context goes to sleep, if it does."""
        m.d.comb += self.step.next_phase.eq(phase)

    def _answer_of_credit_table(self, m: Module):
        """The answer of the credit table, from the cycle in which it comes for as long as the plan stands here."""
        reply = self.credit.answer
        kept, answer = Signal(credit_answer(), name="kept_answer"), Signal(credit_answer())
        with m.If(reply.valid & reply.ready):
            m.d.sync += kept.eq(reply.payload)
        m.d.comb += answer.eq(Mux(reply.valid & reply.ready, reply.payload, kept))
        return answer

    def _say(self, m: Module, found: _Findings, *, answer):
        """Payloads for the other parts, as far as they do not depend on what is done."""
        request = self.credit.request
        plan, run, send = self.i.payload, self.o_run.payload, self.o_send.payload
        header, lookup = plan.run.output.header, self.o_lookup.payload
        m.d.comb += [
            self.step.context.eq(plan.context), self.o_write_started.payload.job.eq(plan.job),
            self.loader.request.payload.eq(plan.load), self.o_fault.payload.job.eq(plan.job),
            lookup.key.eq(plan.key), lookup.key.seq_id.eq(plan.key.seq_id + found.ahead),
            lookup.context.eq(plan.context), lookup.job.eq(plan.job),
            self.step.key.eq(plan.key), self.i_found.ready.eq(1),
            self.window.query.payload.vp.eq(header.source_vp),
            *(self.window.query.payload[name].eq(plan.query[name]) for name in ("addr", "bytes", "right")),
            request.payload.job_id.eq(header.job_id), request.payload.peer.eq(header.peer),
            request.payload.multicast.eq(header.multicast), request.payload.members.eq(plan.members),
            request.payload.oldest.eq(self.step.oldest), self.want.peer.eq(header.peer),
            run.eq(plan.run), run.output.write_back.eq(plan.run.output.write_back & (~plan.foreign | found.window_ok)),
            send.a.eq(plan.run.a), *(send[name].eq(plan.run.output[name]) for name in (
                "context", "position", "bytes", "send", "header"
            )),
            self.step.advance.eq(plan.final), self.step.ends.eq(plan.ends), self.step.cut.eq(plan.cut),
            self.step.clears.eq(plan.clears), self.step.next_phase.eq(Phase.RUNNING),
        ]
        for name, field in (("tag", "window_slot"), ("loan", "loan"), ("want", "want")):
            m.d.comb += [run.output.header[name].eq(answer[field]), send.header[name].eq(answer[field])]

    def _search(self, m: Module, found: _Findings) -> None:
        """Searches the packets of an operation that a time-out ends, one by one, and notes the missing ones."""
        plan, ahead = self.i.payload, found.ahead
        with m.State("SEARCH"):
            with m.If(self.i_found.valid):
                m.d.sync += found.missing.bit_select((plan.key.seq_id + ahead)[:len(ahead)], 1).eq(
                    self.i_found.payload.missing
                )
                m.next = "ACT"
                with m.If((ahead + 1 == plan.wanted) | ahead.all()):
                    m.d.sync += found.searched.eq(1)
                with m.Else():
                    m.d.sync += ahead.eq(ahead + 1)

    def _report(self, m: Module, found: _Findings) -> None:
        """Reports faults, in states of their own, so that no late signal of a cycle decides over them."""
        plan, fault, pulse = self.i.payload, self.o_fault.payload, self.i.payload.run.output.header.pulse
        with m.State("TIMEOUT"):
            m.d.comb += [
                self.o_fault.valid.eq(1), fault.status.eq(Status.TIMEOUT),
                fault.detail.eq(Cat(plan.consumed, pulse, found.missing)),
            ]
            with m.If(self.o_fault.ready):
                m.next = "DROP"
                m.d.sync += self.step.drop.eq(1)
        with m.State("MISMATCH"):
            m.d.comb += [
                self.o_fault.valid.eq(1), fault.status.eq(Status.LENGTH_MISMATCH),
                fault.detail.eq(Cat(plan.consumed, pulse, plan.brought_bytes)),
            ]
            # A sender that had an error may have sent too little for it.
            with m.If(plan.marked):
                m.d.comb += [
                    fault.status.eq(Status.PEER_ERROR),
                    fault.detail.eq(Cat(plan.marked_by, plan.mark, plan.consumed, pulse)),
                ]
            # Of another operation anything may differ; this says why.
            with m.If(plan.differs):
                m.d.comb += [
                    fault.status.eq(Status.BAD_TERMS),
                    fault.detail.eq(terms_detail(plan.marked_by, plan.brought_terms, pulse, waited=0)),
                ]
            with m.If(self.o_fault.ready):
                m.d.sync += found.reported.eq(1)
                m.next = "ACT"

    def _check(self, m: Module, found: _Findings) -> None:
        """An address that a packet brought, or that the descriptor did not announce. If it is not the VP's own nothing
        is written there."""
        fault = self.o_fault.payload
        with m.State("CHECK"):
            valid = self.window.answer.payload.ok
            m.d.comb += [
                fault.status.eq(Status.BAD_ADDRESS), fault.detail.eq(self.o_run.payload.output.result_addr),
                self.o_fault.valid.eq(self.window.answer.valid & ~valid),
                self.window.answer.ready.eq(valid | self.o_fault.ready),
            ]
            with m.If(self.window.answer.valid & self.window.answer.ready):
                m.d.sync += [found.window_known.eq(1), found.window_ok.eq(valid), found.settled.eq(1)]
                m.next = "ACT"

    def _drop(self, m: Module, found: _Findings) -> None:
        """A cycle of its own: whether a context is given up stands in a register at the beginning of what others do."""
        with m.State("DROP"):
            m.d.sync += self.step.drop.eq(0)
            m.d.sync += [known.eq(0) for known in (found.searched, found.ahead, found.missing)]
            m.next = "ACT"

    def _take_credit(self, m: Module, found: _Findings) -> None:
        """The credit table answers. One that is refused asks again at once if there has been a reason to."""
        reply = self.credit.answer
        with m.State("CREDIT"):
            m.d.comb += reply.ready.eq(1)
            with m.If(reply.valid):
                m.next = "ACT"
                m.d.comb += self.want.granted.eq(reply.payload.ok)
                with m.If(reply.payload.ok):
                    m.d.sync += [found.credited.eq(1), found.settled.eq(self.i.payload.step.credit)]
                with m.Else():
                    self._sleep(m, Mux(found.has_reason | found.changed, Phase.READY, Phase.BLOCKED))
