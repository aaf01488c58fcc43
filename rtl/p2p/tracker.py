"""The point-to-point operations of this node that are in progress."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, Status
from rtl.interface import CompletionEvent
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.fifo import StreamFifo
from rtl.kit.memory import BlockMemory
from rtl.kit.quiescence import any_moves
from rtl.p2p.records import (
    DETAIL_BITS,
    FRAGMENT_COUNT_BITS,
    GET_COUNT_BITS,
    NUMBER_BITS,
    STATUS_BITS,
    TrackerCommand,
    TrackerOp,
)

CHECK_CYCLES = 16
"""Cycles between two looks of the watchdog, each at one operation."""
N_INPUTS = 8
"""Sources of commands, the watchdog among them."""
STAMP_BITS = 34
"""The watchdog compares 32 bits of cycles; two more, so that an operation is looked at long before they wrap."""


class Tracker(wiring.Component):
    """Counts the fragments of each operation and their answers, and completes it exactly once.

    An operation ends when its last fragment has been sent (of a GET: asked for) and all of them are answered; its
    completion carries the first error. If it makes no progress for `watchdog` cycles it completes with TIMEOUT (or the
    error that it had), but never while data of a GET are being written. Its place is given to another operation only
    once its fragments have all left the transmit side.

    Operations are numbered; the low bits of the number are the place, the others tell the operations that used one
    place apart. The number travels in the packets, so an answer that comes too late is counted as `unknown` and
    touches nothing. A number comes back after at least ``2**16 / n`` operations.

    Timing: one command in three cycles; time is a cycle late. Everything but `ready` of the inputs is a function of
    registers.

    Parameters
    ----------
    n : int
        Operations in progress, a power of two, 2 to 256.

    Members
    -------
    o_number : ``Out(stream.Signature(16))``
        Number for the next operation; valid while a place is free. Taking it takes the place.
    i_open, i_progress : arrays of 2 ``In(stream.Signature(TrackerCommand))``
        Commands of those who send SEND and PUT, and of those who send GET; `op` is filled in here. An operation's OPEN
        must be taken before its first PROGRESS is offered, and a PROGRESS before its packet leaves.
    i_answer, i_land, i_landed : ``In(stream.Signature(TrackerCommand))``
        Answers to SEND and PUT, to GET, and their end. No LAND before the last one's `o_land` has been taken.
    o_land : ``Out(stream.Signature(1))``
        Whether a LAND is in order: its operation is a GET in progress with an answer to come. A LANDED follows.
    n_waiting : ``Out``
        Fragments of GETs that have been asked for and are not there.
    failed : ``Out(n)``
        For each place: the operation has failed, the rest of it need not be sent.
    busy : ``Out(1)``
        Some operation is in progress.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Completions.
    unknown : ``Out(1)``
        Pulse: an answer belonged to no operation.
    cycles, watchdog
        Time, and the limit; 0 is none.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, *, n: int):
        if not 2 <= n <= 256 or n & (n - 1):
            raise ValueError(f"n must be a power of two from 2 to 256, not {n!r}")
        self.n = n
        super().__init__({
            "moves": Out(1),
            "o_number": Out(stream.Signature(NUMBER_BITS)),
            "i_open": In(stream.Signature(TrackerCommand)).array(2),
            "i_progress": In(stream.Signature(TrackerCommand)).array(2),
            "i_answer": In(stream.Signature(TrackerCommand)),
            "i_land": In(stream.Signature(TrackerCommand)),
            "i_landed": In(stream.Signature(TrackerCommand)),
            "o_land": Out(stream.Signature(1)),
            "n_waiting": Out(GET_COUNT_BITS),
            "failed": Out(n),
            "busy": Out(1),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "unknown": Out(1),
            "cycles": In(63),
            "watchdog": In(32),
        })

    def elaborate(self, platform):
        m = Module()
        place_bits = self.n.bit_length() - 1
        record_layout = data.StructLayout({
            "generation": NUMBER_BITS - place_bits,
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
        m.submodules.records = records = BlockMemory(shape=record_layout, depth=self.n, apart=True)

        # Of each place: taken from the moment its number is, alive from OPEN to the completion.
        taken, alive, failed = Signal(self.n), Signal(self.n), Signal(self.n)
        m.d.comb += [self.failed.eq(failed), self.busy.eq(taken.any())]

        # Numbers are handed out in circular order, so that a place rests as long as possible.
        number = Signal(NUMBER_BITS)
        next_place = number[:place_bits]
        m.d.comb += [
            self.o_number.valid.eq(~taken.bit_select(next_place, 1)),
            self.o_number.payload.eq(number),
        ]
        with m.If(self.o_number.valid & self.o_number.ready):
            m.d.sync += [
                taken.bit_select(next_place, 1).eq(1),
                failed.bit_select(next_place, 1).eq(0),
                number.eq(number + 1),
            ]
        with m.Elif(~self.o_number.valid & ~taken.all()):
            m.d.sync += number.eq(number + 1)

        # An operation whose last progress was before `limit` is late.
        now, limit, is_watched = Signal(STAMP_BITS), Signal(STAMP_BITS), Signal()
        m.d.sync += is_watched.eq(self.watchdog != 0)
        # Time is looked at for commands alone, so that it moves nothing else.
        m.submodules.arbiter = arbiter = StreamArbiter(shape=TrackerCommand, n=N_INPUTS)
        with m.If(arbiter.o.valid):
            m.d.sync += [now.eq(self.cycles), limit.eq(self.cycles[:STAMP_BITS] - self.watchdog)]

        # The watchdog goes round the places, slowly enough not to be in the way. Where it is follows from the time.
        check, check_place = Signal(), Signal(place_bits)
        turn = self.cycles[CHECK_CYCLES.bit_length() - 1:][:place_bits]
        with m.If((self.cycles[:CHECK_CYCLES.bit_length() - 1] == 0) & is_watched & ~check):
            with m.If(alive.bit_select(turn, 1)):
                m.d.sync += [check.eq(1), check_place.eq(turn)]
        checks = arbiter.i[N_INPUTS - 1]
        with m.If(check & checks.ready):
            m.d.sync += check.eq(0)
        m.d.comb += [
            checks.valid.eq(check),
            checks.payload.op.eq(TrackerOp.CHECK),
            checks.payload.number.eq(check_place),
        ]
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

        # One command: read the record, then write it back changed.
        command = arbiter.o.payload
        place = command.number[:place_bits]
        outcome = data.StructLayout({"record": record_layout, "touched": 1, "expired": 1, "ends": 1})
        found, decided = Signal(outcome), Signal(outcome)
        old, new, touched, expired = records.read_data, found.record, found.touched, found.expired
        is_alive = alive.bit_select(place, 1)
        slack = Signal(STAMP_BITS)
        m.d.comb += [
            records.read_address.eq(place),
            records.write_address.eq(place),
            records.write_data.eq(decided.record),
            slack.eq(limit - old.stamp),
        ]

        none_left = Signal()
        is_get = old.kind == CplKind.GET
        is_mine = is_alive & (old.generation == command.number[place_bits:])

        def note_error(status, detail):
            """The first error stays."""
            with m.If((old.status == Status.OK) & (status != Status.OK)):
                m.d.comb += [new.status.eq(status), new.detail.eq(detail)]

        m.submodules.events = events = StreamFifo(shape=CompletionEvent, depth=2)
        connect(m, events.o, flipped(self.o_event))
        event = events.i.payload
        m.d.comb += [
            event.vp.eq(decided.record.vp),
            event.status.eq(decided.record.status),
            event.kind.eq(decided.record.kind),
            event.bytes.eq(decided.record.bytes),
            event.tag.eq(decided.record.tag),
            event.detail.eq(decided.record.detail),
        ]

        # One LAND at a time is asked, so there is always room for its verdict.
        m.submodules.verdicts = verdicts = StreamFifo(shape=1, depth=2)
        connect(m, verdicts.o, flipped(self.o_land))
        m.d.comb += verdicts.i.payload.eq(touched)

        def finish():
            """Does what was decided, once there is room for the completion."""
            m.d.comb += events.i.valid.eq(decided.ends)
            with m.If(~decided.ends | events.i.ready):
                m.d.comb += [records.write_enable.eq(decided.touched), arbiter.o.ready.eq(1)]
                with m.If(is_get & is_alive & (command.op != TrackerOp.OPEN)):
                    with m.If(decided.expired):
                        m.d.sync += self.n_waiting.eq(self.n_waiting - old.unanswered)
                    with m.Elif(command.op == TrackerOp.PROGRESS):
                        m.d.sync += self.n_waiting.eq(self.n_waiting + command.sent)
                    with m.Elif(command.op == TrackerOp.LANDED):
                        m.d.sync += self.n_waiting.eq(self.n_waiting - 1)
                with m.If(decided.touched):
                    m.d.sync += failed.bit_select(place, 1).eq(decided.record.status != Status.OK)
                with m.If(command.op == TrackerOp.OPEN):
                    m.d.sync += alive.bit_select(place, 1).eq(1)
                with m.Elif(decided.touched & (decided.ends | ~is_alive)):
                    m.d.sync += alive.bit_select(place, 1).eq(0)
                    with m.If(~decided.record.sending):
                        m.d.sync += taken.bit_select(place, 1).eq(0)
                m.next = "READ"

        m.d.sync += self.unknown.eq(0)
        with m.FSM() as fsm:
            with m.State("READ"):
                m.d.comb += records.read_enable.eq(1)
                with m.If(arbiter.o.valid):
                    m.next = "UPDATE"

            with m.State("UPDATE"):
                # The record is worth something only if it is `touched`, which takes longer to find out than what it is
                # to become. That no answer is missing any more is seen without the sum.
                m.d.comb += [new.eq(old), none_left.eq(old.unanswered == 0)]
                with m.Switch(command.op):
                    with m.Case(TrackerOp.OPEN):
                        m.d.comb += [
                            touched.eq(1),
                            new.eq(0),
                            new.generation.eq(command.number[place_bits:]),
                            new.vp.eq(command.vp),
                            new.kind.eq(command.kind),
                            new.bytes.eq(command.bytes),
                            new.tag.eq(command.tag),
                            new.sending.eq(1),
                            new.stamp.eq(now),
                        ]
                    with m.Case(TrackerOp.PROGRESS):
                        m.d.comb += [
                            touched.eq(1),
                            new.unanswered.eq(old.unanswered + command.sent),
                            none_left.eq((old.unanswered == 0) & ~command.sent),
                            new.sending.eq(~command.final),
                            new.stamp.eq(Mux(command.sent, now, old.stamp)),
                        ]
                        note_error(command.status, command.detail)
                    with m.Case(TrackerOp.ANSWER):
                        m.d.comb += [
                            touched.eq(is_mine & ~is_get & (old.unanswered != 0)),
                            new.unanswered.eq(old.unanswered - 1),
                            none_left.eq(old.unanswered == 1),
                            new.stamp.eq(now),
                        ]
                        note_error(command.status, command.detail)
                        m.d.sync += self.unknown.eq(~touched)
                    with m.Case(TrackerOp.LAND):
                        m.d.comb += [
                            touched.eq(is_mine & is_get & (old.unanswered != old.landing)),
                            new.landing.eq(old.landing + 1),
                            new.stamp.eq(now),
                            verdicts.i.valid.eq(1),
                        ]
                    with m.Case(TrackerOp.LANDED):
                        m.d.comb += [
                            touched.eq(1),
                            new.unanswered.eq(old.unanswered - 1),
                            none_left.eq(old.unanswered == 1),
                            new.landing.eq(old.landing - 1),
                            new.stamp.eq(now),
                        ]
                        note_error(command.status, command.detail)
                    with m.Case(TrackerOp.CHECK):
                        # What is being written is going to end; its operation must not end before it.
                        late = is_watched & ~slack[-1]
                        m.d.comb += [expired.eq(is_alive & late & (old.landing == 0)), touched.eq(expired)]
                        note_error(Status.TIMEOUT, old.unanswered)

                m.d.comb += found.ends.eq(touched & is_alive & (expired | ~new.sending & none_left))
                m.d.sync += decided.eq(found)
                m.next = "FINISH"

            with m.State("FINISH"):
                finish()

        m.d.sync += self.moves.eq(any_moves(
            arbiter.o.valid, ~fsm.ongoing("READ"), ~self.o_number.valid & ~taken.all(), check,
            is_watched & alive.any(), arbiter.moves, events.moves, verdicts.moves,
        ))

        return m
