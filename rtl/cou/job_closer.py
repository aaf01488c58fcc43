"""Ends what an offload unit has of jobs that software has closed, and operations that wait for what will not come.

Architecture: ``docs/jobs.md``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import Status
from rtl.buffer.layouts import key_fields, key_hash
from rtl.buffer.packet_signatures import StoredPacketsSignature
from rtl.cou.closed_jobs import ClosedJobs
from rtl.cou.context_signatures import StandstillSignature
from rtl.cou.packet_signature import DropSignature
from rtl.cou.shapes import CouShapes
from rtl.cou.terms import differ, terms_detail, terms_of
from rtl.credit.layouts import notice_fields
from rtl.interface import JobClosing


class _Walk:
    """Registers of the walk through operations and slots.

    Members
    -------
    index, slot, batch, waited : Signal
        The operation, or the slot; slots since the trigger was made to stand still; cycles since something began.
    of_packet, looks, looked : Signal
        The flag of a packet's job is read; the flag that is read now is that of the operation `looked`.
    is_owned, waiting, owner, foreign : Signal
        The packet's job has an operation here; those of them that have waited; the one that the packet is compared
        with; the packet is to be reported, not dropped.
    is_freed, gone : Signal
        The packet's slot has been freed; how many reports it is worth.
    """

    def __init__(self, closer: "JobCloser"):
        n_jobs, job = closer.n_jobs, closer.shapes.job
        self.index, self.looked, self.owner = (Signal(job, name=name) for name in ("index", "looked", "owner"))
        self.slot, self.batch = Signal(closer.shapes.packet, name="slot"), Signal(range(closer.AT_ONCE), name="batch")
        self.waited = Signal(range(max(closer.PAUSE, closer.FREES) + 1), name="waited")
        self.of_packet, self.looks, self.is_owned, self.foreign, self.is_freed = (
            Signal(name=name) for name in ("of_packet", "looks", "is_owned", "foreign", "is_freed")
        )
        self.waiting, self.n_left = Signal(n_jobs, name="waiting"), Signal(2, name="n_left")


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

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    n_jobs : int
        Operations of the unit, from 1 to as many as `shapes` can number.
    n_slots : int
        Slots of the packet buffer, from 1 to as many as `shapes` can number.

    Members
    -------
    o_fault : ``Out(stream.Signature(fault))``
        An operation that waits in vain.
    order : ``In(stream.Signature(JobClosing))``
        A job is closed, or open again: never twice the same. Always taken, from when all jobs are open on.
    holds : ``In``, ends : ``Out(n_jobs)``
        Operation table: what it has; ends these in JOB_CLOSED.
    packets : ``Out(StoredPacketsSignature)``
        Packet buffer.
    standstill : ``Out(StandstillSignature)``
        The trigger, which is to stand still: headers and look-ups are the closer's then.
    drops : ``Out(DropSignature)``
        Packets that are dropped.
    dropped : ``Out(1)``
        Pulse: a packet has been dropped.
    """

    #: Slots that are looked at while the trigger stands still.
    AT_ONCE = 16
    #: Cycles for which the trigger goes on before the next ones.
    PAUSE = 64
    #: More than the frees that can be on their way: those of packets that were consumed before.
    FREES = 32

    def __init__(self, *, shapes: CouShapes, n_jobs: int, n_slots: int):
        shapes.check(n_jobs=n_jobs)
        if not 1 <= n_slots <= 1 << shapes.packet:
            raise ValueError(f"n_slots must be 1 to {1 << shapes.packet}, not {n_slots!r}")
        self.shapes, self.n_jobs, self.n_slots = shapes, n_jobs, n_slots
        super().__init__({
            "o_fault": Out(stream.Signature(shapes.fault)),
            "order": In(stream.Signature(JobClosing)),
            "holds": In(data.ArrayLayout(shapes.holds, n_jobs)), "ends": Out(n_jobs),
            "packets": Out(StoredPacketsSignature(shapes.packet, shapes.hash, shapes.formats)),
            "standstill": Out(StandstillSignature()),
            "drops": Out(DropSignature(shapes)),
            "dropped": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.closed_jobs = self._closed = closed = ClosedJobs(shapes=self.shapes, n_jobs=self.n_jobs)
        walk, drops = _Walk(self), self.drops
        header, lookup, key = self.packets.header, self.packets.lookup, self.packets.lookup.request.payload
        free, credit, notice = drops.free.payload, drops.credit.payload, notice_fields(header.header)
        connect(m, flipped(self.order), closed.order)
        connect(m, flipped(self.packets.arrival), closed.i_arrival)
        m.d.comb += [
            closed.holds.eq(self.holds), header.slot.eq(walk.slot), lookup.answer.ready.eq(1),
            *(key[name].eq(value) for name, value in key_fields(header.header).items()),
            free.key.eq(key), free.slot.eq(walk.slot), free.n_left.eq(walk.n_left),
            # No shared credit is granted for it; the answer repeats that one was asked for.
            drops.pool.consumed.loan.eq(notice["loan"]), drops.pool.consumed.want.eq(0),
            credit.job_id.eq(header.header.job_id), credit.source_vp.eq(header.header.dest_vp),
            *(credit[name].eq(value) for name, value in (notice | {"loan": 0}).items()),
        ]
        if self.shapes.hash:
            # It looks up a header that has stood for some cycles.
            m.d.sync += lookup.hash.eq(key_hash(key, self.shapes.hash))
        m.d.sync += [drops.pool.taken.eq(0), drops.bars.eq(drops.pool.taken)]
        for port in (lookup.request, drops.free, drops.credit):
            with m.If(port.ready):
                m.d.sync += port.valid.eq(0)
        with m.FSM() as fsm:
            self._look_through(m, walk)
            self._compare(m, walk)
            self._drop(m, walk)
        # `hold` is registered: states that few runs visit stay off the paths of the blocks that see it.
        rests = Cat(fsm.ongoing(state) for state in ("IDLE", "OPERATION", "PAUSE")).any()
        m.d.sync += self.standstill.hold.eq(~rests)
        return m

    def _look_through(self, m: Module, walk: _Walk) -> None:
        """Operations, then slots."""
        n_jobs, last = self.n_jobs, self.n_slots - 1
        reasons, header = self._closed.reasons, self.packets.header
        m.d.comb += reasons.job_id.eq(Mux(walk.of_packet, header.header.job_id, self.holds[walk.index].job_id))
        # The closed flag of a job is read in one cycle and acted on in the next. Operations end two cycles after they
        # were looked at: an entry takes more than that to hold another one.
        m.d.sync += [walk.looks.eq(0), walk.looked.eq(walk.index)]
        for j in range(n_jobs):
            m.d.sync += self.ends[j].eq(walk.looks & (walk.looked == j) & self.holds[j].live & reasons.is_closed)
        with m.State("IDLE"):
            m.d.sync += [
                walk.index.eq(0), walk.slot.eq(0), walk.batch.eq(0), walk.waited.eq(0),
                walk.of_packet.eq(~reasons.operations),
            ]
            with m.If(reasons.operations):
                m.d.comb += reasons.takes_operations.eq(1)
                m.next = "OPERATION"
            with m.Elif(reasons.packets):
                m.d.comb += reasons.takes_packets.eq(1)
                m.next = "HOLD"
        with m.State("OPERATION"):
            m.d.sync += [walk.looks.eq(1), walk.index.eq(walk.index + 1)]
            with m.If(walk.index == n_jobs - 1):
                m.next = "IDLE"
        with m.State("PAUSE"):
            m.d.sync += walk.waited.eq(walk.waited + 1)
            with m.If(walk.waited == self.PAUSE - 1):
                m.d.sync += walk.waited.eq(0)
                m.next = "HOLD"
        with m.State("HOLD"):
            # From one look to the next one there is a cycle in which it was not to stand still.
            stands = self.standstill.hold & self.standstill.held
            m.d.comb += header.enable.eq(stands)
            with m.If(stands):
                m.next = "READ"
        # The memory says late whether a job is closed: what follows looks at a register.
        was_closed = Signal()
        m.d.sync += was_closed.eq(reasons.is_closed)
        with m.State("READ"):
            m.next = "JUDGE"
        with m.State("JUDGE"):
            alike = [operation.live & (operation.job_id == header.header.job_id) for operation in self.holds]
            m.d.sync += [
                walk.is_owned.eq(Cat(alike).any()),
                walk.waiting.eq(Cat(same & operation.waits for same, operation in zip(alike, self.holds, strict=True))),
            ]
            m.next = "JUDGED"
        with m.State("JUDGED"):
            m.next = "NEXT"
            m.d.comb += reasons.passes_over.eq(was_closed & walk.is_owned)
            m.d.sync += walk.foreign.eq(0)
            with m.If(was_closed & ~walk.is_owned):
                self._look_up(m)
            for j in range(n_jobs):
                with m.If(walk.waiting[j]):
                    m.d.sync += walk.owner.eq(j)
                    m.next = "COMPARE"
        with m.State("NEXT"):
            m.d.sync += [walk.slot.eq(walk.slot + 1), walk.batch.eq(walk.batch + 1), walk.waited.eq(0)]
            m.next = "HOLD"
            with m.If(walk.batch == self.AT_ONCE - 1):
                m.d.sync += walk.batch.eq(0)
                m.next = "PAUSE"
            with m.If(walk.slot == last):
                m.next = "IDLE"

    def _compare(self, m: Module, walk: _Walk) -> None:
        """Compares a packet with an operation that waits, and reports one that does not belong to it."""
        header, owner, fault = self.packets.header.header, self.holds[walk.owner], self.o_fault
        begun = (header.pulse - owner.next_pulse)[len(header.pulse) - 1]
        with m.State("COMPARE"):
            m.d.sync += walk.foreign.eq(1)
            m.next = "NEXT"
            # A pulse that has not begun may be of the next operation, with terms of its own.
            with m.If(begun & differ(header, owner.terms)):
                self._look_up(m)
        with m.State("REPORT"):
            m.d.comb += [
                fault.valid.eq(1), fault.payload.job.eq(walk.owner), fault.payload.status.eq(Status.BAD_TERMS),
                fault.payload.detail.eq(terms_detail(header.source_id, terms_of(header), header.pulse, waited=1)),
            ]
            with m.If(fault.ready):
                m.next = "NEXT"

    def _look_up(self, m: Module) -> None:
        m.d.sync += self.packets.lookup.request.valid.eq(1)
        m.next = "LOOK UP"

    def _drop(self, m: Module, walk: _Walk) -> None:
        """Drops the packet in a slot, if there is one. The trigger stands still until no look-up can find it."""
        # A freed slot counts a cycle later: `freeing` is high in the cycle in which it is freed.
        drops, lookup, frees = self.drops, self.packets.lookup, self.drops.freed
        freed, slot_freed = Signal(name="just_freed"), Signal(name="slot_just_freed")
        m.d.sync += [freed.eq(frees.valid), slot_freed.eq(frees.valid & (frees.payload.slot == walk.slot))]
        with m.State("LOOK UP"):
            m.d.sync += walk.is_freed.eq(0)
            with m.If(lookup.request.ready):
                m.next = "ANSWER"
        with m.State("ANSWER"):
            m.d.sync += walk.is_freed.eq(walk.is_freed | slot_freed)
            with m.If(lookup.answer.valid):
                m.next = "NEXT"
                with m.If(lookup.answer.payload.hit & (lookup.answer.payload.slot == walk.slot)):
                    m.next = "WAIT"
                    with m.If(walk.foreign):
                        m.next = "REPORT"
        # One that its operation has consumed may not have been freed yet: then another look finds nothing.
        with m.State("WAIT"):
            m.d.sync += walk.waited.eq(walk.waited + freed)
            with m.If(walk.is_freed | slot_freed):
                m.next = "NEXT"
            with m.Elif(~drops.freeing | (walk.waited == self.FREES)):
                m.d.sync += [drops.pool.taken.eq(1), drops.bars.eq(1)]
                m.next = "TAKE"
        with m.State("TAKE"):
            m.d.sync += [walk.n_left.eq(drops.pool.n_left), walk.batch.eq(self.AT_ONCE - 1), drops.free.valid.eq(1)]
            m.next = "FREE"
        # The slot first: where credits are all there is, another packet may come for each that returns.
        with m.State("FREE"):
            with m.If(drops.free.ready):
                m.next = "FREED"
        with m.State("FREED"):
            with m.If(slot_freed):
                m.d.sync += drops.credit.valid.eq(1)
                m.next = "CREDIT"
        with m.State("CREDIT"):
            m.d.comb += self.dropped.eq(~drops.credit.valid)
            with m.If(~drops.credit.valid):
                m.next = "NEXT"
