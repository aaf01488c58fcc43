"""The point-to-point operations of this node that are in progress."""

from itertools import pairwise

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, Status
from rtl.interface import CompletionEvent
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.memory import BlockMemory
from rtl.kit.skid import SkidBuffer
from rtl.kit.step_pipeline import StepPipeline, StepValues
from rtl.p2p.p2p_signatures import AwaitedSignature, TimeSignature
from rtl.p2p.records import (
    DETAIL_BITS,
    FRAGMENT_COUNT_BITS,
    GET_COUNT_BITS,
    NONCE_BITS,
    NUMBER_BITS,
    STATUS_BITS,
    OperationNumber,
    TrackerCommand,
    TrackerOp,
)
from rtl.p2p.tracker_steps import Change, Entries, Subject, Time

CHECK_CYCLES = 16
"""Cycles between two looks of the watchdog, each at one operation."""
N_INPUTS = 8
"""Sources of commands, the watchdog among them."""
STAMP_BITS = 34
"""The watchdog compares 32 bits of cycles; two more, so that an operation is looked at long before they wrap."""

CUTS = ("update",)
"""Steps from a record to what becomes of it that end in registers (``find``, ``update``); each takes a cycle."""


class Tracker(wiring.Component):
    """Counts the fragments of each operation and their answers, and completes it exactly once.

    An operation ends when its last fragment has been sent (of a GET: asked for) and all of them are answered; its
    completion carries the first error. If it makes no progress for `watchdog` cycles it completes with TIMEOUT (or the
    error that it had), but never while data of a GET are being written. Its entry is used for another operation only
    when its fragments have all left the transmit side.

    Operations are numbered. The low bits of the number are the entry; the others distinguish the operations that have
    used it. The number travels in the packets, so an answer that comes too late is counted as `unknown` and changes
    nothing. A number is used again after at least ``2**16 / n`` operations.

    Timing: one command in two cycles and one for each of :data:`CUTS`, three; time is a cycle late. Everything but
    `ready` of the inputs is a function of registers.

    Parameters
    ----------
    n : int
        Operations in progress, a power of two, 2 to 256.

    Members
    -------
    i_nonce : ``In(stream.Signature(32))``, o_number : ``Out(stream.Signature(OperationNumber))``
        Nonces; number and nonce for the next operation: valid while there is a nonce and an entry is free. Its transfer
        takes the entry.
    i_open, i_progress : arrays of 2 ``In(stream.Signature(TrackerCommand))``
        Commands of those who send SEND and PUT, and of those who send GET; `op` is filled in here. An operation's OPEN
        must be taken before its first PROGRESS is offered, and a PROGRESS before its packet leaves.
    i_answer, i_land, i_landed : ``In(stream.Signature(TrackerCommand))``
        Answers to SEND and PUT, to GET, and their end. No LAND before the last one's `o_land` has been taken.
    o_land : ``Out(stream.Signature(1))``
        High if a LAND is in order: its operation is a GET in progress with an answer to come. A LANDED follows.
    awaited : ``Out(AwaitedSignature(n))``
        Fragments of GETs that are awaited.
    failed : ``Out(n)``
        For each entry: the operation has failed, the rest of it need not be sent.
    busy : ``Out(1)``
        Some operation is in progress.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Completions.
    unknown : ``Out(1)``
        Pulse: an answer belonged to no operation.
    time : ``In(TimeSignature())``
        Time.
    """

    def __init__(self, *, n: int):
        if not 2 <= n <= 256 or n & (n - 1):
            raise ValueError(f"n must be a power of two from 2 to 256, not {n!r}")
        self.n = n
        super().__init__({
            "i_nonce": In(stream.Signature(NONCE_BITS)),
            "o_number": Out(stream.Signature(OperationNumber)),
            "i_open": In(stream.Signature(TrackerCommand)).array(2),
            "i_progress": In(stream.Signature(TrackerCommand)).array(2),
            "i_answer": In(stream.Signature(TrackerCommand)),
            "i_land": In(stream.Signature(TrackerCommand)),
            "i_landed": In(stream.Signature(TrackerCommand)),
            "o_land": Out(stream.Signature(1)),
            "awaited": Out(AwaitedSignature(n)),
            "failed": Out(n),
            "busy": Out(1),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "unknown": Out(1),
            "time": In(TimeSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.records = records = BlockMemory(shape=self._record(), depth=self.n, apart=True)
        entries = Entries(**{name: Signal(self.n, name=name) for name in ("taken", "alive", "failed")})
        m.d.comb += [self.failed.eq(entries.failed), self.busy.eq(entries.taken.any())]
        self._hand_out_numbers(m, entries)
        m.submodules.arbiter = arbiter = StreamArbiter(
            shape=TrackerCommand, n=N_INPUTS, full_rate=False, chooses_ahead=True
        )
        self._gather(m, arbiter)

        # Time is looked at for commands alone, so that it moves nothing else.
        time = Time(
            now=Signal(STAMP_BITS, name="now"), limit=Signal(STAMP_BITS, name="limit"),
            is_watched=Signal(name="is_watched"),
        )
        m.d.sync += time.is_watched.eq(self.time.watchdog != 0)
        with m.If(arbiter.o.valid):
            m.d.sync += [
                time.now.eq(self.time.cycles), time.limit.eq(self.time.cycles[:STAMP_BITS] - self.time.watchdog),
            ]
        self._go_round(m, arbiter.i[N_INPUTS - 1], entries, is_watched=time.is_watched)

        # One command: read the record, then write it back changed.
        command, old = arbiter.o.payload, records.read_data
        entry = command.number[:self._entry_bits]
        is_alive = entries.alive.bit_select(entry, 1)
        subject = Subject(command=command, entry=entry, old=old, is_alive=is_alive)
        updates = Signal()
        pipeline = StepPipeline(m, cuts=CUTS, stays=True, enable=updates)
        v = pipeline.step(
            "find", late=time.is_watched & ~(time.limit - old.stamp)[STAMP_BITS - 1], is_get=old.kind == CplKind.GET,
            is_mine=is_alive & (old.generation == command.number[self._entry_bits:]),
            answered=old.unanswered == 0, one_left=old.unanswered == 1,
            all_land=old.unanswered == old.landing, none_lands=old.landing == 0,
        )
        found = self._update(m, v, subject, time.now)
        decided = pipeline.step(
            "update", v, record=found.record, touched=found.touched, expired=found.expired,
            ends=found.touched & is_alive & (found.expired | ~found.record.sending & found.none_left),
        )
        pipeline.finish()
        m.d.comb += [
            records.read_address.eq(entry), records.write_address.eq(entry), records.write_data.eq(decided.record),
        ]
        m.submodules.events = events = SkidBuffer(shape=CompletionEvent)
        connect(m, events.o, flipped(self.o_event))
        reported = ("vp", "status", "kind", "bytes", "tag", "detail")
        m.d.comb += [events.i.payload[name].eq(decided.record[name]) for name in reported]
        # One LAND at a time is asked, so there is always room for its verdict.
        m.submodules.verdicts = verdicts = SkidBuffer(shape=1)
        connect(m, verdicts.o, flipped(self.o_land))
        m.d.comb += verdicts.i.payload.eq(found.touched)

        m.d.sync += [self.unknown.eq(0), self.awaited.landed.eq(0)]
        with m.FSM():
            with m.State("READ"):
                m.d.comb += records.read_enable.eq(1)
                with m.If(arbiter.o.valid):
                    m.next = CUTS[0].upper()
            # One state a cut; in the last one it is seen whether the command was in order.
            for cut, behind in pairwise((*CUTS, "finish")):
                with m.State(cut.upper()):
                    m.d.comb += updates.eq(1)
                    m.next = behind.upper()
                    if cut == CUTS[-1]:
                        m.d.comb += verdicts.i.valid.eq(command.op == TrackerOp.LAND)
                        m.d.sync += self.unknown.eq((command.op == TrackerOp.ANSWER) & ~found.touched)
            # The decision is carried out once there is room for the completion.
            with m.State("FINISH"):
                m.d.comb += events.i.valid.eq(decided.ends)
                with m.If(~decided.ends | events.i.ready):
                    m.d.comb += [records.write_enable.eq(decided.touched), arbiter.o.ready.eq(1)]
                    self._finish(m, entries, subject, decided)
                    m.next = "READ"


        return m

    @property
    def _entry_bits(self) -> int:
        return self.n.bit_length() - 1

    def _record(self) -> data.StructLayout:
        """Returns the layout of the record of an operation."""
        return data.StructLayout({
            "generation": NUMBER_BITS - self._entry_bits,
            "vp": formats.VP_BITS,
            "kind": 4,
            "bytes": 32,
            "tag": 32,
            "unanswered": FRAGMENT_COUNT_BITS,
            "landing": GET_COUNT_BITS,
            "sending": 1,
            "status": STATUS_BITS,
            "detail": DETAIL_BITS,
            "stamp": STAMP_BITS,
        })

    def _hand_out_numbers(self, m: Module, entries: Entries) -> None:
        """Hands out numbers in circular order, so that an entry rests as long as possible."""
        number = Signal(NUMBER_BITS)
        entry = number[:self._entry_bits]
        is_free = ~entries.taken.bit_select(entry, 1)
        searches = ~is_free & ~entries.taken.all()
        m.d.comb += [
            self.o_number.valid.eq(is_free & self.i_nonce.valid),
            self.o_number.payload.number.eq(number),
            self.o_number.payload.nonce.eq(self.i_nonce.payload),
            self.i_nonce.ready.eq(is_free & self.o_number.ready),
        ]
        with m.If(self.o_number.valid & self.o_number.ready):
            m.d.sync += [
                entries.taken.bit_select(entry, 1).eq(1),
                entries.failed.bit_select(entry, 1).eq(0),
                number.eq(number + 1),
            ]
        with m.Elif(searches):
            m.d.sync += number.eq(number + 1)

    def _go_round(self, m: Module, checks: stream.Interface, entries: Entries, *, is_watched: Signal) -> None:
        """Visits the entries in turn, as the watchdog, rarely enough to cost no throughput.

        The entry follows from the time.
        """
        check, check_entry = Signal(), Signal(self._entry_bits)
        cycles = self.time.cycles
        turn = cycles[CHECK_CYCLES.bit_length() - 1:][:self._entry_bits]
        with m.If((cycles[:CHECK_CYCLES.bit_length() - 1] == 0) & is_watched & ~check):
            with m.If(entries.alive.bit_select(turn, 1)):
                m.d.sync += [check.eq(1), check_entry.eq(turn)]
        with m.If(check & checks.ready):
            m.d.sync += check.eq(0)
        m.d.comb += [
            checks.valid.eq(check),
            checks.payload.op.eq(TrackerOp.CHECK),
            checks.payload.number.eq(check_entry),
        ]

    def _gather(self, m: Module, arbiter: StreamArbiter) -> None:
        """Gathers the commands of all sources."""
        inputs = (
            *((source, TrackerOp.OPEN) for source in self.i_open),
            *((source, TrackerOp.PROGRESS) for source in self.i_progress),
            (self.i_answer, TrackerOp.ANSWER), (self.i_land, TrackerOp.LAND), (self.i_landed, TrackerOp.LANDED),
        )
        for port, (source, op) in zip(arbiter.i, inputs, strict=False):
            m.d.comb += [
                port.valid.eq(source.valid),
                port.payload.eq(source.payload),
                port.payload.op.eq(op),
                source.ready.eq(port.ready),
            ]

    def _update(self, m: Module, v: StepValues, subject: Subject, now: Signal) -> Change:
        """Computes the change of the record by a command."""
        command, old = subject.command, subject.old
        found = Change(
            record=Signal(self._record(), name="changed"),
            **{name: Signal(name=name) for name in ("touched", "expired", "none_left")},
        )
        new, touched, expired, none_left = found.record, found.touched, found.expired, found.none_left

        def note_error(status, detail):
            """The first error stays."""
            with m.If((old.status == Status.OK) & (status != Status.OK)):
                m.d.comb += [new.status.eq(status), new.detail.eq(detail)]

        m.d.comb += [new.eq(old), none_left.eq(v.answered)]
        with m.Switch(command.op):
            with m.Case(TrackerOp.OPEN):
                m.d.comb += [
                    touched.eq(1),
                    new.eq(0),
                    new.generation.eq(command.number[self._entry_bits:]),
                    *(new[name].eq(command[name]) for name in ("vp", "kind", "bytes", "tag")),
                    new.sending.eq(1),
                    new.stamp.eq(now),
                ]
            with m.Case(TrackerOp.PROGRESS):
                m.d.comb += [
                    touched.eq(1),
                    new.unanswered.eq(old.unanswered + command.sent),
                    none_left.eq(v.answered & ~command.sent),
                    new.sending.eq(~command.final),
                    new.stamp.eq(Mux(command.sent, now, old.stamp)),
                ]
                note_error(command.status, command.detail)
            with m.Case(TrackerOp.ANSWER):
                m.d.comb += [
                    touched.eq(v.is_mine & ~v.is_get & ~v.answered),
                    new.unanswered.eq(old.unanswered - 1),
                    none_left.eq(v.one_left),
                    new.stamp.eq(now),
                ]
                note_error(command.status, command.detail)
            with m.Case(TrackerOp.LAND):
                m.d.comb += [
                    touched.eq(v.is_mine & v.is_get & ~v.all_land),
                    new.landing.eq(old.landing + 1),
                    new.stamp.eq(now),
                ]
            with m.Case(TrackerOp.LANDED):
                m.d.comb += [
                    touched.eq(1),
                    new.unanswered.eq(old.unanswered - 1),
                    none_left.eq(v.one_left),
                    new.landing.eq(old.landing - 1),
                    new.stamp.eq(now),
                ]
                note_error(command.status, command.detail)
            with m.Case(TrackerOp.CHECK):
                # A write in progress is going to end; its operation must not end before it.
                m.d.comb += [expired.eq(subject.is_alive & v.late & v.none_lands), touched.eq(expired)]
                note_error(Status.TIMEOUT, old.unanswered)
        return found

    def _finish(self, m: Module, entries: Entries, subject: Subject, decided: StepValues) -> None:
        """Carries out what was decided: the count of awaited fragments, and the entry."""
        command, old, entry, awaited = subject.command, subject.old, subject.entry, self.awaited
        is_alive = entries.alive.bit_select(entry, 1)
        with m.If(decided.is_get & is_alive & (command.op != TrackerOp.OPEN)):
            with m.If(decided.expired):
                m.d.sync += awaited.count.eq(awaited.count - old.unanswered)
            with m.Elif(command.op == TrackerOp.PROGRESS):
                m.d.sync += awaited.count.eq(awaited.count + command.sent)
            with m.Elif(command.op == TrackerOp.LANDED):
                m.d.sync += [awaited.count.eq(awaited.count - 1), awaited.landed.eq(1), awaited.entry.eq(entry)]
        with m.If(decided.touched):
            m.d.sync += entries.failed.bit_select(entry, 1).eq(decided.record.status != Status.OK)
        with m.If(command.op == TrackerOp.OPEN):
            m.d.sync += entries.alive.bit_select(entry, 1).eq(1)
        with m.Elif(decided.touched & (decided.ends | ~is_alive)):
            m.d.sync += entries.alive.bit_select(entry, 1).eq(0)
            with m.If(~decided.record.sending):
                m.d.sync += entries.taken.bit_select(entry, 1).eq(0)
