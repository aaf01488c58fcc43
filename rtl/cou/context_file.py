"""State of the pulses in progress, and the associative wake-up that makes waiting free."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.abi import HashKey
from rtl.buffer.layouts import Arrival, arrival_layout
from rtl.cou.activity import Doing
from rtl.cou.command import CouShapes


class Phase(enum.Enum, shape=3):
    """What a context is doing."""

    FREE = 0
    READY = 1
    """Something can be done for it: the trigger is to look at it."""
    TAKEN = 2
    """The trigger looks at it."""
    LOADING = 3
    """Its operand is on its way."""
    WAITING = 4
    """It needs a packet that is not there; an arrival makes it ready."""
    BLOCKED = 5
    """It may not send for want of a credit; a returned credit makes it ready."""
    RUNNING = 6
    """A pass is being executed."""


def look_layout(shapes: CouShapes) -> data.StructLayout:
    """Registers of a context, as the plan stage reads them."""
    return data.StructLayout({
        "job": shapes.job, "position": shapes.place, "packet_there": 1, "sure": 1, "packet": shapes.packet, "loaded": 1,
        "measured": 1,
    })


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

    Members
    -------
    ready : ``Out(n_contexts)``
        Contexts that can be taken. One that is just waking up is among them.
    first : ``Out(n_contexts)``
        Of these, the oldest one of each job.
    take, taken : ``In``
        The trigger takes this context.
    start, start_context, start_job, start_cut, start_taken : ``In``
        Makes a free context the youngest of a job; its phase becomes READY, or TAKEN with `start_taken`. `start_cut`:
        its slice has to be measured.
    look, o_look : ``In``, ``Out``
        Registers of a context.
    measure, measured : ``In``
        The slice of context `measured` is known.
    select : ``In``
        The context that the following are about:
    sleep, next_phase : ``In``
        Its phase from now on.
    wait, wait_key : ``In``
        Registers the key that it waits for.
    loads : ``In(1)``
        Its operand is there, or will be before it is read.
    fire, advance, ends, cut, clears : ``In``
        It is given a pass, which forgets the packet that it had a cycle later, in which `select`, `advance`, `cut` and
        `clears` stay; with `advance` its descriptor's last, with `ends` the
        sequence's. `cut`: the next slice has to be measured; `clears`: so has this one, once more.
    drop : ``In``
        A time-out ends it: frees it.
    oldest : ``Out(1)``
        It is the oldest context of its job of those that may still send something.
    certain : ``Out(1)``
        The packet that it was announced when it was taken is there.
    i_arrival : ``In(stream.Signature({key, slot, what}))``
        Event: key and slot of a packet that comes in, and how far.
    answered, answer_context, answer_hit, answer_packet : ``In``
        Event: the look-up of a context has its answer, and the packet's slot with a hit.
    loaded, loaded_context : ``In``
        Event: a context's operand is there.
    done, done_context : ``In``
        A pass has ended: its context becomes ready, or free if it was the sequence's last. Not with `drop`.
    done_ends : ``Out(1)``
        That context becomes free.
    finish : ``Out(1)``
        Some context becomes free.
    peer, asks, granted, returned, returned_peer : ``In``
        The selected context wants a credit of `peer`: it `asks` for one, and takes one with `granted`; one has
        returned from `returned_peer`. Of the contexts of each job that are blocked for want of a credit of that peer,
        the oldest becomes ready two cycles later. If it is granted one it calls the next.
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

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        n = config.cou.n_contexts
        super().__init__({
            "ready": Out(n), "first": Out(n), "take": In(1), "taken": In(shapes.context),
            "start": In(1), "start_context": In(shapes.context), "start_job": In(shapes.job), "start_cut": In(1),
            "start_taken": In(1),
            "look": In(shapes.context), "o_look": Out(look_layout(shapes)),
            "measure": In(1), "measured": In(shapes.context),
            "select": In(shapes.context),
            "sleep": In(1), "next_phase": In(Phase),
            "wait": In(1), "wait_key": In(HashKey),
            "loads": In(1), "fire": In(1), "advance": In(1), "ends": In(1), "cut": In(1), "clears": In(1),
            "drop": In(1), "oldest": Out(1), "certain": Out(1),
            "i_arrival": In(stream.Signature(arrival_layout(shapes.packet))),
            "answered": In(1), "answer_context": In(shapes.context), "answer_hit": In(1),
            "answer_packet": In(shapes.packet),
            "loaded": In(1), "loaded_context": In(shapes.context),
            "done": In(1), "done_context": In(shapes.context), "done_ends": Out(1), "finish": Out(1),
            "peer": In(formats.PEER_BITS), "asks": In(1), "granted": In(1),
            "returned": In(1), "returned_peer": In(formats.PEER_BITS),
            "expire": In(config.cou.n_jobs),
            "free": Out(n),
            "active": Out(config.cou.n_jobs),
            "doing": Out(Doing),
        })

    def elaborate(self, platform):
        m = Module()
        shapes = self.shapes
        n = self.config.cou.n_contexts
        n_jobs = self.config.cou.n_jobs
        phase = Array(Signal(Phase, name=f"phase_{c}") for c in range(n))
        registers = Array(Signal(look_layout(shapes), name=f"registers_{c}") for c in range(n))
        key = Array(Signal(HashKey, name=f"key_{c}") for c in range(n))
        wanting, asking, ending, certain = Signal(n), Signal(n), Signal(n), Signal(n)
        # older[c] marks the contexts of the same job that were there when c started and may still send something.
        older = Array(Signal(n, name=f"older_{c}") for c in range(n))

        # One context ends at a time.
        finish, finished = self.finish, Signal(shapes.context)
        m.d.comb += [
            self.i_arrival.ready.eq(1), self.o_look.eq(registers[self.look]),
            self.oldest.eq(older[self.select] == 0), self.certain.eq(certain.bit_select(self.select, 1)),
            self.done_ends.eq(ending.bit_select(self.done_context, 1)),
            finish.eq(self.drop | (self.done & self.done_ends)),
            finished.eq(self.done_context),
        ]
        with m.If(self.drop):
            m.d.comb += finished.eq(self.select)
        called = self._call(m, phase=phase, older=older)
        aged = self._age(m, phase=phase, registers=registers, older=older, ending=ending, finished=finished)

        # That a pass goes is known late in a cycle. What its context forgets with it is not read before the pass has
        # ended, so it does so in the next one, in which the plan still stands.
        went = Signal()
        m.d.sync += went.eq(self.fire)

        # A key that is alike takes effect a cycle later: a context that waits is left alone by the trigger, and one
        # that is given up meanwhile wants it no more. A packet that was announced is known by its slot.
        came, arrival = Signal.like(self.i_arrival.payload, name="came"), self.i_arrival.payload
        m.d.sync += [came.slot.eq(arrival.slot), came.what.eq(arrival.what)]
        for c in range(n):
            registers_c = registers[c]
            selected = self.select == c
            taken = self.take & (self.taken == c)

            # Why a context that sleeps wakes up. The oldest one has a claim to the last credit, so becoming the oldest
            # one is a reason to ask again; the trigger may be putting it to sleep then, so that is seen a cycle later.
            claims = aged[c] & (older[c] == 0)
            answered = self.answered & (self.answer_context == c)
            same_key = Signal(name=f"same_key_{c}")
            m.d.sync += same_key.eq(self.i_arrival.valid & wanting[c] & (key[c] == arrival.key))
            there = registers_c.packet_there
            arrived = same_key & (came.what == Arrival.THERE) & wanting[c]
            found = answered & self.answer_hit & wanting[c]
            announced = same_key & (came.what == Arrival.COMING) & wanting[c] & ~there
            same_slot = self.i_arrival.valid & wanting[c] & there & (registers_c.packet == arrival.slot)
            confirmed = same_slot & (arrival.what == Arrival.THERE)
            withdrawn = same_slot & (arrival.what == Arrival.DROPPED)
            gone = Signal(name=f"gone_{c}")
            m.d.sync += gone.eq(Cat(self.expire[j] & (registers_c.job == j) for j in range(n_jobs)).any())
            # A look-up still on its way must come back first: its answer is for this wait and no later one.
            settled = ~asking[c] | answered
            wakes = Signal(name=f"wakes_{c}")
            m.d.comb += wakes.eq(
                (phase[c] == Phase.WAITING) & settled & (registers_c.sure | arrived | announced | found | gone)
            )
            m.d.comb += [self.ready[c].eq(wakes | (phase[c] == Phase.READY)), self.free[c].eq(phase[c] == Phase.FREE)]
            with m.If(
                wakes | (phase[c] == Phase.LOADING) & self.loaded & (self.loaded_context == c)
                | (phase[c] == Phase.BLOCKED) & (called[c] | claims | gone)
                | self.done & (self.done_context == c)
            ):
                m.d.sync += phase[c].eq(Phase.READY)
            with m.If(taken):
                m.d.sync += phase[c].eq(Phase.TAKEN)

            # What it waits for.
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
                m.d.sync += registers_c.packet.eq(self.answer_packet)
            with m.Elif(arrived | announced):
                m.d.sync += registers_c.packet.eq(came.slot)
            with m.If(self.loaded & (self.loaded_context == c) | selected & self.loads):
                m.d.sync += registers_c.loaded.eq(1)
            with m.If(self.measure & (self.measured == c)):
                m.d.sync += registers_c.measured.eq(1)

            # The trigger's changes.
            with m.If(selected & self.sleep):
                m.d.sync += phase[c].eq(self.next_phase)
            with m.If(selected & self.wait):
                m.d.sync += [key[c].eq(self.wait_key), wanting[c].eq(1), asking[c].eq(1)]
            with m.If(selected & self.fire):
                m.d.sync += ending[c].eq(self.ends)
            with m.If(went & (self.select == c)):
                m.d.sync += [there.eq(0), registers_c.sure.eq(0)]
                with m.If(self.advance):
                    m.d.sync += [
                        registers_c.position.eq(registers_c.position + 1), registers_c.loaded.eq(0),
                        registers_c.measured.eq(~self.cut),
                    ]
                with m.Elif(self.clears):
                    m.d.sync += registers_c.measured.eq(0)

            with m.If(self.start & (self.start_context == c)):
                m.d.sync += self._begins(phase[c], registers_c, wanting[c], ending[c])
            with m.If(finish & (finished == c)):
                m.d.sync += [phase[c].eq(Phase.FREE), wanting[c].eq(0), there.eq(0), registers_c.sure.eq(0)]

        # Of those that one event wakes up the oldest goes first, or pulses would overtake each other for nothing.
        m.d.comb += self.first.eq(Cat(self.ready[c] & ~(older[c] & self.ready).any() for c in range(n)))
        self._tell(m, phase=phase, registers=registers, older=older)
        return m

    def _begins(self, phase, registers, wanting, ending) -> list:
        """A pulse begins in a context: what its registers then hold."""
        return [
            phase.eq(Mux(self.start_taken, Phase.TAKEN, Phase.READY)), registers.eq(0),
            registers.job.eq(self.start_job), registers.measured.eq(~self.start_cut), wanting.eq(0), ending.eq(0),
        ]

    def _call(self, m: Module, *, phase, older):
        """Which blocked contexts a credit may be for: of each job the oldest of those that want one of its peer. To
        call all of them would keep the credit table busy with refusals.

        They learn it two cycles later, so the trigger's last step informs one that was asking meanwhile.
        """
        n = self.config.cou.n_contexts
        wants = Array(Signal(formats.PEER_BITS, name=f"wants_{c}") for c in range(n))
        concerned, called = Signal(n), Signal(n)
        # Whoever is blocked has asked before.
        with m.If(self.asks):
            m.d.sync += wants[self.select].eq(self.peer)
        m.d.comb += concerned.eq(Cat(
            (phase[c] == Phase.BLOCKED)
            & (self.returned & (wants[c] == self.returned_peer) | self.granted & (wants[c] == self.peer))
            for c in range(n)
        ))
        m.d.sync += called.eq(Cat(
            concerned[c] & (self.returned & self.granted | ~(older[c] & concerned).any()) for c in range(n)
        ))
        return called

    def _age(self, m: Module, *, phase, registers, older, ending, finished):
        """Who is older than whom. Gives, for each context, whether another one that was older has gone a cycle before.

        A context counts until it is free or its last pass has gone. That a pass goes is known late in a cycle, so it
        counts in the next one.
        """
        n, finish = self.config.cou.n_contexts, self.finish
        parts, parted, aged = Signal(), Signal.like(finished), Signal(n)
        m.d.sync += [parts.eq(self.fire & self.ends), parted.eq(self.select)]
        for c in range(n):
            m.d.sync += aged[c].eq(finish & older[c].bit_select(finished, 1) | parts & older[c].bit_select(parted, 1))
            with m.If(finish):
                m.d.sync += older[c].bit_select(finished, 1).eq(0)
            with m.If(parts):
                m.d.sync += older[c].bit_select(parted, 1).eq(0)
            with m.If(self.start & (self.start_context == c)):
                same = Cat(
                    (phase[other] != Phase.FREE) & (registers[other].job == self.start_job) for other in range(n)
                )
                ends_now = Cat(finish & (finished == other) for other in range(n))
                m.d.sync += older[c].eq(same & ~ends_now & ~ending & (((1 << n) - 1) ^ (1 << c)))
        return aged

    def _tell(self, m: Module, *, phase, registers, older):
        """Status of the contexts of each job, and of all of them."""
        n, n_jobs = self.config.cou.n_contexts, self.config.cou.n_jobs
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
                Cat((phase[c] != Phase.FREE) & (registers[c].job == j) for c in range(n)).any()
            )
