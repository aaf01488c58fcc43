"""The order-preserving trigger: decides the next step of each pulse, and its time.

Architecture: ``rtl/cou/README.md``; NIC paper, section 1.2. Golden model: ``firmware_models.golden.executor``.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import Status, TraceKind
from firmware_models.config import Config
from rtl.buffer.layouts import key_hash
from rtl.buffer.packet_signatures import StoredPacketsSignature
from rtl.cou.act_stage import ActStage
from rtl.cou.activity import Doing
from rtl.cou.context_file import ContextFile
from rtl.cou.context_signatures import SequenceViewSignature, StandstillSignature, event
from rtl.cou.plan_stage import PlanStage
from rtl.cou.shapes import CouShapes
from rtl.cou.trigger_signatures import (
    CreditsSignature,
    OperandsSignature,
    OperationsSignature,
    PassesSignature,
)
from rtl.interface import TraceEvent, WindowSignature
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.queue import stream_queue
from rtl.kit.register import StreamRegister
from rtl.kit.round_robin import RoundRobin
from rtl.kit.skid import SkidBuffer


class Trigger(wiring.Component):
    """Steps every context through its sequence.

    A pipeline of three steps. A ready context is selected (here). Its next step is planned (:class:`PlanStage`). The
    plan is carried out (:class:`ActStage`): if the descriptor lacks its operand, the loader is asked and the context
    sleeps; if it lacks a packet, the buffer is asked and the context sleeps; if it lacks a credit, the credit table is
    asked; if it lacks nothing, the pass is handed over. The event that a context waits for wakes it up.

    Packets of one pulse are asked for in ascending SeqID and consumed one by one, whatever order they came in; that
    fixes the rounding.

    Timing: a context is planned for in the fourth cycle after it became ready; a context in two cycles.

    Parameters
    ----------
    config : Config
        ``cou``, and what :class:`~rtl.cou.shapes.CouShapes` takes.

    Members
    -------
    i_start : ``In(stream.Signature(start))``
        Pulses to be given contexts; one is free when one is offered.
    operations : ``Out(OperationsSignature)``
        Operation table.
    sequence : ``Out(SequenceViewSignature)``
        Sequence store.
    operands : ``Out(OperandsSignature)``
        Operand loader.
    packets : ``Out(StoredPacketsSignature)``
        Packet buffer.
    credits : ``Out(CreditsSignature)``
        Credit table.
    window : ``Out(WindowSignature())``
        Check of addresses that were not checked when the descriptor was taken.
    passes : ``Out(PassesSignature)``
        Aggregator.
    o_fault, o_damage : ``Out(stream.Signature(fault))``
        Errors, for the operation table; tags of packets that could not be corrected.
    standstill : ``In(StandstillSignature())``
        While it stands still it looks nothing up, and needs no header.
    node_id : ``In(24)``
        NodeID of this NIC.
    doing : ``Out(Doing)``
        Phases of the contexts, for the statistics.
    fired : ``Out(1)``
        Pulse: a descriptor has triggered.
    trace : ``Out(event(TraceEvent))``
        Events for timelines.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        operations = OperationsSignature(shapes, n_contexts=config.cou.n_contexts, n_jobs=config.cou.n_jobs)
        packets = StoredPacketsSignature(shapes.packet, shapes.hash, shapes.formats)
        super().__init__({
            "i_start": In(stream.Signature(shapes.start)), "operations": Out(operations),
            "sequence": Out(SequenceViewSignature(shapes)), "operands": Out(OperandsSignature(shapes)),
            "packets": Out(packets), "credits": Out(CreditsSignature(shapes)),
            "window": Out(WindowSignature()), "passes": Out(PassesSignature(shapes)),
            "o_fault": Out(stream.Signature(shapes.fault)), "o_damage": Out(stream.Signature(shapes.fault)),
            "standstill": In(StandstillSignature()), "node_id": In(config.formats.node_bits),
            "doing": Out(Doing), "fired": Out(1), "trace": Out(event(TraceEvent)),
        })

    def elaborate(self, platform):
        m = Module()
        shapes = self.shapes
        n_contexts = self.config.cou.n_contexts
        m.submodules.contexts = contexts = ContextFile(
            shapes=shapes, n_contexts=n_contexts, n_jobs=self.config.cou.n_jobs
        )
        m.submodules.planning = plan = PlanStage(shapes=shapes, n_contexts=n_contexts)
        m.submodules.acting = act = ActStage(shapes=shapes)
        m.submodules.turn = turn = RoundRobin(n=n_contexts)

        # Select: the oldest ready one of a job, jobs in turn; if none is ready, one that begins.
        chosen, context, room, select = Signal(), Signal(shapes.context), Signal(), contexts.selection
        m.d.comb += [
            turn.requests.eq(select.first), turn.advance.eq(select.take), room.eq(~chosen | plan.i.ready),
            select.take.eq(room & select.ready.any()), select.taken.eq(turn.index),
            contexts.i_start.payload.taken.eq(room & ~select.ready.any()),
            plan.i.valid.eq(chosen), plan.i.payload.eq(context),
        ]
        with m.If(room):
            m.d.sync += [
                chosen.eq(select.ready.any() | contexts.i_start.valid),
                context.eq(Mux(select.ready.any(), turn.index, contexts.i_start.payload.context)),
            ]

        # Plan and act.
        operations, loaded = self.operations, self.operands.loaded
        m.d.comb += [
            plan.standstill.hold.eq(self.standstill.hold), plan.node_id.eq(self.node_id),
            plan.fire.eq(act.step.fire), act.returned.eq(self.credits.returned.valid),
            contexts.expire.eq(operations.expire), self.fired.eq(act.fired), self.doing.eq(contexts.doing),
            operations.active.eq(contexts.active), loaded.ready.eq(1), contexts.i_loaded.valid.eq(loaded.valid),
            contexts.i_loaded.payload.eq(loaded.payload),
            operations.n_free.eq(sum(contexts.free[c] for c in range(n_contexts))),
        ]
        connect(m, plan.operation, flipped(operations.view))
        connect(m, plan.sequence, flipped(self.sequence))
        connect(m, plan.header, flipped(self.packets.header))
        connect(m, plan.o, act.i)
        connect(m, plan.look, contexts.look)
        connect(m, plan.o_measured, contexts.i_measured)
        connect(m, act.step, contexts.step)
        connect(m, act.want, contexts.want)
        connect(m, act.loader, flipped(self.operands.load))
        connect(m, act.credit, flipped(self.credits.ask))
        connect(m, flipped(self.credits.returned), contexts.i_returned)
        connect(m, act.o_run, flipped(self.passes.run))
        connect(m, act.o_send, flipped(self.passes.send))
        connect(m, act.o_write_started, flipped(operations.write_started))
        connect(m, act.o_fault, flipped(self.o_fault))
        connect(m, act.window, flipped(self.window))
        connect(m, flipped(self.packets.arrival), contexts.i_arrival)
        self._look_up(m, contexts, act, held=plan.standstill.held)
        self._begin_and_end(m, contexts, plan, act)

        return m

    def _look_up(self, m: Module, contexts, act, *, held):
        """Look-ups are answered in order: a queue keeps their contexts, with room for one of each context."""
        n = max(2, self.config.cou.n_contexts)
        shapes = self.shapes
        m.submodules.asking = asking = SkidBuffer(
            shape=data.StructLayout({"lookup": act.o_lookup.payload.shape(), "hash": shapes.hash})
        )
        m.submodules.lookups = lookups = stream_queue(
            shape=data.StructLayout({"context": shapes.context, "job": shapes.job, "search": 1}), depth=n
        )
        m.d.comb += [
            asking.i.valid.eq(act.o_lookup.valid), act.o_lookup.ready.eq(asking.i.ready),
            asking.i.payload.lookup.eq(act.o_lookup.payload),
            asking.i.payload.hash.eq(key_hash(act.o_lookup.payload.key, shapes.hash)),
        ]
        if shapes.hash:
            m.d.comb += self.packets.lookup.hash.eq(asking.o.payload.hash)
        request, answers = self.packets.lookup.request, self.packets.lookup.answer
        whose, origin, answer = asking.o.payload.lookup, lookups.o.payload, answers.payload
        # A tag error is reported before the answer counts. An answer that arrives while the trigger has no request
        # outstanding belongs to another requester.
        damage, damaged, accepted = self.o_damage, answer.error & lookups.o.valid & ~origin.search, Signal()
        is_mine, wakes = answers.valid & lookups.o.valid, contexts.i_answer
        m.d.comb += [
            accepted.eq(~damaged | damage.ready),
            self.standstill.held.eq(held & ~asking.o.valid & ~lookups.o.valid),
            request.valid.eq(asking.o.valid & lookups.i.ready), request.payload.eq(whose.key),
            lookups.i.valid.eq(asking.o.valid & request.ready), asking.o.ready.eq(lookups.i.ready & request.ready),
            lookups.i.payload.context.eq(whose.context), lookups.i.payload.search.eq(whose.search),
            lookups.i.payload.job.eq(whose.job),
            answers.ready.eq(accepted), lookups.o.ready.eq(answers.valid & accepted),
            wakes.valid.eq(is_mine & accepted & ~origin.search), wakes.payload.context.eq(origin.context),
            wakes.payload.hit.eq(answer.hit), wakes.payload.packet.eq(answer.slot),
            act.i_found.valid.eq(is_mine & accepted & origin.search),
            act.i_found.payload.missing.eq(~answer.hit),
            damage.payload.job.eq(origin.job), damage.payload.status.eq(Status.BUFFER_ERROR),
            damage.valid.eq(answers.valid & damaged),
        ]

    def _begin_and_end(self, m: Module, contexts, plan, act):
        """Pulses that begin, passes that end, and the timeline of both."""
        shapes, n = self.shapes, self.config.cou.n_contexts
        start, done, begun = self.i_start, self.passes.done, contexts.i_start
        formats = shapes.formats
        note = data.StructLayout({
            "job": shapes.job, "job_id": formats.job_bits, "pulse": formats.pulse_bits, "position": shapes.position,
        })
        m.submodules.notes = notes = memory.Memory(shape=note, depth=n, init=[])
        noting, noted = notes.write_port(), notes.read_port(domain="comb")
        free = Signal(shapes.context)
        for c in reversed(range(n)):
            with m.If(contexts.free[c]):
                m.d.comb += free.eq(c)

        # Several trace events can occur in one cycle. An arbiter serialises them; a pulse begins, and a pass ends, only
        # when its event is accepted. `ready` of both registers depends only on their own level.
        m.submodules.timeline = timeline = StreamArbiter(shape=TraceEvent, n=3)
        m.submodules.beginnings = beginnings = StreamRegister(shape=TraceEvent)
        m.submodules.endings = endings = StreamRegister(shape=TraceEvent)
        begin, fires, ends = beginnings.i, timeline.i[1], endings.i
        connect(m, beginnings.o, timeline.i[0])
        connect(m, endings.o, timeline.i[2])
        acting, header = act.i.payload, act.i.payload.run.output.header
        m.d.comb += [
            self.trace.valid.eq(timeline.o.valid), self.trace.payload.eq(timeline.o.payload), timeline.o.ready.eq(1),

            plan.start_context.eq(free), plan.i_start.payload.eq(start.payload),
            plan.i_start.valid.eq(start.valid & begin.ready), start.ready.eq(plan.i_start.ready & begin.ready),
            begin.valid.eq(start.valid & plan.i_start.ready),
            begin.payload.event.eq(TraceKind.PULSE_START), begin.payload.job_id.eq(start.payload.job_id),
            begin.payload.pulse.eq(start.payload.pulse), begin.payload.index.eq(free),
            begun.valid.eq(start.valid & start.ready), begun.payload.context.eq(free),
            begun.payload.job.eq(start.payload.job), begun.payload.cut.eq(start.payload.cut),

            noting.en.eq(act.step.fire), noting.addr.eq(act.step.context), noting.data.job.eq(acting.job),
            noting.data.job_id.eq(header.job_id), noting.data.pulse.eq(header.pulse),
            noting.data.position.eq(acting.position),
            noted.addr.eq(done.payload.context), contexts.done.context.eq(done.payload.context),
        ]
        m.submodules.firings = firings = stream_queue(shape=TraceEvent, depth=max(2, n))
        connect(m, firings.o, fires)
        m.d.comb += [
            firings.i.valid.eq((act.step.fire & ~acting.clears) | act.step.drop),
            firings.i.payload.event.eq(Mux(act.step.drop, TraceKind.PULSE_END, TraceKind.FIRE)),
            firings.i.payload.job_id.eq(header.job_id), firings.i.payload.pulse.eq(header.pulse),
            firings.i.payload.index.eq(Mux(act.step.drop, acting.context, acting.position)),
            # One context is freed at a time.
            done.ready.eq(ends.ready & ~act.step.drop), contexts.done.valid.eq(done.valid & done.ready),
            ends.valid.eq(done.valid & ~act.step.drop),
            ends.payload.event.eq(Mux(contexts.done.ends, TraceKind.PULSE_END, TraceKind.RETIRE)),
            ends.payload.job_id.eq(noted.data.job_id), ends.payload.pulse.eq(noted.data.pulse),
            ends.payload.index.eq(Mux(contexts.done.ends, done.payload.context, noted.data.position)),
        ]

        # These events restart the watchdog. Each job has a flag of its own, because several jobs may make progress in
        # one cycle.
        n_jobs = self.config.cou.n_jobs
        for job in range(n_jobs):
            m.d.comb += self.operations.progress[job].eq(
                (begun.valid & (start.payload.job == job)) | (contexts.done.valid & (noted.data.job == job))
                | (act.step.drop & (acting.job == job))
            )
