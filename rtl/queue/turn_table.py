"""Whose turn it is: the descriptor rings of the virtual ports and the order in which they are served."""

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.interface import ADDRESS_BITS, check_address_bits
from rtl.kit.fifo import StreamFifo
from rtl.kit.quiescence import any_moves
from rtl.queue.records import INDEX_BITS, Doorbell, DoorbellKind, TurnEnd, VpCommit, turn_layout

_CYCLE_BITS = 32
DESCRIPTOR_LOG2 = (formats.DESCRIPTOR.bytes - 1).bit_length()


class Action(enum.Enum, shape=2):
    """What the table is doing with the VP that it has selected."""

    COMMIT = 0
    """Loading a record."""
    END = 1
    """Writing back what a turn has left."""
    DOORBELL = 2
    """Taking over an index."""
    TURN = 3
    """Beginning a turn."""


class TurnTable(wiring.Component):
    """Descriptor side of the VP records, and a fair, constant-time choice of the VP to serve next.

    A VP with unread descriptors stands in a queue of turns, once at most (a `queued` bit per VP). A turn takes it
    out; it goes back to the tail when its turn ends and descriptors are left. So between two turns of one VP
    every other one has at most one. One turn is in progress at a time.

    A unit that found no place at its target in one turn after the other, for `retry_limit` cycles, has *expired*: the
    next turn says so (NIC paper, section 1.3: the request is repeated, and at last ends in an error).

    A doorbell that finds nobody waiting, and no turn in progress, begins its VP's turn at once.

    When every VP in the queue has been blocked since the last change, turns pause for `retry_cycles` or until a
    doorbell comes, so that retries do not wear down the host memory.

    Timing: a change takes two cycles; a turn is valid two cycles after the doorbell that begins it.

    Parameters
    ----------
    n_vps : int
        Virtual ports, a power of two, at least 2.
    retry_cycles : int
        Pause when nothing can be taken, at least 1.
    first_index : int
        Ring indexes after a commit.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    enable : ``In(1)``
        No turn begins while 0.
    cycles : ``In(32)``
        Time: cycles since the last reset.
    retry_limit : ``In(32)``
        Cycles for which a unit may find no place; 0: forever.
    commit : ``In(stream.Signature(VpCommit))``
        Records to load.
    doorbell : ``In(stream.Signature(Doorbell))``
        Indexes of the descriptor and the completion ring.
    turn : ``Out(stream.Signature(turn_layout(address_bits)))``
        Turns.
    end : ``In(stream.Signature(TurnEnd))``
        The end of each turn.
    busy : ``Out(1)``
        Some VP has a turn or waits for one.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(
        self, *, n_vps: int, retry_cycles: int = 32, first_index: int = 0, address_bits: int = ADDRESS_BITS
    ):
        if retry_cycles < 1:
            raise ValueError(f"retry_cycles must be at least 1, not {retry_cycles!r}")
        self.n_vps, self.retry_cycles, self.first_index = n_vps, retry_cycles, first_index
        self.address_bits = check_address_bits(address_bits)
        super().__init__({
            "moves": Out(1),
            "enable": In(1),
            "cycles": In(_CYCLE_BITS),
            "retry_limit": In(_CYCLE_BITS),
            "commit": In(stream.Signature(VpCommit)),
            "doorbell": In(stream.Signature(Doorbell)),
            "turn": Out(stream.Signature(turn_layout(address_bits))),
            "end": In(stream.Signature(TurnEnd)),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        commit, doorbell, turn, end = self.commit, self.doorbell, self.turn, self.end

        # One memory per writer's concern, so that each has one write port and one read port.
        ring_layout = data.StructLayout({
            "enable": 1, "base": self.address_bits - DESCRIPTOR_LOG2, "log2": 4, "cq_log2": 4,
        })
        state_layout = data.StructLayout({
            "cons": INDEX_BITS, "reserved": INDEX_BITS, "blocked": 1, "crowded": 1, "since": _CYCLE_BITS,
        })
        # The records of the VP that is chosen are there in the cycle after the choice.
        vp, looked_at = Signal(formats.VP_BITS), Signal(formats.VP_BITS)
        m.d.sync += vp.eq(looked_at)
        ports = {}
        for name, shape in (
            ("ring", ring_layout), ("state", state_layout), ("prod", INDEX_BITS), ("cq_cons", INDEX_BITS), ("queued", 1)
        ):
            m.submodules[f"{name}_memory"] = store = memory.Memory(shape=shape, depth=self.n_vps, init=[])
            ports[name] = write, read = store.write_port(), store.read_port()
            m.d.comb += [write.addr.eq(vp), read.addr.eq(looked_at), read.en.eq(1)]
        (ring_w, ring), (state_w, state), (prod_w, prod), (cq_cons_w, cq_cons), (queued_w, queued) = ports.values()

        m.submodules.waiting = waiting = StreamFifo(shape=formats.VP_BITS, depth=self.n_vps)
        m.d.comb += waiting.i.payload.eq(vp)

        # A turn without progress lengthens the streak; once it has gone through the whole queue, wait.
        streak = Signal(range(self.n_vps + 1))
        pause = Signal(range(self.retry_cycles + 1))
        with m.If(pause != 0):
            m.d.sync += pause.eq(pause - 1)

        # Since when the unit at the head of a ring has been finding no place.
        cycle = self.cycles
        waited = (cycle - state.data.since)[:_CYCLE_BITS]

        action = Signal(Action)
        in_turn = Signal()
        reserved = Signal(INDEX_BITS)
        now = turn.payload
        m.d.comb += self.busy.eq(in_turn | waiting.o.valid)
        with m.If(turn.ready):
            m.d.sync += turn.valid.eq(0)

        size = Const(1, 1) << ring.data.cq_log2
        used = (state.data.reserved - cq_cons.data)[:INDEX_BITS]
        brought = Mux(action == Action.DOORBELL, doorbell.payload.index, self.first_index)
        nobody_waits = Signal()
        m.d.comb += nobody_waits.eq(self.enable & ~waiting.o.valid & ~in_turn)

        def begin_turn(produced):
            """Begins the turn of the VP at hand, whose descriptors go up to `produced`."""
            m.d.sync += [
                in_turn.eq(1),
                turn.valid.eq(1),
                reserved.eq(state.data.reserved),
                now.vp.eq(vp),
                now.enable.eq(ring.data.enable),
                now.base.eq(ring.data.base << DESCRIPTOR_LOG2),
                now.log2.eq(ring.data.log2),
                now.cons.eq(state.data.cons),
                now.count.eq(produced - state.data.cons),
                now.room.eq(Mux(used < size, size - used, 0)),
                now.blocked.eq(state.data.blocked),
                now.expired.eq(state.data.crowded & (self.retry_limit != 0) & (waited >= self.retry_limit)),
            ]

        with m.FSM() as fsm:
            with m.State("CHOOSE"):
                m.next = "ACT"
                with m.If(commit.valid):
                    m.d.comb += looked_at.eq(commit.payload.vp)
                    m.d.sync += action.eq(Action.COMMIT)
                with m.Elif(end.valid):
                    m.d.comb += looked_at.eq(end.payload.vp)
                    m.d.sync += action.eq(Action.END)
                with m.Elif(doorbell.valid):
                    m.d.comb += looked_at.eq(doorbell.payload.vp)
                    m.d.sync += action.eq(Action.DOORBELL)
                with m.Elif(self.enable & waiting.o.valid & ~in_turn & (pause == 0)):
                    m.d.comb += [waiting.o.ready.eq(1), looked_at.eq(waiting.o.payload)]
                    m.d.sync += action.eq(Action.TURN)
                with m.Else():
                    m.next = "CHOOSE"
            with m.State("ACT"):
                m.next = "CHOOSE"
                with m.Switch(action):
                    with m.Case(Action.COMMIT):
                        record = commit.payload.record
                        m.d.comb += [
                            commit.ready.eq(1),
                            ring_w.en.eq(1),
                            ring_w.data.enable.eq(record.enable),
                            ring_w.data.base.eq(record.dq_base[DESCRIPTOR_LOG2:]),
                            ring_w.data.log2.eq(record.dq_log2),
                            ring_w.data.cq_log2.eq(record.cq_log2),
                            state_w.en.eq(1),
                            state_w.data.cons.eq(self.first_index),
                            state_w.data.reserved.eq(self.first_index),
                            prod_w.en.eq(1),
                            cq_cons_w.en.eq(1),
                            # A VP that waits for a turn goes on waiting: the queue still holds it.
                            queued_w.en.eq(commit.payload.wipe),
                        ]
                    with m.Case(Action.END):
                        progress = ~end.payload.blocked | (end.payload.taken != 0)
                        m.d.comb += [
                            end.ready.eq(1),
                            state_w.en.eq(1),
                            state_w.data.cons.eq(end.payload.cons),
                            state_w.data.reserved.eq(reserved + end.payload.taken),
                            state_w.data.blocked.eq(end.payload.blocked),
                            state_w.data.crowded.eq(end.payload.crowded),
                            state_w.data.since.eq(Mux(state.data.crowded, state.data.since, cycle)),
                            waiting.i.valid.eq(now.enable & (end.payload.cons != prod.data)),
                            queued_w.en.eq(1),
                            queued_w.data.eq(waiting.i.valid),
                        ]
                        m.d.sync += in_turn.eq(0)
                        with m.If(progress):
                            m.d.sync += streak.eq(0)
                        with m.Elif(streak >= waiting.level):
                            m.d.sync += [streak.eq(0), pause.eq(self.retry_cycles)]
                        with m.Else():
                            m.d.sync += streak.eq(streak + 1)
                    with m.Case(Action.DOORBELL):
                        m.d.comb += doorbell.ready.eq(1)
                        m.d.sync += [streak.eq(0), pause.eq(0)]
                        with m.If(doorbell.payload.kind == DoorbellKind.CQ_CONS):
                            m.d.comb += cq_cons_w.en.eq(1)
                        with m.Else():
                            m.d.comb += [
                                prod_w.en.eq(1),
                                waiting.i.valid.eq(~queued.data & ~nobody_waits),
                                queued_w.en.eq(1),
                                queued_w.data.eq(1),
                            ]
                            with m.If(~queued.data & nobody_waits):
                                begin_turn(doorbell.payload.index)
                    with m.Case(Action.TURN):
                        begin_turn(prod.data)
        m.d.comb += [prod_w.data.eq(brought), cq_cons_w.data.eq(brought)]

        m.d.sync += self.moves.eq(any_moves(~fsm.ongoing("CHOOSE"), pause != 0, waiting.moves))

        return m
