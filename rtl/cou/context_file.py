"""State of the pulses in progress, and the associative wake-up that makes waiting free."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.buffer.layouts import Arrival, arrival_layout
from rtl.cou.activity import Doing
from rtl.cou.context_signatures import (
    CreditWantSignature,
    DoneSignature,
    LookSignature,
    SelectionSignature,
    StepSignature,
    context_answer_layout,
    context_layout,
    context_start_layout,
    event,
    look_layout,
    returned_layout,
)
from rtl.cou.phase import Phase
from rtl.cou.shapes import CouShapes


class _Registers:
    """Registers of all contexts.

    Members
    -------
    phase, registers, key : Array
        Phase of each; what the plan stage reads; the key of the packet that it wants.
    wanting, asking, ending, certain : Signal(n_contexts)
        It waits for a packet; its look-up is under way; its pass is its sequence's last; the packet that it was
        announced is there.
    older : Array
        Contexts of the same job that were there when it started and may still send something.
    called, aged : Signal(n_contexts)
        A credit may be for it; an older one has gone a cycle before.
    finished : Signal
        With `step.finish`: the context that becomes free.
    pass_gone : Signal
        A pass was handed over a cycle before.
    arrival : Signal
        Slot and event of the packet that came a cycle before.
    """

    def __init__(self, shapes: CouShapes, n: int):
        self.phase = Array(Signal(Phase, name=f"phase_{c}") for c in range(n))
        self.registers = Array(Signal(look_layout(shapes), name=f"registers_{c}") for c in range(n))
        self.key = Array(Signal(shapes.key, name=f"key_{c}") for c in range(n))
        self.wanting, self.asking, self.ending, self.certain, self.called, self.aged = (
            Signal(n, name=name) for name in ("wanting", "asking", "ending", "certain", "called", "aged")
        )
        self.older = Array(Signal(n, name=f"older_{c}") for c in range(n))
        self.finished, self.pass_begun = Signal(shapes.context, name="finished"), Signal(name="pass_begun")
        self.arrival = Signal(data.StructLayout({"slot": shapes.packet, "what": Arrival}), name="arrival_before")


class ContextFile(wiring.Component):
    """Registers of all contexts: their phase, the key that they wait for, and their order of age.

    A context that needs a packet registers its key before the packet buffer is asked, and compares every arrival
    with it from the next cycle on; the answer to the look-up covers everything before. So no arrival is missed, and
    no context is ever polled.

    The trigger takes a ready context, looks at it and puts it to sleep, one at a time in each of these steps; events
    that come from elsewhere (arrival, look-up, load, credit, end of a pass) may hit any context at the same time. An
    arrival takes effect a cycle later.

    A packet is announced before its tag is in the table. The context that waits for it wakes up and is looked at
    meanwhile, but is not `sure` of it until the tag is there. If another packet has the same key, what
    was planned for this one does not count.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    n_contexts : int
        Contexts of the unit, from 1 to as many as `shapes` can number.
    n_jobs : int
        Operations of the unit, from 1 to as many as `shapes` can number.

    Members
    -------
    selection : ``Out(SelectionSignature)``
        Choice of the next context.
    i_start : ``In(event(context_start_layout))``
        A pulse begins.
    look : ``In(LookSignature)``
        Registers of a context.
    i_measured : ``In(event(context_layout))``
        The slice of a context is known.
    step : ``In(StepSignature)``
        What becomes of the selected context.
    want : ``In(CreditWantSignature)``
        The credit that it wants.
    i_arrival : ``In(stream.Signature(arrival_layout))``
        Event: key and slot of a packet that comes in, and how far.
    i_answer : ``In(event(context_answer_layout))``
        The look-up of a context is answered.
    i_loaded : ``In(event(context_layout))``
        The operand of a context is there.
    done : ``In(DoneSignature)``
        A pass has ended: its context becomes ready, or free if it was the sequence's last. Not with a `drop`.
    i_returned : ``In(event({peer}))``
        A credit has returned.
    expire : ``In(n_jobs)``
        Jobs whose operation a time-out ends: their waiting and blocked contexts become ready (a waiting one not
        before its look-up is answered, so that no answer can reach a later user of the context).
    free : ``Out(n_contexts)``
        Contexts that a pulse can be given.
    active : ``Out(n_jobs)``
        Jobs that have a context.
    doing : ``Out(Doing)``
        Phases of the contexts, for the statistics.
    """

    def __init__(self, *, shapes: CouShapes, n_contexts: int, n_jobs: int):
        shapes.check(n_contexts=n_contexts, n_jobs=n_jobs)
        self.shapes, self.n_contexts, self.n_jobs = shapes, n_contexts, n_jobs
        super().__init__({
            "selection": Out(SelectionSignature(shapes, n_contexts)),
            "i_start": In(event(context_start_layout(shapes))),
            "look": In(LookSignature(shapes)),
            "i_measured": In(event(context_layout(shapes))),
            "step": In(StepSignature(shapes)),
            "want": In(CreditWantSignature(shapes)),
            "i_arrival": In(stream.Signature(arrival_layout(shapes.packet, shapes.formats))),
            "i_answer": In(event(context_answer_layout(shapes))),
            "i_loaded": In(event(context_layout(shapes))),
            "done": In(DoneSignature(shapes)),
            "i_returned": In(event(returned_layout(shapes))),
            "expire": In(n_jobs),
            "free": Out(n_contexts),
            "active": Out(n_jobs),
            "doing": Out(Doing),
        })

    def elaborate(self, platform):
        m = Module()
        step, selection, look = self.step, self.selection, self.look
        n, file = self.n_contexts, _Registers(self.shapes, self.n_contexts)
        older, ending = file.older, file.ending

        # One context ends at a time.
        finish, ended = step.finish, self.done.context
        m.d.comb += [
            self.i_arrival.ready.eq(1), look.registers.eq(file.registers[look.context]),
            step.oldest.eq(older[step.context] == 0), step.certain.eq(file.certain.bit_select(step.context, 1)),
            self.done.ends.eq(ending.bit_select(ended, 1)), finish.eq(step.drop | (self.done.valid & self.done.ends)),
            file.finished.eq(Mux(step.drop, step.context, ended)),
        ]
        self._call(m, file)
        self._age(m, file)

        # `step.fire` arrives late in the cycle. The fields that a pass resets are therefore updated one cycle later,
        # while the plan is still valid; nothing reads them before the pass has ended.
        m.d.sync += file.pass_begun.eq(step.fire)

        # A key that is alike takes effect a cycle later: a context that waits is left alone by the trigger, and one
        # that is given up meanwhile wants it no more. A packet that was announced is known by its slot.
        arrival = self.i_arrival.payload
        m.d.sync += [file.arrival.slot.eq(arrival.slot), file.arrival.what.eq(arrival.what)]
        for c in range(n):
            self._keep(m, file, c)

        # Of those that one event wakes up the oldest goes first, or pulses would overtake each other for nothing.
        m.d.comb += selection.first.eq(Cat(selection.ready[c] & ~(older[c] & selection.ready).any() for c in range(n)))
        self._tell(m, file)
        return m

    def _keep(self, m: Module, file: _Registers, c: int) -> None:
        """One context: what wakes it up, its wait for a packet, and what the trigger changes."""
        step, selection = self.step, self.selection
        answer, arrival, n_jobs = self.i_answer.payload, self.i_arrival.payload, self.n_jobs
        phase, key, older, ending = file.phase, file.key, file.older, file.ending
        wanting, asking, certain, before = file.wanting, file.asking, file.certain, file.arrival
        registers_c, called, aged = file.registers[c], file.called, file.aged
        selected = step.context == c
        taken = selection.take & (selection.taken == c)

        # Why a context that sleeps wakes up. The oldest one has a claim to the last credit, so becoming the oldest
        # one is a reason to ask again; the trigger may be putting it to sleep then, so that is seen a cycle later.
        claims = aged[c] & (older[c] == 0)
        answered = self.i_answer.valid & (answer.context == c)
        same_key = Signal(name=f"same_key_{c}")
        m.d.sync += same_key.eq(self.i_arrival.valid & wanting[c] & (key[c] == arrival.key))
        there = registers_c.packet_there
        arrived = same_key & (before.what == Arrival.THERE) & wanting[c]
        found = answered & answer.hit & wanting[c]
        announced = same_key & (before.what == Arrival.COMING) & wanting[c] & ~there
        same_slot = self.i_arrival.valid & wanting[c] & there & (registers_c.packet == arrival.slot)
        confirmed = same_slot & (arrival.what == Arrival.THERE)
        withdrawn = same_slot & (arrival.what == Arrival.DROPPED)
        expired = Signal(name=f"expired_{c}")
        m.d.sync += expired.eq(Cat(self.expire[j] & (registers_c.job == j) for j in range(n_jobs)).any())
        # A look-up still on its way must come back first: its answer is for this wait and no later one.
        settled = ~asking[c] | answered
        wakes = Signal(name=f"wakes_{c}")
        m.d.comb += wakes.eq(
            (phase[c] == Phase.WAITING) & settled & (registers_c.sure | arrived | announced | found | expired)
        )
        m.d.comb += [
            selection.ready[c].eq(wakes | (phase[c] == Phase.READY)), self.free[c].eq(phase[c] == Phase.FREE),
        ]
        with m.If(
            wakes | (phase[c] == Phase.LOADING) & self.i_loaded.valid & (self.i_loaded.payload.context == c)
            | (phase[c] == Phase.BLOCKED) & (called[c] | claims | expired)
            | self.done.valid & (self.done.context == c)
        ):
            m.d.sync += phase[c].eq(Phase.READY)
        with m.If(taken):
            m.d.sync += phase[c].eq(Phase.TAKEN)

        # Its wait for a packet.
        with m.If(answered):
            m.d.sync += asking[c].eq(0)
        with m.If(confirmed):
            m.d.sync += [registers_c.sure.eq(1), certain[c].eq(1), wanting[c].eq(0)]
        with m.Elif(arrived | found):
            m.d.sync += [there.eq(1), registers_c.sure.eq(1), wanting[c].eq(0)]
        with m.Elif(withdrawn):
            m.d.sync += there.eq(0)
        with m.Elif(announced):
            m.d.sync += [there.eq(1), certain[c].eq(0)]
        # A packet that is being confirmed can only be found where it is: the slot does not wait for the event.
        with m.If(found & ~arrived):
            m.d.sync += registers_c.packet.eq(answer.packet)
        with m.Elif(arrived | announced):
            m.d.sync += registers_c.packet.eq(before.slot)
        with m.If(self.i_loaded.valid & (self.i_loaded.payload.context == c) | selected & step.loads):
            m.d.sync += registers_c.loaded.eq(1)
        with m.If(self.i_measured.valid & (self.i_measured.payload.context == c)):
            m.d.sync += registers_c.measured.eq(1)

        # The trigger's changes.
        with m.If(selected & step.sleep):
            m.d.sync += phase[c].eq(step.next_phase)
        with m.If(selected & step.wait):
            m.d.sync += [key[c].eq(step.key), wanting[c].eq(1), asking[c].eq(1)]
        with m.If(selected & step.fire):
            m.d.sync += ending[c].eq(step.ends)
        with m.If(file.pass_begun & (step.context == c)):
            m.d.sync += [there.eq(0), registers_c.sure.eq(0)]
            with m.If(step.advance):
                m.d.sync += [
                    registers_c.position.eq(registers_c.position + 1), registers_c.loaded.eq(0),
                    registers_c.measured.eq(~step.cut),
                ]
            with m.Elif(step.clears):
                m.d.sync += registers_c.measured.eq(0)

        with m.If(self.i_start.valid & (self.i_start.payload.context == c)):
            m.d.sync += self._begins(phase[c], registers_c, wanting[c], ending[c])
        with m.If(step.finish & (file.finished == c)):
            m.d.sync += [phase[c].eq(Phase.FREE), wanting[c].eq(0), there.eq(0), registers_c.sure.eq(0)]

    def _begins(self, phase, registers, wanting, ending) -> list:
        """A pulse begins in a context: what its registers then hold."""
        begins = self.i_start.payload
        return [
            phase.eq(Mux(begins.taken, Phase.TAKEN, Phase.READY)), registers.eq(0),
            registers.job.eq(begins.job), registers.measured.eq(~begins.cut), wanting.eq(0), ending.eq(0),
        ]

    def _call(self, m: Module, file: _Registers) -> None:
        """Which blocked contexts a credit may be for: of each job the oldest of those that want one of its peer. To
        call all of them would keep the credit table busy with refusals.

        They learn it two cycles later, so the trigger's last step informs one that was asking meanwhile.
        """
        want, returned, phase, older = self.want, self.i_returned, file.phase, file.older
        n = self.n_contexts
        wants = Array(Signal(len(want.peer), name=f"wants_{c}") for c in range(n))
        concerned = Signal(n)
        # Whoever is blocked has asked before.
        with m.If(want.asks):
            m.d.sync += wants[self.step.context].eq(want.peer)
        m.d.comb += concerned.eq(Cat(
            (phase[c] == Phase.BLOCKED)
            & (returned.valid & (wants[c] == returned.payload.peer) | want.granted & (wants[c] == want.peer))
            for c in range(n)
        ))
        m.d.sync += file.called.eq(Cat(
            concerned[c] & (returned.valid & want.granted | ~(older[c] & concerned).any()) for c in range(n)
        ))

    def _age(self, m: Module, file: _Registers) -> None:
        """Keeps the order of age, and notes for each context that an older one has gone a cycle before.

        A context counts until it is free or its last pass has gone. `step.fire` arrives late in the cycle, so it takes
        effect in the next one.
        """
        begins, step = self.i_start.payload, self.step
        n, finish, finished = self.n_contexts, step.finish, file.finished
        older, aged, parts, parted = file.older, file.aged, Signal(), Signal.like(file.finished)
        m.d.sync += [parts.eq(step.fire & step.ends), parted.eq(step.context)]
        for c in range(n):
            m.d.sync += aged[c].eq(finish & older[c].bit_select(finished, 1) | parts & older[c].bit_select(parted, 1))
            with m.If(finish):
                m.d.sync += older[c].bit_select(finished, 1).eq(0)
            with m.If(parts):
                m.d.sync += older[c].bit_select(parted, 1).eq(0)
            with m.If(self.i_start.valid & (begins.context == c)):
                same = Cat(
                    (file.phase[other] != Phase.FREE) & (file.registers[other].job == begins.job) for other in range(n)
                )
                ends_now = Cat(finish & (finished == other) for other in range(n))
                m.d.sync += older[c].eq(same & ~ends_now & ~file.ending & (((1 << n) - 1) ^ (1 << c)))

    def _tell(self, m: Module, file: _Registers) -> None:
        """Status of the contexts of each job, and of all of them."""
        n, n_jobs, phase, older = self.n_contexts, self.n_jobs, file.phase, file.older
        oldest = [older[c] == 0 for c in range(n)]
        m.d.comb += [
            self.doing.decides.eq(Cat((phase[c] == Phase.READY) | (phase[c] == Phase.TAKEN) for c in range(n)).any()),
            self.doing.runs.eq(Cat(phase[c] == Phase.RUNNING for c in range(n)).any()),
            *(self.doing[name].eq(Cat((phase[c] == waits) & oldest[c] for c in range(n)).any()) for name, waits in (
                ("credit", Phase.BLOCKED), ("packet", Phase.WAITING), ("operand", Phase.LOADING)
            )),
        ]
        for j in range(n_jobs):
            m.d.comb += self.active[j].eq(
                Cat((phase[c] != Phase.FREE) & (file.registers[c].job == j) for c in range(n)).any()
            )
