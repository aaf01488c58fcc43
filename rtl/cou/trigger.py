"""The order-preserving trigger: decides what a pulse does next, and when it may.

Architecture: ``rtl/cou/README.md``; NIC paper, section 1.2. Golden model: ``firmware_models.golden.executor``.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import Operand, Status, TraceKind
from firmware_models.config import Config
from rtl.abi import HashKey
from rtl.cou.command import CouShapes
from rtl.cou.context_file import ContextFile, Phase
from rtl.cou.credit_table import credit_answer
from rtl.cou.pass_planner import PassPlanner, begin, record_layout
from rtl.cou.slice_meter import SliceMeter
from rtl.cou.step import WAITS, Step, first_step
from rtl.cou.trigger_ports import trigger_ports
from rtl.kit.fifo import StreamFifo
from rtl.kit.quiescence import any_moves
from rtl.kit.round_robin import RoundRobin


class Trigger(wiring.Component):
    """Steps every context through its sequence.

    A context that is ready is looked at: its descriptor needs an operand (the loader is asked, the context sleeps),
    or a packet (the buffer is asked, the context sleeps), or a credit (likewise), or nothing any more: then the
    pass is given to the aggregator. Packets of one pulse are asked for in ascending SeqID and consumed one by one,
    whatever order they came in; that fixes the rounding. If the message is cut into blocks, where a descriptor's slice
    lies is worked out before its operand is asked for.

    Timing: a context is looked at in the cycle after it was chosen; five cycles later if ``cou`` is pipelined, where
    its operation, its descriptor and what the planner makes of both come from registers. The pass follows a cycle later
    then.

    Members: :func:`rtl.cou.trigger_ports.trigger_ports`.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        super().__init__(trigger_ports(config, shapes))

    def elaborate(self, platform):
        m = Module()
        shapes = self.shapes
        n_contexts = self.config.cou.n_contexts
        pipelined = self.config.datapath.is_pipelined("cou")
        # Where the path from a context's memories to what is done with them has registers, if there are to be any.
        staged = m.d.sync if pipelined else m.d.comb

        m.submodules.contexts = contexts = ContextFile(self.config)
        m.submodules.planner = planner = PassPlanner(self.config)
        m.submodules.turn = turn = RoundRobin(n=n_contexts)
        m.submodules.meter = meter = SliceMeter(self.config)
        layout = record_layout(shapes)
        m.submodules.records = records = memory.Memory(shape=layout, depth=n_contexts, init=[])
        record_write, record_read = records.write_port(), records.read_port()
        jobs = Array(Signal(shapes.job, name=f"job_{c}") for c in range(n_contexts))
        positions = Array(Signal(shapes.place, name=f"position_{c}") for c in range(n_contexts))

        # `chosen` addresses the memories; in the next cycle their outputs belong to `current`, which is the same.
        chosen, current = Signal(shapes.context), Signal(shapes.context)
        m.d.comb += [
            contexts.select.eq(current),
            contexts.expire.eq(self.expire), contexts.returned.eq(self.returned),
            self.active.eq(contexts.active), self.n_free.eq(sum(contexts.free[c] for c in range(n_contexts))),
            turn.requests.eq(contexts.ready),
            record_read.addr.eq(chosen), record_write.addr.eq(current),
            # Pipelined, the descriptor comes a cycle after the record: its address is then no part of the choice.
            *(self.place[name].eq(table[current if pipelined else chosen])
              for name, table in (("job", jobs), ("position", positions))),
            self.select.eq(jobs[current]),
        ]
        record, desc, packet = record_read.data, self.control, self.i_meta.payload
        operation, expired = Signal(shapes.operation), Signal()
        staged += [operation.eq(self.operation), expired.eq(self.expired)]
        updated = Signal(layout)
        window_ok, window_known = Signal(), Signal()
        m.d.comb += [
            updated.eq(record), record_write.data.eq(updated),
            planner.record.eq(record), planner.desc.eq(desc), planner.operation.eq(operation),
            planner.expired.eq(expired), planner.packet.eq(packet), planner.packet_there.eq(contexts.packet_there),
            planner.node_id.eq(self.node_id), planner.window_ok.eq(window_ok),
        ]
        # The plan, and what it was made from that may change at any time.
        plan = planner.outputs()
        absent, hopeless = Signal(), Signal()
        staged += [
            *(signal.eq(getattr(planner, name)) for name, signal in vars(plan).items()),
            absent.eq(planner.needs_packet & ~contexts.packet_there), hopeless.eq(expired & ~contexts.packet_there),
        ]
        connect(m, flipped(self.i_arrival), contexts.i_arrival)

        m.d.comb += meter.measures(record, desc, operation)

        # Look-ups are answered in order: the queue knows whose they are. It can't overflow, since a context has one
        # look-up at most.
        m.submodules.asked = asked = StreamFifo(
            shape=data.StructLayout({"context": shapes.context, "search": 1}), depth=max(2, n_contexts)
        )
        key, next_key = Signal(HashKey), Signal(HashKey)
        asker = asked.o.payload
        # A context that is given up looks for all packets that its descriptor still wants: the missing ones are named.
        ahead, missing, searched = Signal(formats.SEQ_BITS), Signal(1 << formats.SEQ_BITS), Signal()
        wanted = Signal(16)
        staged += [key.eq(next_key), wanted.eq(desc.cp_count - record.consumed)]
        m.d.comb += [
            self.i_lookup.ready.eq(1), asked.o.ready.eq(self.i_lookup.valid),
            contexts.answered.eq(self.i_lookup.valid & ~asker.search), contexts.answer_context.eq(asker.context),
            self.damaged.eq(
                (self.i_lookup.valid & self.i_lookup.payload.error & ~asker.search) << jobs[asker.context]
            ),
            contexts.answer_hit.eq(self.i_lookup.payload.hit), contexts.answer_packet.eq(self.i_lookup.payload.slot),
            next_key.job_id.eq(operation.job_id), next_key.node_id.eq(self.node_id), next_key.vp.eq(operation.vp),
            next_key.seq_id.eq(record.consumed + desc.seq_skip + ahead), next_key.pulse.eq(record.pulse),
            contexts.wait_key.eq(key), self.o_lookup.payload.eq(key), asked.i.payload.context.eq(current),
        ]

        # Loaded operands.
        loaded = self.i_loaded
        m.d.comb += [
            loaded.ready.eq(1), contexts.loaded.eq(loaded.valid), contexts.loaded_context.eq(loaded.payload.context),
            self.fault_job.eq(jobs[current]),
        ]

        # The aggregator must be able to report while a pass is being offered to it. A context has one pass at most, so
        # the queue always has room.
        m.submodules.retired = retired = StreamFifo(shape=shapes.done, depth=max(2, n_contexts))
        connect(m, flipped(self.i_done), retired.i)

        load, run = self.o_load.payload, self.o_run.payload
        m.d.comb += [
            load.context.eq(current), load.job.eq(jobs[current]), load.place.eq(positions[current]),
            load.from_payload.eq(desc.operand == Operand.PAYLOAD), load.pieces.eq(record.pieces),
            load.addr.eq(Mux(load.from_payload, 0, desc.local_addr) + record.start),
            run.eq(plan.run), run.packet.eq(contexts.packet), run.key.eq(contexts.key),
            run.output.context.eq(current), run.output.job.eq(jobs[current]),
            self.o_meta.payload.slot.eq(contexts.packet),
            self.o_credit.payload.job_id.eq(operation.job_id), self.o_credit.payload.oldest.eq(contexts.oldest),
            *(self.o_credit.payload[name].eq(desc[name]) for name in ("peer", "multicast", "members")),
            self.window.query.payload.vp.eq(operation.vp),
            *(self.window.query.payload[name].eq(plan.query[name]) for name in ("addr", "bytes", "right")),
            self.write_job.eq(jobs[current]), self.progress_job.eq(jobs[current]),
            self.trace_event.job_id.eq(operation.job_id), self.trace_event.pulse.eq(record.pulse),
        ]

        def trace(kind: TraceKind, index):
            m.d.comb += [self.trace_valid.eq(1), self.trace_event.event.eq(kind), self.trace_event.index.eq(index)]

        def says(status: Status, detail):
            """What a report of this state says, if there is one: so this choice does not wait for whether there is."""
            m.d.comb += [self.status.eq(status), self.detail.eq(detail)]

        def report(status: Status, detail):
            says(status, detail)
            m.d.comb += self.fault.eq(1)

        def sleep(phase: Phase):
            m.d.comb += [contexts.set_phase.eq(1), contexts.next_phase.eq(phase)]
            m.next = "IDLE"

        def finish():
            m.d.comb += [contexts.finish.eq(1), self.progress.eq(1)]
            trace(TraceKind.PULSE_END, current)
            m.next = "IDLE"

        def run_it():
            """The pass can be handed over: in a state of its own if paths are to be short."""
            m.next = "RUN"
            if not pipelined:
                give_away()

        def give_away():
            """Hands the pass to the aggregator; FSM state RUN waits if that is busy."""
            m.d.comb += [self.o_run.valid.eq(1), updated.eq(plan.after)]
            says(Status.LENGTH_MISMATCH, Cat(record.consumed, record.pulse, packet.length))
            with m.If(self.o_run.ready):
                m.d.comb += [
                    self.fault.eq(plan.mismatch),
                    self.i_meta.ready.eq(plan.needs_packet), contexts.consume.eq(1), record_write.en.eq(1),
                    self.write_started.eq(run.output.write_back), self.fired.eq(plan.after.final),
                ]
                with m.If(~record.clear):
                    trace(TraceKind.FIRE, positions[current])
                sleep(Phase.RUNNING)
            with m.Else():
                m.next = "RUN"

        # The packet's place, from the answer of the credit table until the pass has been given away.
        answer, kept = self.i_credit.payload, Signal(credit_answer())
        with m.If(self.i_credit.valid):
            m.d.sync += kept.eq(answer)
        for name, field in (("tag", "place"), ("loan", "loan"), ("want", "want")):
            m.d.comb += run.output.header[name].eq(Mux(self.i_credit.valid, answer[field], kept[field]))

        def look():
            """Looks at the same context once more, when the plan follows from what is known now."""
            m.next = "PLAN" if pipelined else "LOOK"

        def choose(state):
            """Goes on with what has been chosen, when its operation is there."""
            m.next = f"FETCH_{state}" if pipelined else state

        credit_came, meta_asked = Signal(), Signal()
        step, complete = Signal(Step), ~plan.needs_packet | self.i_meta.valid
        staged += first_step(
            step, search=hopeless & absent & ~searched, give_up=hopeless, measure=~record.measured,
            load=plan.needs_load, ask=absent, read=plan.needs_packet & ~meta_asked,
            check=complete & plan.foreign_address & ~window_known, credit=complete & plan.sends, run=complete,
        )
        with m.If(self.returned):
            m.d.sync += credit_came.eq(1)

        m.d.comb += chosen.eq(current)
        m.d.sync += current.eq(chosen)
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += [flag.eq(0) for flag in (window_known, credit_came, meta_asked, ahead, missing, searched)]
                # What has been executed goes first: it frees the way for its successor.
                with m.If(retired.o.valid):
                    m.d.comb += [chosen.eq(retired.o.payload.context), retired.o.ready.eq(1)]
                    choose("RETIRE")
                with m.Elif(contexts.ready.any()):
                    m.d.comb += [chosen.eq(turn.index), turn.advance.eq(1)]
                    choose("LOOK")
                with m.Elif(self.i_start.valid):
                    for c in reversed(range(n_contexts)):
                        with m.If(contexts.free[c]):
                            m.d.comb += chosen.eq(c)
                    choose("START")

            if pipelined:
                for state, following in WAITS.items():
                    with m.State(state):
                        m.next = following
                        if following == "START":
                            m.d.comb += self.select.eq(self.i_start.payload.job)
                with m.State("PLAN"):
                    # The packet's header comes in the cycle after it was asked for.
                    with m.If(~meta_asked | self.i_meta.valid):
                        m.next = "PLANNED"

            with m.State("START"):
                start = self.i_start.payload
                m.d.comb += [
                    self.i_start.ready.eq(1), contexts.start.eq(1), contexts.start_job.eq(start.job),
                    *begin(updated, start, operation.blocks), record_write.en.eq(1),
                    self.select.eq(start.job), self.progress.eq(1), self.progress_job.eq(start.job),
                    self.trace_event.pulse.eq(start.pulse),
                ]
                m.d.sync += [jobs[current].eq(start.job), positions[current].eq(0)]
                trace(TraceKind.PULSE_START, current)
                m.next = "IDLE"

            with m.State("LOOK"):
                with m.If(step.search):
                    m.next = "SEARCH"
                with m.If(step.give_up):
                    report(Status.TIMEOUT, Cat(record.consumed, record.pulse, missing))
                    finish()
                with m.If(step.measure):
                    m.next = "MEASURE"
                with m.If(step.load):
                    m.d.comb += [self.o_load.valid.eq(1), updated.loaded.eq(1)]
                    with m.If(self.o_load.ready):
                        m.d.comb += record_write.en.eq(1)
                        sleep(Phase.LOADING)
                with m.If(step.ask):
                    m.d.comb += self.o_lookup.valid.eq(1)
                    with m.If(self.o_lookup.ready):
                        m.d.comb += [asked.i.valid.eq(1), contexts.wait.eq(1)]
                        sleep(Phase.WAITING)
                with m.If(step.read):
                    m.d.comb += self.o_meta.valid.eq(1)
                    with m.If(self.o_meta.ready):
                        m.d.sync += meta_asked.eq(1)
                        look()
                with m.If(step.check):
                    m.next = "CHECK"
                with m.If(step.credit):
                    m.d.comb += self.o_credit.valid.eq(1)
                    with m.If(self.o_credit.ready):
                        m.next = "CREDIT"
                with m.If(step.run):
                    run_it()

            with m.State("SEARCH"):
                m.d.comb += [self.o_lookup.valid.eq(1), asked.i.payload.search.eq(1)]
                with m.If(self.o_lookup.ready):
                    m.d.comb += asked.i.valid.eq(1)
                    m.next = "SEARCHED"
            with m.State("SEARCHED"):
                with m.If(self.i_lookup.valid & asker.search):
                    m.d.sync += missing.bit_select(key.seq_id, 1).eq(~self.i_lookup.payload.hit)
                    with m.If((ahead + 1 == wanted) | ahead.all()):
                        m.d.sync += [ahead.eq(0), searched.eq(1)]
                        look()
                    with m.Else():
                        m.d.sync += ahead.eq(ahead + 1)
                        m.next = "SEARCH_NEXT" if pipelined else "SEARCH"

            with m.State("MEASURE"):
                m.d.comb += [meter.run.eq(1), record_write.en.eq(meter.done), *meter.notes(updated)]
                with m.If(meter.done):
                    m.next = "MEASURED"
            with m.State("MEASURED"):
                # The record comes back out of its memory.
                choose("LOOK")

            with m.State("CHECK"):
                # An address that a packet brought, or that the descriptor did not announce.
                m.d.comb += [self.window.query.valid.eq(~window_known), self.window.answer.ready.eq(1)]
                says(Status.BAD_ADDRESS, run.output.result_addr)
                with m.If(self.window.query.ready):
                    m.d.sync += window_known.eq(1)
                with m.If(self.window.answer.valid):
                    m.d.sync += window_ok.eq(self.window.answer.payload.ok)
                    m.d.comb += self.fault.eq(~self.window.answer.payload.ok)
                    look()

            with m.State("CREDIT"):
                m.d.comb += self.i_credit.ready.eq(1)
                with m.If(self.i_credit.valid):
                    with m.If(self.i_credit.payload.ok):
                        run_it()
                    with m.Else():
                        # The packet's description is asked for again when the context wakes up.
                        m.d.comb += self.i_meta.ready.eq(plan.needs_packet)
                        with m.If(credit_came | self.returned):
                            sleep(Phase.READY)
                        with m.Else():
                            sleep(Phase.BLOCKED)

            with m.State("RUN"):
                give_away()

            with m.State("RETIRE"):
                m.d.comb += [updated.final.eq(0), record_write.en.eq(1), self.progress.eq(1)]
                with m.If(record.final):
                    m.d.comb += [updated.middle.eq(0), updated.loaded.eq(0), updated.measured.eq(~operation.blocks.cut)]
                    m.d.sync += positions[current].eq(positions[current] + 1)
                with m.If(record.finished):
                    finish()
                with m.Else():
                    trace(TraceKind.RETIRE, positions[current])
                    sleep(Phase.READY)

        # An error of a load is noted, and the context goes on with what came, so that its peers get what they wait for;
        # that report can't wait and so has precedence over the FSM's.
        with m.If(loaded.valid & loaded.payload.error):
            m.d.comb += self.fault_job.eq(loaded.payload.job)
            report(Status.MEMORY_ERROR, desc.local_addr[: shapes.address])

        m.d.sync += self.moves.eq(any_moves(~fsm.ongoing("IDLE"), asked.moves, retired.moves))

        return m
