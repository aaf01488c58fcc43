"""The order-preserving trigger: decides the next step of each pulse, and its time.

Architecture: ``rtl/cou/README.md``; NIC paper, section 1.2. Golden model: ``firmware_models.golden.executor``.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import Status, TraceKind
from firmware_models.config import Config
from rtl.buffer.layouts import hash_bits, key_hash
from rtl.cou.act_stage import ActStage
from rtl.cou.command import CouShapes
from rtl.cou.context_file import ContextFile
from rtl.cou.plan_stage import PlanStage
from rtl.cou.trigger_ports import trigger_ports
from rtl.interface import TraceEvent
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.fifo import StreamFifo
from rtl.kit.round_robin import RoundRobin


class Trigger(wiring.Component):
    """Steps every context through its sequence.

    A pipeline of three steps. A ready context is selected (here). Its next step is planned (:class:`PlanStage`). The
    plan is carried out (:class:`ActStage`): if the descriptor lacks its operand, the loader is asked and the context
    sleeps; if it lacks a packet, the buffer is asked and the context sleeps; if it lacks a credit, the credit table is
    asked; if it lacks nothing, the pass is handed over. The event that a context waits for wakes it up.

    Packets of one pulse are asked for in ascending SeqID and consumed one by one, whatever order they came in; that
    fixes the rounding.

    Timing: a context is planned for in the fourth cycle after it became ready; a context in two cycles.

    Members: :func:`rtl.cou.trigger_ports.trigger_ports`.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        super().__init__(trigger_ports(config, shapes))

    def elaborate(self, platform):
        m = Module()
        shapes = self.shapes
        n_contexts = self.config.cou.n_contexts
        m.submodules.contexts = contexts = ContextFile(self.config)
        m.submodules.planning = plan = PlanStage(self.config)
        m.submodules.acting = act = ActStage(self.config)
        m.submodules.turn = turn = RoundRobin(n=n_contexts)

        # Select: the oldest ready one of a job, jobs in turn; if none is ready, one that begins.
        chosen, context, room = Signal(), Signal(shapes.context), Signal()
        m.d.comb += [
            turn.requests.eq(contexts.first), turn.advance.eq(contexts.take), room.eq(~chosen | plan.i.ready),
            contexts.take.eq(room & contexts.ready.any()), contexts.taken.eq(turn.index),
            contexts.start_taken.eq(room & ~contexts.ready.any()),
            plan.i.valid.eq(chosen), plan.i.payload.eq(context),
        ]
        with m.If(room):
            m.d.sync += [
                chosen.eq(contexts.ready.any() | contexts.start),
                context.eq(Mux(contexts.ready.any(), turn.index, contexts.start_context)),
            ]

        # Plan and act.
        m.d.comb += [
            contexts.look.eq(plan.look), plan.registers.eq(contexts.o_look),
            contexts.measure.eq(plan.measure), contexts.measured.eq(plan.measured),
            self.select.eq(plan.select), plan.operation.eq(self.operation), plan.expired.eq(self.expired),
            plan.status.eq(self.status), plan.fault_pending.eq(self.fault_pending), plan.hold.eq(self.hold),
            self.place.eq(plan.place), self.fetch.eq(plan.i.valid & plan.i.ready), plan.control.eq(self.control),
            self.meta_enable.eq(plan.meta_enable), self.meta_slot.eq(plan.meta_slot), plan.meta.eq(self.meta),
            plan.node_id.eq(self.node_id),
            plan.fire.eq(act.fire),
            *(getattr(contexts, name).eq(getattr(act, name)) for name in (
                "select", "sleep", "next_phase", "wait", "wait_key", "loads", "fire", "advance", "ends", "cut",
                "clears", "drop",
            )),
            self.credit_hold.eq(act.credit_hold), act.loader_idle.eq(self.loader_idle),
            act.certain.eq(contexts.certain),
            act.oldest.eq(contexts.oldest), act.finish.eq(contexts.finish), act.returned.eq(self.returned),
            contexts.returned.eq(self.returned), contexts.returned_peer.eq(self.returned_peer),
            contexts.asks.eq(act.asks), contexts.granted.eq(act.granted), contexts.peer.eq(act.o_credit.payload.peer),
            contexts.expire.eq(self.expire),
            self.write_started.eq(act.write_started), self.write_job.eq(act.job), self.fired.eq(act.fired),
        ]
        connect(m, plan.o, act.i)
        for name in ("o_load", "o_credit", "o_run", "o_send", "o_fault"):
            connect(m, getattr(act, name), flipped(getattr(self, name)))
        connect(m, flipped(self.i_credit), act.i_credit)
        connect(m, act.window.query, flipped(self.window).query)
        connect(m, flipped(self.window).answer, act.window.answer)
        connect(m, flipped(self.i_arrival), contexts.i_arrival)
        m.d.comb += [
            self.i_loaded.ready.eq(1), contexts.loaded.eq(self.i_loaded.valid),
            contexts.loaded_context.eq(self.i_loaded.payload.context),
            self.doing.eq(contexts.doing), self.active.eq(contexts.active),
            self.n_free.eq(sum(contexts.free[c] for c in range(n_contexts))),
        ]
        self._look_up(m, contexts, act, held=plan.held)
        self._begin_and_end(m, contexts, plan, act)

        return m

    def _look_up(self, m: Module, contexts, act, *, held):
        """Look-ups are answered in order: a queue keeps their contexts, with room for one of each context."""
        n = max(2, self.config.cou.n_contexts)
        shapes = self.shapes
        m.submodules.asking = asking = StreamFifo(
            shape=data.StructLayout({"lookup": act.o_lookup.payload.shape(), "hash": hash_bits(self.config)}), depth=2
        )
        m.submodules.asked = asked = StreamFifo(
            shape=data.StructLayout({"context": shapes.context, "job": shapes.job, "search": 1}), depth=n
        )
        m.d.comb += [
            asking.i.valid.eq(act.o_lookup.valid), act.o_lookup.ready.eq(asking.i.ready),
            asking.i.payload.lookup.eq(act.o_lookup.payload),
            asking.i.payload.hash.eq(key_hash(self.config, act.o_lookup.payload.key)),
        ]
        if hash_bits(self.config):
            m.d.comb += self.lookup_hash.eq(asking.o.payload.hash)
        whose, asker, answer = asking.o.payload.lookup, asked.o.payload, self.i_lookup.payload
        # An error of a tag is reported before the answer counts. What is answered while nothing has been asked is not
        # the trigger's.
        damage, damaged, came = self.o_damage, answer.error & asked.o.valid & ~asker.search, Signal()
        answers = self.i_lookup.valid & asked.o.valid
        m.d.comb += [
            came.eq(~damaged | damage.ready), self.held.eq(held & ~asking.o.valid & ~asked.o.valid),
            self.o_lookup.valid.eq(asking.o.valid & asked.i.ready), self.o_lookup.payload.eq(whose.key),
            asked.i.valid.eq(asking.o.valid & self.o_lookup.ready), asking.o.ready.eq(
                asked.i.ready & self.o_lookup.ready
            ),
            asked.i.payload.context.eq(whose.context), asked.i.payload.search.eq(whose.search),
            asked.i.payload.job.eq(whose.job),
            self.i_lookup.ready.eq(came), asked.o.ready.eq(self.i_lookup.valid & came),
            contexts.answered.eq(answers & came & ~asker.search), contexts.answer_context.eq(asker.context),
            contexts.answer_hit.eq(answer.hit), contexts.answer_packet.eq(answer.slot),
            act.i_found.valid.eq(answers & came & asker.search),
            act.i_found.payload.missing.eq(~answer.hit),
            damage.payload.job.eq(asker.job), damage.payload.status.eq(Status.BUFFER_ERROR),
            damage.valid.eq(self.i_lookup.valid & damaged),
        ]

    def _begin_and_end(self, m: Module, contexts, plan, act):
        """Pulses that begin, passes that end, and the timeline of both."""
        shapes, n = self.shapes, self.config.cou.n_contexts
        start, done = self.i_start, self.i_done
        note = data.StructLayout({"job": shapes.job, "job_id": formats.JOB_BITS, "pulse": formats.PULSE_BITS,
                                  "place": shapes.place})
        m.submodules.notes = notes = memory.Memory(shape=note, depth=n, init=[])
        noting, noted = notes.write_port(), notes.read_port(domain="comb")
        free = Signal(shapes.context)
        for c in reversed(range(n)):
            with m.If(contexts.free[c]):
                m.d.comb += free.eq(c)

        # A timeline may get several entries in a cycle: each kind waits for its turn, and the event with it.
        # There is room or there is not: that does not depend on who else has something to say.
        m.submodules.timeline = timeline = StreamArbiter(shape=TraceEvent, n=3)
        m.submodules.beginnings = beginnings = StreamFifo(shape=TraceEvent, depth=1)
        m.submodules.endings = endings = StreamFifo(shape=TraceEvent, depth=1)
        begin, fires, ends = beginnings.i, timeline.i[1], endings.i
        connect(m, beginnings.o, timeline.i[0])
        connect(m, endings.o, timeline.i[2])
        acting, header = act.i.payload, act.i.payload.run.output.header
        m.d.comb += [
            self.trace_valid.eq(timeline.o.valid), self.trace_event.eq(timeline.o.payload), timeline.o.ready.eq(1),

            plan.start_context.eq(free), plan.i_start.payload.eq(start.payload),
            plan.i_start.valid.eq(start.valid & begin.ready), start.ready.eq(plan.i_start.ready & begin.ready),
            begin.valid.eq(start.valid & plan.i_start.ready),
            begin.payload.event.eq(TraceKind.PULSE_START), begin.payload.job_id.eq(start.payload.job_id),
            begin.payload.pulse.eq(start.payload.pulse), begin.payload.index.eq(free),
            contexts.start.eq(start.valid & start.ready), contexts.start_context.eq(free),
            contexts.start_job.eq(start.payload.job), contexts.start_cut.eq(start.payload.cut),

            noting.en.eq(act.fire), noting.addr.eq(act.select), noting.data.job.eq(acting.job),
            noting.data.job_id.eq(header.job_id), noting.data.pulse.eq(header.pulse),
            noting.data.place.eq(acting.place),
            noted.addr.eq(done.payload.context), contexts.done_context.eq(done.payload.context),
        ]
        m.submodules.firings = firings = StreamFifo(shape=TraceEvent, depth=max(2, n))
        connect(m, firings.o, fires)
        m.d.comb += [
            firings.i.valid.eq((act.fire & ~acting.clears) | act.drop),
            firings.i.payload.event.eq(Mux(act.drop, TraceKind.PULSE_END, TraceKind.FIRE)),
            firings.i.payload.job_id.eq(header.job_id), firings.i.payload.pulse.eq(header.pulse),
            firings.i.payload.index.eq(Mux(act.drop, acting.context, acting.place)),
            # One context is freed at a time.
            done.ready.eq(ends.ready & ~act.drop), contexts.done.eq(done.valid & done.ready),
            ends.valid.eq(done.valid & ~act.drop),
            ends.payload.event.eq(Mux(contexts.done_ends, TraceKind.PULSE_END, TraceKind.RETIRE)),
            ends.payload.job_id.eq(noted.data.job_id), ends.payload.pulse.eq(noted.data.pulse),
            ends.payload.index.eq(Mux(contexts.done_ends, done.payload.context, noted.data.place)),
        ]

        # What keeps the watchdog quiet; jobs that make progress in one cycle are reported one by one.
        n_jobs = self.config.cou.n_jobs
        for job in range(n_jobs):
            m.d.comb += self.progress[job].eq(
                (contexts.start & (start.payload.job == job)) | (contexts.done & (noted.data.job == job))
                | (act.drop & (acting.job == job))
            )
