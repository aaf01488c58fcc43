"""State of the pulses in progress, and the associative wake-up that makes waiting free."""

from amaranth import Array, Cat, Module, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.config import Config
from rtl.abi import HashKey
from rtl.cou.command import CouShapes


class Phase(enum.Enum, shape=3):
    """What a context is doing."""

    FREE = 0
    READY = 1
    """Something can be done for it: the trigger is to look at it."""
    LOADING = 2
    """Its operand is on its way."""
    WAITING = 3
    """It needs a packet that is not there; an arrival makes it ready."""
    BLOCKED = 4
    """It may not send for want of a credit; a returned credit makes it ready."""
    RUNNING = 5
    """A pass is being executed."""


class ContextFile(wiring.Component):
    """Registers of all contexts: their phase, what they wait for, and who is older.

    A context that needs a packet registers its key before the packet buffer is asked, and compares every arrival
    with it from the next cycle on; the answer to the look-up covers everything before. So no arrival is missed, and
    no context is ever polled.

    The trigger reads one context (`select`) and may change its phase (`set_phase`) each cycle; events that
    come from elsewhere (arrival, look-up, load, credit) may hit any context at the same time. With
    a pipelined ``cou`` an arrival takes effect a cycle later.

    Members
    -------
    select : ``In``, phase and record of that context on the outputs `packet_there`, `packet`, `key`
    start, start_job : ``In``
        Makes `select` (a free context) the youngest of `start_job`; its phase becomes READY.
    finish : ``In``
        Frees `select`.
    set_phase, next_phase : ``In``
        Changes the phase of `select`.
    wait, wait_key : ``In``
        Registers the key that `select` waits for.
    consume : ``In``
        Forgets the packet that `select` had.
    i_arrival, answered, loaded : ``In``
        Events: key and slot of a packet; the outcome of a context's look-up; a context's operand is there.
    returned : ``In(1)``
        A credit came back: blocked contexts become ready.
    expire : ``In(n_jobs)``
        Jobs whose operation is being given up: their waiting and blocked contexts become ready (a waiting one not
        before its look-up is answered, so that no answer can reach a later user of the context).
    ready, free : ``Out(n_contexts)``
        Contexts by phase.
    active : ``Out(n_jobs)``
        Jobs that have a context.
    oldest : ``Out(1)``
        `select` is the oldest context of its job.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        n = config.cou.n_contexts
        super().__init__({
            "select": In(shapes.context),
            "start": In(1), "start_job": In(shapes.job),
            "finish": In(1),
            "set_phase": In(1), "next_phase": In(Phase),
            "wait": In(1), "wait_key": In(HashKey), "consume": In(1),
            "i_arrival": In(stream.Signature(data.StructLayout({"key": HashKey, "slot": shapes.packet}))),
            "answered": In(1), "answer_context": In(shapes.context), "answer_hit": In(1),
            "answer_packet": In(shapes.packet),
            "loaded": In(1), "loaded_context": In(shapes.context),
            "returned": In(1),
            "expire": In(config.cou.n_jobs),
            "ready": Out(n), "free": Out(n),
            "active": Out(config.cou.n_jobs),
            "packet_there": Out(1), "packet": Out(shapes.packet), "key": Out(HashKey),
            "oldest": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        n = self.config.cou.n_contexts
        n_jobs = self.config.cou.n_jobs
        phase = Array(Signal(Phase, name=f"phase_{c}") for c in range(n))
        job = Array(Signal(self.shapes.job, name=f"job_{c}") for c in range(n))
        key = Array(Signal(HashKey, name=f"key_{c}") for c in range(n))
        wanting = Signal(n)
        there = Signal(n)
        asking = Signal(n)
        packet = Array(Signal(self.shapes.packet, name=f"packet_{c}") for c in range(n))
        # older[c] marks the contexts of the same job that were there when c started.
        older = Array(Signal(n, name=f"older_{c}") for c in range(n))

        # A key that is alike may take effect a cycle later: a context that waits is left alone by the trigger, and one
        # that is given up meanwhile wants it no more.
        staged = m.d.sync if self.config.datapath.is_pipelined("cou") else m.d.comb
        arrived_slot = Signal(self.shapes.packet)
        staged += arrived_slot.eq(self.i_arrival.payload.slot)
        m.d.comb += self.i_arrival.ready.eq(1)
        for c in range(n):
            selected = self.select == c
            m.d.comb += [
                self.ready[c].eq(phase[c] == Phase.READY),
                self.free[c].eq(phase[c] == Phase.FREE),
            ]

            # The trigger's changes.
            with m.If(selected & self.set_phase):
                m.d.sync += phase[c].eq(self.next_phase)
            with m.If(selected & self.wait):
                m.d.sync += [key[c].eq(self.wait_key), wanting[c].eq(1), asking[c].eq(1)]
            with m.If(selected & self.consume):
                m.d.sync += there[c].eq(0)

            # Events from elsewhere. None of them can hit a context in the cycle in which the trigger changes it to
            # the phase that the event would end, but for a returned credit, which the trigger watches itself.
            answered = self.answered & (self.answer_context == c)
            same_key = Signal(name=f"same_key_{c}")
            staged += same_key.eq(self.i_arrival.valid & wanting[c] & (key[c] == self.i_arrival.payload.key))
            arrived = same_key & wanting[c]
            found = answered & self.answer_hit & wanting[c]
            with m.If(answered):
                m.d.sync += asking[c].eq(0)
            with m.If(arrived | found):
                m.d.sync += [there[c].eq(1), wanting[c].eq(0)]
                with m.If(arrived):
                    m.d.sync += packet[c].eq(arrived_slot)
                with m.Else():
                    m.d.sync += packet[c].eq(self.answer_packet)
            gone = Cat(self.expire[j] & (job[c] == j) for j in range(n_jobs)).any()
            # A look-up still on its way must come back first: its answer is for this wait and no later one.
            settled = ~asking[c] | answered
            with m.If((phase[c] == Phase.WAITING) & settled & (there[c] | arrived | found | gone)):
                m.d.sync += phase[c].eq(Phase.READY)
            with m.If((phase[c] == Phase.LOADING) & self.loaded & (self.loaded_context == c)):
                m.d.sync += phase[c].eq(Phase.READY)
            # The oldest context has a claim to the last credit, so becoming the oldest one is a reason to ask again.
            # The trigger puts no other context to sleep in that cycle, so this too may be seen a cycle later.
            aged = Signal(name=f"aged_{c}")
            staged += aged.eq(self.finish & older[c].bit_select(self.select, 1))
            with m.If((phase[c] == Phase.BLOCKED) & (self.returned | aged | gone)):
                m.d.sync += phase[c].eq(Phase.READY)

            # Beginning and end of a pulse.
            with m.If(self.finish):
                m.d.sync += older[c].bit_select(self.select, 1).eq(0)
            with m.If(selected & self.start):
                same = Cat((phase[other] != Phase.FREE) & (job[other] == self.start_job) for other in range(n))
                m.d.sync += [
                    phase[c].eq(Phase.READY), job[c].eq(self.start_job), wanting[c].eq(0), there[c].eq(0),
                    older[c].eq(same & (((1 << n) - 1) ^ (1 << c))),
                ]
            with m.If(selected & self.finish):
                m.d.sync += [phase[c].eq(Phase.FREE), wanting[c].eq(0), there[c].eq(0)]

        for j in range(n_jobs):
            m.d.comb += self.active[j].eq(Cat((phase[c] != Phase.FREE) & (job[c] == j) for c in range(n)).any())
        m.d.comb += [
            self.packet_there.eq(there.bit_select(self.select, 1)),
            self.packet.eq(packet[self.select]),
            self.key.eq(key[self.select]),
            self.oldest.eq(older[self.select] == 0),
        ]
        return m
