"""Serves the turns of the virtual ports: hands whole units to targets that have room."""

from collections.abc import Callable

from amaranth import Array, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import P2pOp, Status
from rtl.interface import (
    ADDRESS_BITS,
    STATUS_BITS,
    CompletionEvent,
    P2pPortSignature,
    PlacementSignature,
    SequenceSignature,
)
from rtl.queue.descriptor_fetch import FetchedDescriptor, fetch_command
from rtl.queue.fetch_commands import FetchCommands
from rtl.queue.records import FETCH_BATCH, INDEX_BITS, turn_layout
from rtl.queue.scheduler_target import Target
from rtl.queue.turn_in_progress import TurnInProgress
from rtl.queue.turn_signature import TurnSignature
from rtl.queue.unit_record import RULES, UnitRecord


class Scheduler(wiring.Component):
    """Takes units from the VP whose turn it is and hands them on.

    A unit is one point-to-point descriptor, or a sequence from CH to CT. It is taken only if its completion has room
    in the VP's completion ring and its target has room for it; otherwise the turn ends, nothing of the unit
    is consumed, and the VP tries again later. One that its turn calls expired is refused with NO_PLACE instead. Every
    unit taken ends in exactly one completion: its target's, or, if it is refused, an error from here. A sequence that
    is refused halfway is aborted at its offload unit. What is refused, how, and where the next unit begins:
    ``docs/queues.md``.

    The target of a descriptor is found while its payload still comes in: a sequence asks for an entry with the fields
    alone. The descriptor is handed over when all of it is there; if it is unreadable, the entry is released.

    One turn serves the units that begin in its first fetch, at most `batch`; a VP that was blocked begins with a
    fetch of one. What the next turn begins with is fetched as soon as this one fetches nothing more, so that
    host memory answers meanwhile.

    Parameters
    ----------
    n_cous : int
        Offload units, a power of two.
    sequence_depth : int
        Descriptors of the longest sequence.
    batch : int
        Most descriptors to fetch at once.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    turn : ``In(TurnSignature(address_bits))``
        VP table. The fetch of a turn is commanded while it is offered; one that is stale ends at once.
    fetch : ``Out(stream.Signature(fetch_command(address_bits)))``, i : ``In(stream.Signature(FetchedDescriptor))``
        Descriptor fetch. A descriptor is valid once it is there whole; it is released when it is judged, too.
    words_read : ``In(1)``
        In the next cycle a readable descriptor is valid. Without it the descriptor is handed over a cycle later, if
        its target is known before it is there whole.
    at_hand : ``Out(1)``
        What comes is of the turn in progress, and `vp` its VP; as long as not, it waits.
    judged : ``In(1)``, status : ``In``
        Descriptor check: verdict on ``i.payload.desc`` by itself; comes when all of it but the payload is there.
    vp : ``Out(11)``
        VP of the turn.
    placement : ``Out(PlacementSignature())``
        Job table: which offload unit a sequence goes to. Not `ok`: its job has another one in progress, or is closed:
        then the sequence ends in JOB_CLOSED.
    cou : array of n_cous ``Out(SequenceSignature())``
        Offload units.
    p2p : ``Out(P2pPortSignature())``
        Point-to-point path.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Units that were refused.
    consumed : ``Out(1)``
        Pulses for every descriptor taken from a ring.
    """

    def __init__(
        self, *, n_cous: int, sequence_depth: int, batch: int = FETCH_BATCH, address_bits: int = ADDRESS_BITS,
    ):
        if n_cous < 1 or n_cous & (n_cous - 1):
            raise ValueError(f"n_cous must be a power of two, not {n_cous!r}")
        if not 1 <= batch < 1 << INDEX_BITS:
            raise ValueError(f"batch must be 1 to {(1 << INDEX_BITS) - 1}, not {batch!r}")
        self.n_cous, self.sequence_depth, self.batch = n_cous, sequence_depth, batch
        self.turn_layout = turn_layout(address_bits)
        super().__init__({
            "turn": In(TurnSignature(address_bits)),
            "fetch": Out(stream.Signature(fetch_command(address_bits))),
            "i": In(stream.Signature(FetchedDescriptor)),
            "words_read": In(1),
            "at_hand": Out(1),
            "judged": In(1),
            "status": In(STATUS_BITS),
            "vp": Out(formats.VP_BITS),
            "placement": Out(PlacementSignature()),
            "cou": Out(SequenceSignature()).array(n_cous),
            "p2p": Out(P2pPortSignature()),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "consumed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = UnitRecord(sequence_depth=self.sequence_depth)
        serving = TurnInProgress(m, layout=self.turn_layout, batch=self.batch, unit=unit)
        turn, end = serving.turn, self.turn.end.payload
        # A descriptor is compared with the rules in one cycle, and the result is summed up in the next one: it is known
        # with the judgement, which comes two cycles after the fields at the earliest. `inside` falls as early before a
        # unit.
        rules, broken = Signal(RULES), Signal()
        m.d.sync += [rules.eq(unit.broken), broken.eq(rules.any())]
        m.d.comb += [
            unit.desc.eq(self.i.payload.desc), unit.vp.eq(turn.vp), unit.inside.eq(serving.inside),
            # The record follows what is at hand until the state is left.
            unit.begin.eq(serving.stands.UNIT),
            self.i.ready.eq(serving.discards), self.consumed.eq(serving.consumes),
            self.at_hand.eq(~serving.none_pending), self.vp.eq(turn.vp),
            self.p2p.descriptor.payload.desc.eq(self.i.payload.desc),
            self.o_event.payload.eq(unit.event),
            end.vp.eq(turn.vp),
            *(end[name].eq(getattr(serving, name)) for name in ("cons", "taken", "blocked", "crowded")),
        ]
        commands = FetchCommands(m, serving, turn=self.turn, fetch=self.fetch)
        target = self._connect_target(m, unit, aborting=serving.stands.ABORT)
        self._dispose(m, serving, target)

        # Why the current descriptor is not taken: what is wrong with it, or nothing: its job has another operation.
        reason = Signal(STATUS_BITS)
        with m.If(self.placement.query.ready):
            m.d.sync += target.locating.eq(0)

        def reject(why):
            m.d.sync += reason.eq(why)
            serving.go("REJECT")

        def judge():
            """Goes on with a descriptor of which all but the payload is there."""
            desc = self.i.payload.desc
            with m.If(broken):
                reject(Status.BAD_SEQUENCE)
            with m.Elif(self.status != Status.OK):
                reject(self.status)
            with m.Elif(serving.inside):
                serving.go("DELIVER")
                m.d.sync += target.delivering.eq(target.readable)
            with m.Elif(desc.c):
                serving.go("LOCATE")
                m.d.sync += target.locating.eq(1)
            with m.Elif(Mux(desc.p2p_op == P2pOp.GET, self.p2p.get_room, self.p2p.room)):
                serving.go("P2P")
                m.d.sync += target.sending.eq(target.readable)
            with m.Else():
                reject(Status.NO_PLACE)

        taken = self._take_up(m, serving, commands)
        with m.FSM():
            self._begin(m, serving, commands, taken=taken)
            self._look(m, serving, commands, judge)
            self._find_unit(m, serving, target, reject)
            self._hand_over(m, serving, target)
            self._reject(m, serving, reason=reason)
            self._refuse(m, serving, target, commands)
            self._end(m, serving)
        return m

    def _connect_target(self, m: Module, unit: UnitRecord, *, aborting) -> Target:
        """Connects the target of the current descriptor; an entry is released while `aborting`."""
        target = Target(
            number=Signal(range(max(2, self.n_cous)), name="target"), base_pulse=Signal(formats.PULSE_BITS),
            **{name: Signal(name=name) for name in (
                "probe_ready", "answer_valid", "answer_ok", "descriptor_ready",
                "locating", "probing", "answering", "delivering", "sending", "aborting",
                "readable", "delivered", "sent",
            )},
        )
        desc, port = self.i.payload.desc, Array(self.cou)[target.number]
        m.d.comb += [
            target.aborting.eq(aborting),
            target.readable.eq((self.i.valid & ~self.i.payload.error) | self.words_read),
            target.delivered.eq(target.delivering & target.descriptor_ready),
            target.sent.eq(target.sending & self.p2p.descriptor.ready),
            self.p2p.descriptor.valid.eq(target.sending),
            self.placement.query.payload.job_id.eq(unit.job_id),
            target.probe_ready.eq(port.probe.ready),
            target.answer_valid.eq(port.answer.valid),
            target.answer_ok.eq(port.answer.payload.ok),
            target.descriptor_ready.eq(port.descriptor.ready),
        ]
        for k, port in enumerate(self.cou):
            chosen = target.number == k
            m.d.comb += [
                port.probe.valid.eq(target.probing & chosen),
                port.probe.payload.job_id.eq(unit.job_id),
                port.probe.payload.base_pulse.eq(target.base_pulse),
                port.answer.ready.eq(target.answering & chosen),
                port.descriptor.valid.eq((target.delivering | target.aborting) & chosen),
                port.descriptor.payload.desc.eq(desc),
                port.descriptor.payload.last.eq(target.aborting | desc.ct),
                port.descriptor.payload.abort.eq(target.aborting),
            ]
        return target

    def _dispose(self, m: Module, serving: TurnInProgress, target: Target) -> None:
        """Finds when the current descriptor goes, and a unit ends."""
        stands = serving.stands
        delivered, sent = target.delivered, target.sent
        m.d.comb += [
            serving.consumes.eq(delivered | sent | (stands.SKIP & serving.faulty) | stands.SKIPPED),
            serving.discards.eq(
                serving.consumes | (stands.DRAIN & ~serving.none_pending & self.i.valid & self.judged)
            ),
            serving.counts.eq((delivered & self.i.payload.desc.ct) | sent | (stands.POST & self.o_event.ready)),
        ]

    def _take_up(self, m: Module, serving: TurnInProgress, commands: FetchCommands) -> Value:
        """Takes a turn, once its descriptors have been asked for. Returns whether it does, in the state TURN."""
        offer, stale = self.turn.offer, self.turn.stale
        offered = offer.payload
        fetched = commands.is_fetched | (self.fetch.valid & self.fetch.ready)
        may_go = fetched | ~offered.serves | (stale & ~self.fetch.valid)
        m.d.comb += offer.ready.eq(serving.stands.TURN & may_go)
        taken = offer.valid & may_go
        with m.If(serving.stands.TURN):
            serving.load(offered, is_fetched=taken & fetched, stale=stale)
        return taken

    def _begin(self, m: Module, serving: TurnInProgress, commands: FetchCommands, *, taken: Value) -> None:
        """Begins a turn; asks for more of its descriptors."""
        offered = self.turn.offer.payload
        with m.State("TURN"):
            with m.If(taken):
                m.d.sync += commands.is_fetched.eq(0)
                serving.go("UNIT")
                with m.If(self.turn.stale):
                    serving.go("DRAIN")
                with m.Elif(~offered.serves):
                    serving.go("END")
        with m.State("FETCH"):
            with m.If(self.fetch.ready):
                m.d.sync += [
                    serving.pending.eq(commands.further), serving.none_pending.eq(0),
                    serving.covered.eq(serving.left <= self.batch), serving.extended.eq(1),
                ]
                serving.go("INSIDE")
                with m.If(serving.refused):
                    serving.go("SKIP")

    def _look(
        self, m: Module, serving: TurnInProgress, commands: FetchCommands, judge: Callable[[], None]
    ) -> None:
        """Looks at the next descriptor: between units, or in a sequence that has an entry at its offload unit."""
        with m.State("UNIT"):
            with m.If(serving.none_pending):
                serving.go("END")
            with m.Elif(serving.extended | serving.no_room):
                serving.go("DRAIN")
            with m.Elif(self.judged):
                judge()
        with m.State("INSIDE"):
            with m.If(serving.none_pending):
                with m.If(serving.none_left):
                    serving.refuse(Status.BAD_SEQUENCE, at_hand=0, members_follow=0)
                with m.Else():
                    m.d.sync += commands.more.eq(1)
                    serving.go("FETCH")
            with m.Elif(self.judged):
                judge()

    def _find_unit(
        self, m: Module, serving: TurnInProgress, target: Target, reject: Callable[[Status], None]
    ) -> None:
        """Finds the offload unit of a sequence. The job table's answer is asked for once; it lets the operation in."""
        query, placed = self.placement.query, self.placement.answer
        m.d.comb += query.valid.eq(target.locating)
        with m.State("LOCATE"):
            m.d.comb += placed.ready.eq(1)
            m.d.sync += [target.number.eq(placed.payload.unit), target.base_pulse.eq(placed.payload.base_pulse)]
            with m.If(placed.valid):
                with m.If(placed.payload.ok):
                    serving.go("PROBE")
                with m.Elif(placed.payload.closed):
                    reject(Status.JOB_CLOSED)
                with m.Else():
                    reject(Status.OK)
        with m.State("PROBE"):
            m.d.comb += target.probing.eq(1)
            with m.If(target.probe_ready):
                serving.go("ANSWER")
        with m.State("ANSWER"):
            m.d.comb += target.answering.eq(1)
            with m.If(target.answer_valid):
                with m.If(target.answer_ok):
                    m.d.sync += [serving.inside.eq(1), target.delivering.eq(target.readable)]
                    serving.go("DELIVER")
                with m.Else():
                    reject(Status.NO_PLACE)

    def _hand_over(self, m: Module, serving: TurnInProgress, target: Target) -> None:
        """Hands the descriptor, which is judged, to its target. From here on it has to be there whole."""
        whole, unreadable = self.i.valid, self.i.payload.error
        with m.State("DELIVER"):
            m.d.sync += target.delivering.eq(target.readable & ~target.delivered)
            with m.If(whole & unreadable):
                serving.refuse(Status.MEMORY_ERROR, at_hand=1, members_follow=1)
            with m.Elif(target.delivered):
                m.d.comb += serving.unit.advance.eq(1)
                serving.go("INSIDE")
                with m.If(self.i.payload.desc.ct):
                    serving.go("UNIT")
        with m.State("P2P"):
            m.d.sync += target.sending.eq(target.readable & ~target.sent)
            with m.If(whole & unreadable):
                serving.refuse(Status.MEMORY_ERROR, at_hand=1, members_follow=1)
            with m.Elif(target.sent):
                serving.go("UNIT")

    def _reject(self, m: Module, serving: TurnInProgress, *, reason) -> None:
        """Does not take the descriptor, for a `reason`: now, or at all."""
        desc, whole = self.i.payload.desc, self.i.valid
        with m.State("REJECT"):
            misplaced = (reason == Status.BAD_SEQUENCE) & (~desc.c | desc.ch)
            crowded = (reason == Status.NO_PLACE) & ~serving.turn.expired
            with m.If(whole & self.i.payload.error):
                serving.refuse(Status.MEMORY_ERROR, at_hand=1, members_follow=1)
            # The turn of a VP that was blocked is one unit long, so what has expired is this one.
            with m.Elif(whole & ((reason == Status.OK) | crowded)):
                m.d.sync += serving.crowded.eq(reason == Status.NO_PLACE)
                serving.block()
            with m.Elif(whole):
                serving.refuse(reason, at_hand=~misplaced, members_follow=~misplaced & desc.c & ~desc.ct)

    def _refuse(self, m: Module, serving: TurnInProgress, target: Target, commands: FetchCommands) -> None:
        """Ends a unit that is refused: at its offload unit first, then in the ring, then in an event."""
        desc, unit = self.i.payload.desc, serving.unit
        with m.State("ABORT"):
            with m.If(target.descriptor_ready):
                m.d.sync += serving.inside.eq(0)
                serving.go("SKIP")
        with m.State("SKIP"):
            with m.If(serving.faulty):
                m.d.sync += serving.faulty.eq(0)
            with m.Elif(~serving.skip):
                serving.go("POST")
            with m.Elif(serving.none_pending):
                m.d.sync += commands.more.eq(~serving.none_left)
                serving.go("FETCH")
                with m.If(serving.none_left):
                    serving.go("POST")
            with m.Elif(self.i.valid & self.judged):
                with m.If(self.i.payload.error | ~desc.c | desc.ch | unit.overlong):
                    serving.go("POST")
                with m.Else():
                    serving.go("SKIPPED")
        # A cycle of its own: nobody waits for it, and what to do with a descriptor would be found out late in a cycle.
        with m.State("SKIPPED"):
            m.d.comb += unit.advance.eq(1)
            serving.go("SKIP")
            with m.If(desc.ct):
                serving.go("POST")
        with m.State("POST"):
            m.d.comb += self.o_event.valid.eq(1)
            with m.If(self.o_event.ready):
                serving.go("UNIT")

    def _end(self, m: Module, serving: TurnInProgress) -> None:
        """Ends the turn. Descriptors that were fetched ahead stay in the ring: their next turn reads them again."""
        with m.State("DRAIN"):
            with m.If(serving.none_pending):
                serving.go("END")
        with m.State("END"):
            m.d.comb += self.turn.end.valid.eq(1)
            with m.If(self.turn.end.ready):
                serving.go("TURN")
