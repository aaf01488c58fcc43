"""Serves the turns of the virtual ports: whole units, to whoever has room for them."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import P2pOp, Status
from rtl.abi import Descriptor
from rtl.interface import ADDRESS_BITS, CompletionEvent, PlacementSignature, SequenceSignature
from rtl.queue.descriptor_fetch import FetchedDescriptor, fetch_command
from rtl.queue.records import INDEX_BITS, STATUS_BITS, TurnEnd, turn_layout
from rtl.queue.unit_record import RULES, UnitRecord


class Scheduler(wiring.Component):
    """Takes units from the VP whose turn it is and hands them on.

    A unit is one point-to-point descriptor, or a sequence from CH to CT. It is taken only if its completion has room
    in the VP's completion ring and its target has room for it; otherwise the turn ends, nothing of the unit
    is consumed, and the VP tries again later. One that its turn calls expired is refused with NO_PLACE instead. Every
    unit taken ends in exactly one completion: its target's, or, if it is refused, an error from here. A sequence that
    is refused halfway is aborted at its offload unit. What is refused, how, and where the next unit begins:
    ``docs/queues.md``.

    What is to become of a descriptor is found out while its payload still comes in: a sequence asks for its place with
    the fields alone. It is handed over when it is there whole, or, if it is unreadable, gives the place back.

    One turn serves the units that begin in its first fetch, at most `batch`; a VP that was blocked begins with a
    fetch of one.

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
    turn : ``In(stream.Signature(turn_layout(address_bits)))``, end : ``Out(stream.Signature(TurnEnd))``
        VP table.
    fetch : ``Out(stream.Signature(fetch_command(address_bits)))``, i : ``In(stream.Signature(FetchedDescriptor))``
        Descriptor fetch. A descriptor is valid once it is there whole, and judged.
    judged : ``In(1)``, status : ``In``
        Descriptor check: what ``i.payload.desc`` is worth by itself. All of it but the payload is there then.
    vp : ``Out(11)``
        VP of the turn.
    placement : ``Out(PlacementSignature())``
        Job table: which offload unit a sequence goes to. Not `ok`: its job has another one in progress.
    cou : array of n_cous ``Out(SequenceSignature())``
        Offload units.
    p2p_room, get_room : ``In(1)``
        The point-to-point block takes one more SEND or PUT, or GET. Stay high until a descriptor has been taken.
    o_p2p : ``Out(stream.Signature({desc}))``
        Point-to-point descriptors.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Units that were refused.
    consumed : ``Out(1)``
        Pulses for every descriptor taken from a ring.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(
        self, *, n_cous: int, sequence_depth: int, batch: int = 8, address_bits: int = ADDRESS_BITS,
    ):
        if n_cous < 1 or n_cous & (n_cous - 1):
            raise ValueError(f"n_cous must be a power of two, not {n_cous!r}")
        if not 1 <= batch < 1 << INDEX_BITS:
            raise ValueError(f"batch must be 1 to {(1 << INDEX_BITS) - 1}, not {batch!r}")
        self.n_cous, self.sequence_depth, self.batch = n_cous, sequence_depth, batch
        self.turn_layout = turn_layout(address_bits)
        super().__init__({
            "moves": Out(1),
            "turn": In(stream.Signature(self.turn_layout)),
            "end": Out(stream.Signature(TurnEnd)),
            "fetch": Out(stream.Signature(fetch_command(address_bits))),
            "i": In(stream.Signature(FetchedDescriptor)),
            "judged": In(1),
            "status": In(STATUS_BITS),
            "vp": Out(formats.VP_BITS),
            "placement": Out(PlacementSignature()),
            "cou": Out(SequenceSignature()).array(n_cous),
            "p2p_room": In(1),
            "get_room": In(1),
            "o_p2p": Out(stream.Signature(data.StructLayout({"desc": Descriptor}))),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "consumed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        desc, unreadable = self.i.payload.desc, self.i.payload.error

        # The turn: `left` descriptors stand in the ring, `pending` of them have been asked for.
        turn = Signal(self.turn_layout)
        cons, left, room, taken = (Signal(INDEX_BITS, name=name) for name in ("cons", "left", "room", "taken"))
        pending = Signal(range(self.batch + 1))
        blocked, crowded, extended = Signal(), Signal(), Signal()

        # The unit, and how its refusal goes on.
        m.submodules.unit = unit = UnitRecord(sequence_depth=self.sequence_depth)
        inside, refused, faulty, skip = Signal(), Signal(), Signal(), Signal()
        # What a descriptor breaks is compared in one cycle and summed up in the next one: it is known with the
        # judgement, which comes two cycles after the fields at the earliest. `inside` falls as early before a unit.
        rules, broken = Signal(RULES), Signal()
        m.d.sync += [rules.eq(unit.broken), broken.eq(rules.any())]
        m.d.comb += [
            unit.desc.eq(desc),
            unit.vp.eq(turn.vp),
            unit.inside.eq(inside),
        ]

        # The job table's answer is asked for once; it lets the operation in.
        query, placed = self.placement.query, self.placement.answer
        target = Signal(range(max(2, self.n_cous)))
        base_pulse = Signal(formats.PULSE_BITS)
        m.d.comb += query.payload.job_id.eq(unit.job_id)
        cou = Array(self.cou)
        probe_ready, answer_valid, answer_ok, descriptor_ready = Signal(), Signal(), Signal(), Signal()
        probing, answering, delivering, aborting = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            probe_ready.eq(cou[target].probe.ready),
            answer_valid.eq(cou[target].answer.valid),
            answer_ok.eq(cou[target].answer.payload.ok),
            descriptor_ready.eq(cou[target].descriptor.ready),
        ]
        for k, port in enumerate(self.cou):
            chosen = target == k
            m.d.comb += [
                port.probe.valid.eq(probing & chosen),
                port.probe.payload.job_id.eq(unit.job_id),
                port.probe.payload.base_pulse.eq(base_pulse),
                port.answer.ready.eq(answering & chosen),
                port.descriptor.valid.eq((delivering | aborting) & chosen),
                port.descriptor.payload.desc.eq(desc),
                port.descriptor.payload.last.eq(aborting | desc.ct),
                port.descriptor.payload.abort.eq(aborting),
            ]

        m.d.comb += [
            self.fetch.payload.base.eq(turn.base),
            self.fetch.payload.log2.eq(turn.log2),
            self.fetch.payload.index.eq(cons),
            self.fetch.payload.count.eq(Mux(blocked, 1, Mux(left < self.batch, left, self.batch))),
            self.vp.eq(turn.vp),
            self.o_p2p.payload.desc.eq(desc),
            self.o_event.payload.eq(unit.event),
            self.end.payload.vp.eq(turn.vp),
            self.end.payload.cons.eq(cons),
            self.end.payload.taken.eq(taken),
            self.end.payload.blocked.eq(blocked),
            self.end.payload.crowded.eq(crowded),
        ]

        def discard():
            """Lets go of the descriptor at hand."""
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += pending.eq(pending - 1)

        def consume():
            """Lets go of the descriptor at hand for good: it is no longer in the ring."""
            discard()
            m.d.comb += self.consumed.eq(1)
            m.d.sync += [cons.eq(cons + 1), left.eq(left - 1)]

        def count_unit():
            """Spends the room that the unit's completion needs."""
            m.d.sync += [taken.eq(taken + 1), room.eq(room - 1), inside.eq(0), refused.eq(0)]

        def refuse(status, *, at_hand, members_follow):
            """Ends the unit with an error: at its offload unit first, if that has begun it.

            `at_hand`: the descriptor at hand belongs to it, and `members_follow`: so may those behind that one.
            """
            m.d.comb += [unit.refuse.eq(1), unit.status.eq(status)]
            m.d.sync += [refused.eq(1), faulty.eq(at_hand), skip.eq(members_follow)]
            m.next = "SKIP"
            with m.If(inside):
                m.next = "ABORT"

        def block():
            """Ends the turn: what is at hand cannot be taken now."""
            m.d.sync += blocked.eq(1)
            m.next = "DRAIN"

        # Why the descriptor at hand is not taken: what is wrong with it, or nothing: its job has another operation.
        reason = Signal(STATUS_BITS)

        def judge():
            """Goes on with a descriptor of which all but the payload is there."""
            with m.If(broken):
                m.d.sync += reason.eq(Status.BAD_SEQUENCE)
                m.next = "REJECT"
            with m.Elif(self.status != Status.OK):
                m.d.sync += reason.eq(self.status)
                m.next = "REJECT"
            with m.Elif(inside):
                m.next = "DELIVER"
            with m.Elif(desc.c):
                m.next = "LOCATE"
            with m.Elif(Mux(desc.p2p_op == P2pOp.GET, self.get_room, self.p2p_room)):
                m.next = "P2P"
            with m.Else():
                m.d.sync += reason.eq(Status.NO_PLACE)
                m.next = "REJECT"

        with m.FSM() as fsm:
            with m.State("TURN"):
                m.d.comb += self.turn.ready.eq(1)
                m.d.sync += [
                    turn.eq(self.turn.payload),
                    cons.eq(self.turn.payload.cons),
                    left.eq(self.turn.payload.count),
                    room.eq(self.turn.payload.room),
                    blocked.eq(self.turn.payload.blocked),
                    taken.eq(0),
                    crowded.eq(0),
                    extended.eq(0),
                    inside.eq(0),
                    refused.eq(0),
                ]
                with m.If(self.turn.valid):
                    m.next = "FETCH"
                    with m.If(~self.turn.payload.enable | (self.turn.payload.count == 0)):
                        m.d.sync += blocked.eq(0)
                        m.next = "END"
                    with m.Elif(self.turn.payload.room == 0):
                        m.d.sync += blocked.eq(1)
                        m.next = "END"

            with m.State("FETCH"):
                m.d.comb += self.fetch.valid.eq(1)
                with m.If(self.fetch.ready):
                    m.d.sync += [pending.eq(self.fetch.payload.count), blocked.eq(0), extended.eq(inside | refused)]
                    m.next = "UNIT"
                    with m.If(refused):
                        m.next = "SKIP"
                    with m.Elif(inside):
                        m.next = "INSIDE"

            # Between units.
            with m.State("UNIT"):
                with m.If(pending == 0):
                    m.next = "END"
                with m.Elif(extended | (room == 0)):
                    m.next = "DRAIN"
                with m.Elif(self.judged):
                    m.d.comb += unit.begin.eq(1)
                    judge()

            # Within a sequence that its offload unit has a place for.
            with m.State("INSIDE"):
                with m.If(pending == 0):
                    with m.If(left == 0):
                        refuse(Status.BAD_SEQUENCE, at_hand=0, members_follow=0)
                    with m.Else():
                        m.next = "FETCH"
                with m.Elif(self.judged):
                    judge()

            with m.State("LOCATE"):
                m.d.comb += query.valid.eq(1)
                with m.If(query.ready):
                    m.next = "LOCATED"
            with m.State("LOCATED"):
                m.d.comb += placed.ready.eq(1)
                m.d.sync += [target.eq(placed.payload.unit), base_pulse.eq(placed.payload.base_pulse)]
                with m.If(placed.valid):
                    with m.If(placed.payload.ok):
                        m.next = "PROBE"
                    with m.Else():
                        m.d.sync += reason.eq(Status.OK)
                        m.next = "REJECT"
            with m.State("PROBE"):
                m.d.comb += probing.eq(1)
                with m.If(probe_ready):
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += answering.eq(1)
                with m.If(answer_valid):
                    with m.If(answer_ok):
                        m.d.sync += inside.eq(1)
                        m.next = "DELIVER"
                    with m.Else():
                        m.d.sync += reason.eq(Status.NO_PLACE)
                        m.next = "REJECT"

            # From here on the descriptor has to be there whole.
            with m.State("DELIVER"):
                m.d.comb += delivering.eq(self.i.valid & ~unreadable)
                with m.If(self.i.valid & unreadable):
                    refuse(Status.MEMORY_ERROR, at_hand=1, members_follow=1)
                with m.Elif(self.i.valid & descriptor_ready):
                    consume()
                    m.d.comb += unit.advance.eq(1)
                    m.next = "INSIDE"
                    with m.If(desc.ct):
                        count_unit()
                        m.next = "UNIT"
            with m.State("P2P"):
                m.d.comb += self.o_p2p.valid.eq(self.i.valid & ~unreadable)
                with m.If(self.i.valid & unreadable):
                    refuse(Status.MEMORY_ERROR, at_hand=1, members_follow=1)
                with m.Elif(self.i.valid & self.o_p2p.ready):
                    consume()
                    count_unit()
                    m.next = "UNIT"
            with m.State("REJECT"):
                misplaced = (reason == Status.BAD_SEQUENCE) & (~desc.c | desc.ch)
                with m.If(self.i.valid & unreadable):
                    refuse(Status.MEMORY_ERROR, at_hand=1, members_follow=1)
                # The turn of a VP that was blocked is one unit long, so what has expired is this one.
                with m.Elif(self.i.valid & ((reason == Status.OK) | (reason == Status.NO_PLACE) & ~turn.expired)):
                    m.d.sync += crowded.eq(reason == Status.NO_PLACE)
                    block()
                with m.Elif(self.i.valid):
                    refuse(reason, at_hand=~misplaced, members_follow=~misplaced & desc.c & ~desc.ct)

            with m.State("ABORT"):
                m.d.comb += aborting.eq(1)
                with m.If(descriptor_ready):
                    m.d.sync += inside.eq(0)
                    m.next = "SKIP"
            with m.State("SKIP"):
                with m.If(faulty):
                    consume()
                    m.d.sync += faulty.eq(0)
                with m.Elif(~skip):
                    m.next = "POST"
                with m.Elif(pending == 0):
                    m.next = "FETCH"
                    with m.If(left == 0):
                        m.next = "POST"
                with m.Elif(self.i.valid):
                    with m.If(unreadable | ~desc.c | desc.ch | unit.overlong):
                        m.next = "POST"
                    with m.Else():
                        consume()
                        m.d.comb += unit.advance.eq(1)
                        with m.If(desc.ct):
                            m.next = "POST"
            with m.State("POST"):
                m.d.comb += self.o_event.valid.eq(1)
                with m.If(self.o_event.ready):
                    count_unit()
                    m.next = "UNIT"

            # Descriptors that were fetched ahead stay in the ring: their next turn reads them again.
            with m.State("DRAIN"):
                with m.If(pending == 0):
                    m.next = "END"
                with m.Elif(self.i.valid):
                    discard()
            with m.State("END"):
                m.d.comb += self.end.valid.eq(1)
                with m.If(self.end.ready):
                    m.next = "TURN"

        # In these it waits for a turn or for descriptors; what comes is seen where it comes from.
        waits = Cat(fsm.ongoing(state) for state in ("TURN", "UNIT", "INSIDE", "DRAIN", "SKIP")).any()
        m.d.sync += self.moves.eq(~waits)
        return m
