"""Ends what an offload unit has of jobs that software has closed, and operations that wait for what will not come.

Architecture: ``docs/jobs.md``.
"""

from types import SimpleNamespace

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from rtl.abi import HashKey, PacketHeader
from rtl.buffer.layouts import Arrival, arrival_layout, free_layout, key_fields
from rtl.buffer.tag_table import answer_layout
from rtl.cou.command import CouShapes
from rtl.cou.terms import differ, terms_detail, terms_of
from rtl.credit.layouts import CreditNotice, notice_fields
from rtl.credit.pool_signature import ConsumptionSignature
from rtl.interface import JobClosing
from rtl.kit.index import index_bits


class JobCloser(wiring.Component):
    """Knows which jobs are closed: ends their operations, and drops their packets.

    Operations are looked through after one has begun, slots of the packet buffer after a job has been closed, after a
    packet of one has arrived, and after an operation is over that packets were left to. A packet is dropped as if it
    had been consumed: its slot is freed, its credit returns. So what its sender has out comes back.

    Slots are looked through as well when an operation has waited for half its watchdog, and when a packet of its job
    arrives after that: a packet there that is of another operation (:mod:`rtl.cou.terms`), of a pulse that has begun or
    is over, ends it in BAD_TERMS. Its sender and this node have not agreed on what to do, so it would wait in vain.

    Packets are the trigger's as long as their job has an operation here, which it no longer has once that one is
    over. The read port on headers, and look-ups, are the trigger's too: it stands still while slots are looked through,
    some at a time (:attr:`AT_ONCE`), and goes on for as long in between. The tag table knows whether what a slot
    shows is still there.

    Timing: five cycles for a slot. After a reset all jobs are open after as many cycles as there are JobIDs.

    Members
    -------
    o_fault : ``Out(stream.Signature(fault))``
        An operation that waits in vain.
    order : ``In(stream.Signature(JobClosing))``
        A job is closed, or open again: never twice the same. Always taken, from when all jobs are open on.
    holds : ``In``, ends : ``Out(n_jobs)``
        Operation table: what it has; ends these in JOB_CLOSED.
    arrival : ``In``, arrives : ``In(1)``
        Packets that come in.
    hold : ``Out(1)``, held : ``In(1)``
        The trigger is to stand still; it does: no look-up is on its way, and nothing it does needs a header.
    meta_enable, meta_slot : ``Out``, meta : ``In(PacketHeader)``
        The header in a slot, a cycle after `meta_enable`.
    lookup : ``Out(stream.Signature(HashKey))``, i_lookup : ``In(stream.Signature({hit, slot, error}))``
        The tag table.
    freeing : ``In(1)``; freed : ``In(1)``, freed_slot : ``In``
        Slots of consumed packets are on their way to be freed; one is freed.
    pool : ``Out(ConsumptionSignature())``
        The pool of shared credits: dropped packets, as if they had been consumed.
    bars : ``Out(1)``
        Nobody else may consume a packet: high as `pool.taken` is, and a cycle longer, so that synthesis makes two
        registers of the two. The pool and the lane that consumes lie far apart.
    o_free, o_credit : ``Out(stream.Signature(free))``, ``Out(stream.Signature(credit))``
        As of consumed packets.
    dropped : ``Out(1)``
        Pulse: a packet has been dropped.
    """

    #: Slots that are looked at while the trigger stands still.
    AT_ONCE = 16
    #: Cycles for which the trigger goes on before the next ones.
    PAUSE = 64
    #: More than the frees that can be on their way: those of packets that were consumed before.
    FREES = 32

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        self.slot_bits = slot_bits = index_bits(config.buffer_slots)
        super().__init__({
            "o_fault": Out(stream.Signature(shapes.fault)),
            "order": In(stream.Signature(JobClosing)),
            "holds": In(data.ArrayLayout(shapes.holds, config.cou.n_jobs)), "ends": Out(config.cou.n_jobs),
            "arrival": In(arrival_layout(shapes.packet)), "arrives": In(1),
            "hold": Out(1), "held": In(1),
            "meta_enable": Out(1), "meta_slot": Out(slot_bits), "meta": In(PacketHeader),
            "lookup": Out(stream.Signature(HashKey)),
            "i_lookup": In(stream.Signature(answer_layout(shapes.packet))),
            "freeing": In(1), "freed": In(1), "freed_slot": In(slot_bits),
            "pool": Out(ConsumptionSignature()), "bars": Out(1),
            "o_free": Out(stream.Signature(free_layout(config))), "o_credit": Out(stream.Signature(CreditNotice)),
            "dropped": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        s = self._remember(m)
        s.slot, s.batch = Signal(self.slot_bits, name="slot"), Signal(range(self.AT_ONCE), name="batch")
        s.went, s.gone = Signal(name="went"), Signal(2, name="kept_gone")
        s.waited = Signal(range(max(self.PAUSE, self.FREES) + 1), name="waited")
        header, key = self.meta, self.lookup.payload
        free, credit, notice = self.o_free.payload, self.o_credit.payload, notice_fields(self.meta)
        m.d.comb += [
            self.meta_slot.eq(s.slot), self.i_lookup.ready.eq(1),
            *(key[name].eq(value) for name, value in key_fields(header).items()),
            free.key.eq(key), free.slot.eq(s.slot), free.gone.eq(s.gone),
            # No shared credit is granted for it; the answer repeats that one was asked for.
            self.pool.consumed.loan.eq(notice["loan"]), self.pool.consumed.want.eq(0),
            credit.job_id.eq(header.job_id), credit.source_vp.eq(header.dest_vp),
            *(credit[name].eq(value) for name, value in (notice | {"loan": 0}).items()),
        ]
        m.d.sync += [self.pool.taken.eq(0), self.bars.eq(self.pool.taken)]
        for port in (self.lookup, self.o_free, self.o_credit):
            with m.If(port.ready):
                m.d.sync += port.valid.eq(0)
        with m.FSM() as fsm:
            self._look_through(m, s)
            self._compare(m, s)
            self._drop(m, s)
        # `hold` is registered: states that few runs visit stay off the paths of the blocks that see it.
        m.d.sync += self.hold.eq(~Cat(fsm.ongoing(state) for state in ("IDLE", "OPERATION", "PAUSE")).any())
        return m

    def _remember(self, m: Module) -> SimpleNamespace:
        """Which jobs are closed, how many, and what is to be looked through."""
        n_jobs = self.config.cou.n_jobs
        m.submodules.closed = closed = memory.Memory(
            shape=1, depth=1 << formats.JOB_BITS, init=[], attrs={"ram_style": "block"},
        )
        write = closed.write_port()
        of_job, of_arrival = closed.read_port(), closed.read_port(transparent_for=[write])
        count, swept, sweep = Signal(formats.JOB_BITS + 1), Signal(), Signal(formats.JOB_BITS)
        s = SimpleNamespace(
            **{name: Signal(name=name) for name in (
                "some_operation", "some_packet", "looks_at_operations", "looks_at_packets", "passes_over",
                "passed_over", "of_packet", "is_owned", "looks",
            )}, looked_at=of_job, is_closed=of_job.data, waiting=Signal(n_jobs, name="waiting"),
            looked=Signal(self.shapes.job, name="looked"),
            index=Signal(self.shapes.job, name="index"), swept=swept, foreign=Signal(name="foreign"),
            owner=Signal(self.shapes.job, name="owner"),
        )
        m.d.comb += [
            self.order.ready.eq(1), write.en.eq(self.order.valid | ~swept), write.addr.eq(sweep), write.data.eq(0),
        ]
        with m.If(swept):
            m.d.comb += [write.addr.eq(self.order.payload.job_id), write.data.eq(self.order.payload.closed)]
        with m.Else():
            m.d.sync += [sweep.eq(sweep + 1), swept.eq(sweep.all())]
        closes = self.order.valid & self.order.payload.closed
        with m.If(self.order.valid):
            m.d.sync += count.eq(Mux(self.order.payload.closed, count + 1, count - 1))

        arrived, came, waits = Signal(), Signal(formats.JOB_BITS), Signal(n_jobs)
        m.d.comb += [
            of_arrival.addr.eq(self.arrival.key.job_id), of_arrival.en.eq(self.arrives),
            waits.eq(Cat(self.holds[j].waits for j in range(n_jobs))),
        ]
        m.d.sync += arrived.eq(self.arrives & (self.arrival.what == Arrival.THERE) & ((count != 0) | waits.any()))
        with m.If(self.arrives):
            m.d.sync += came.eq(self.arrival.key.job_id)
        # An operation may be let in before its job is closed and begin later.
        live, before = Signal(n_jobs), Signal(n_jobs)
        m.d.comb += live.eq(Cat(self.holds[j].live for j in range(n_jobs)))
        waited_for = Cat(waits[j] & (self.holds[j].job_id == came) for j in range(n_jobs)).any()
        waited = Signal(n_jobs)
        m.d.sync += [before.eq(live), waited.eq(waits)]
        # Events in the cycle in which a look begins are looked at after it.
        begun, over = (live & ~before).any() & (count != 0), (before & ~live).any() & s.passed_over
        concerned = Signal()
        m.d.sync += concerned.eq(arrived & (of_arrival.data | waited_for))
        m.d.sync += s.passed_over.eq((s.passed_over & ~s.looks_at_packets) | s.passes_over)
        m.d.sync += [
            s.some_operation.eq((s.some_operation & ~s.looks_at_operations) | closes | begun),
            s.some_packet.eq(
                (s.some_packet & ~s.looks_at_packets) | closes | over | (waits & ~waited).any() | concerned
            ),
        ]
        return s

    def _look_through(self, m: Module, s: SimpleNamespace) -> None:
        """Operations, then slots."""
        n_jobs, last = self.config.cou.n_jobs, self.config.buffer_slots - 1
        m.d.comb += s.looked_at.addr.eq(Mux(s.of_packet, self.meta.job_id, self.holds[s.index].job_id))
        # The closed flag of a job is read in one cycle and acted on in the next. Operations end two cycles after they
        # were looked at: an entry takes more than that to hold another one.
        m.d.sync += [s.looks.eq(0), s.looked.eq(s.index)]
        for j in range(n_jobs):
            m.d.sync += self.ends[j].eq(s.looks & (s.looked == j) & self.holds[j].live & s.is_closed)
        with m.State("IDLE"):
            m.d.sync += [
                s.index.eq(0), s.slot.eq(0), s.batch.eq(0), s.waited.eq(0), s.of_packet.eq(~s.some_operation),
            ]
            with m.If(s.some_operation):
                m.d.comb += s.looks_at_operations.eq(1)
                m.next = "OPERATION"
            with m.Elif(s.some_packet):
                m.d.comb += s.looks_at_packets.eq(1)
                m.next = "HOLD"
        with m.State("OPERATION"):
            m.d.sync += [s.looks.eq(1), s.index.eq(s.index + 1)]
            with m.If(s.index == n_jobs - 1):
                m.next = "IDLE"
        with m.State("PAUSE"):
            m.d.sync += s.waited.eq(s.waited + 1)
            with m.If(s.waited == self.PAUSE - 1):
                m.d.sync += s.waited.eq(0)
                m.next = "HOLD"
        with m.State("HOLD"):
            # From one look to the next one there is a cycle in which it was not to stand still.
            stands = self.hold & self.held
            m.d.comb += self.meta_enable.eq(stands)
            with m.If(stands):
                m.next = "READ"
        # The memory says late whether a job is closed: what follows looks at a register.
        was_closed = Signal()
        m.d.sync += was_closed.eq(s.is_closed)
        with m.State("READ"):
            m.next = "JUDGE"
        with m.State("JUDGE"):
            alike = [operation.live & (operation.job_id == self.meta.job_id) for operation in self.holds]
            m.d.sync += [
                s.is_owned.eq(Cat(alike).any()),
                s.waiting.eq(Cat(same & operation.waits for same, operation in zip(alike, self.holds, strict=True))),
            ]
            m.next = "JUDGED"
        with m.State("JUDGED"):
            m.next = "NEXT"
            m.d.comb += s.passes_over.eq(was_closed & s.is_owned)
            m.d.sync += s.foreign.eq(0)
            with m.If(was_closed & ~s.is_owned):
                self._look_up(m)
            for j in range(n_jobs):
                with m.If(s.waiting[j]):
                    m.d.sync += s.owner.eq(j)
                    m.next = "COMPARE"
        with m.State("NEXT"):
            m.d.sync += [s.slot.eq(s.slot + 1), s.batch.eq(s.batch + 1), s.waited.eq(0)]
            m.next = "HOLD"
            with m.If(s.batch == self.AT_ONCE - 1):
                m.d.sync += s.batch.eq(0)
                m.next = "PAUSE"
            with m.If(s.slot == last):
                m.next = "IDLE"

    def _compare(self, m: Module, s: SimpleNamespace) -> None:
        """Compares a packet with an operation that waits, and reports one that does not belong to it."""
        header, owner, fault = self.meta, self.holds[s.owner], self.o_fault
        begun = (header.pulse - owner.next_pulse)[formats.PULSE_BITS - 1]
        with m.State("COMPARE"):
            m.d.sync += s.foreign.eq(1)
            m.next = "NEXT"
            # A pulse that has not begun may be of the next operation, with terms of its own.
            with m.If(begun & differ(header, owner.terms)):
                self._look_up(m)
        with m.State("REPORT"):
            m.d.comb += [
                fault.valid.eq(1), fault.payload.job.eq(s.owner), fault.payload.status.eq(Status.BAD_TERMS),
                fault.payload.detail.eq(terms_detail(header.source_id, terms_of(header), header.pulse, waited=1)),
            ]
            with m.If(fault.ready):
                m.next = "NEXT"

    def _look_up(self, m: Module) -> None:
        m.d.sync += self.lookup.valid.eq(1)
        m.next = "LOOK UP"

    def _drop(self, m: Module, s: SimpleNamespace) -> None:
        """Drops the packet in a slot, if there is one. The trigger stands still until no look-up can find it."""
        # A freed slot counts a cycle later: `freeing` is high in the cycle in which it is freed.
        answer, went, freed = self.i_lookup, Signal(name="just_went"), Signal(name="just_freed")
        m.d.sync += [freed.eq(self.freed), went.eq(self.freed & (self.freed_slot == s.slot))]
        with m.State("LOOK UP"):
            m.d.sync += s.went.eq(0)
            with m.If(self.lookup.ready):
                m.next = "ANSWER"
        with m.State("ANSWER"):
            m.d.sync += s.went.eq(s.went | went)
            with m.If(answer.valid):
                m.next = "NEXT"
                with m.If(answer.payload.hit & (answer.payload.slot == s.slot)):
                    m.next = "WAIT"
                    with m.If(s.foreign):
                        m.next = "REPORT"
        # One that its operation has consumed may not have been freed yet: then another look finds nothing.
        with m.State("WAIT"):
            m.d.sync += s.waited.eq(s.waited + freed)
            with m.If(s.went | went):
                m.next = "NEXT"
            with m.Elif(~self.freeing | (s.waited == self.FREES)):
                m.d.sync += [self.pool.taken.eq(1), self.bars.eq(1)]
                m.next = "TAKE"
        with m.State("TAKE"):
            m.d.sync += [s.gone.eq(self.pool.gone), s.batch.eq(self.AT_ONCE - 1), self.o_free.valid.eq(1)]
            m.next = "FREE"
        # The slot first: where credits are all there is, another packet may come for each that returns.
        with m.State("FREE"):
            with m.If(self.o_free.ready):
                m.next = "FREED"
        with m.State("FREED"):
            with m.If(went):
                m.d.sync += self.o_credit.valid.eq(1)
                m.next = "CREDIT"
        with m.State("CREDIT"):
            m.d.comb += self.dropped.eq(~self.o_credit.valid)
            with m.If(~self.o_credit.valid):
                m.next = "NEXT"
