"""Whose turn it is: the descriptor rings of the virtual ports and the order in which they are served."""

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.interface import ADDRESS_BITS, check_address_bits
from rtl.kit.queue import stream_queue
from rtl.queue.records import FETCH_BATCH, INDEX_BITS, Doorbell, DoorbellKind, VpCommit
from rtl.queue.turn_signature import TurnSignature

_CYCLE_BITS = 32
DESCRIPTOR_LOG2 = (formats.DESCRIPTOR.bytes - 1).bit_length()


class Action(enum.Enum, shape=2):
    """Action of the table on the VP that it has selected."""

    COMMIT = 0
    """Loading a record."""
    END = 1
    """Writing back what a turn has left."""
    DOORBELL = 2
    """Taking over an index."""
    TURN = 3
    """Beginning a turn."""


@dataclass(frozen=True, kw_only=True)
class RecordPorts:
    """Ports of a memory of the VP records.

    Parameters
    ----------
    write : WritePort
        Part of the current VP's record.
    read : ReadPort
        The same, from the cycle after the choice on.
    """

    write: memory.WritePort
    read: memory.ReadPort


@dataclass(frozen=True, kw_only=True)
class Pause:
    """Pause of the turns when nothing can be taken.

    Parameters
    ----------
    streak : Signal
        Turns without progress in a row.
    left, pausing : Signal
        Cycles that are left of a pause; there are any.
    """

    streak: Signal
    left: Signal
    pausing: Signal


class TurnTable(wiring.Component):
    """Descriptor side of the VP records, and a fair, constant-time choice of the VP to serve next.

    A VP with unread descriptors stands in a queue of turns, once at most (a `queued` bit per VP). A turn takes it
    out; it goes back to the tail when its turn ends and descriptors are left. So between two turns of one VP
    every other one has at most one. One turn is in progress at a time, and the next one is offered meanwhile, as it
    stands then: descriptors and room that come later are for the turn after it.

    A unit whose target had no room in one turn after the other, for `retry_limit` cycles, has *expired*: its next turn
    bears the flag (NIC paper, section 1.3: the request is repeated, and at last ends in an error).

    A doorbell begins its VP's turn at once if no VP waits and no turn is offered.

    When every VP in the queue has been blocked since the last change, turns pause for `retry_cycles` or until a
    doorbell comes, so that retries do not load the host memory.

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
    batch : int
        Most descriptors to fetch at once.

    Members
    -------
    enable : ``In(1)``
        No turn begins while 0.
    cycles : ``In(32)``
        Time: cycles since the last reset.
    retry_limit : ``In(32)``
        Cycles for which a unit may wait for room; 0: forever.
    commit : ``In(stream.Signature(VpCommit))``
        Records to load.
    doorbell : ``In(stream.Signature(Doorbell))``
        Indexes of the descriptor and the completion ring.
    turn : ``Out(TurnSignature(address_bits))``
        Turns. What the end of one in progress says whose VP has another record is not noted.
    busy : ``Out(1)``
        Some VP has a turn or waits for one.
    """

    def __init__(
        self, *, n_vps: int, retry_cycles: int = 32, first_index: int = 0, address_bits: int = ADDRESS_BITS,
        batch: int = FETCH_BATCH,
    ):
        if retry_cycles < 1:
            raise ValueError(f"retry_cycles must be at least 1, not {retry_cycles!r}")
        self.n_vps, self.retry_cycles, self.first_index = n_vps, retry_cycles, first_index
        self.address_bits, self.batch = check_address_bits(address_bits), batch
        super().__init__({
            "enable": In(1),
            "cycles": In(_CYCLE_BITS),
            "retry_limit": In(_CYCLE_BITS),
            "commit": In(stream.Signature(VpCommit)),
            "doorbell": In(stream.Signature(Doorbell)),
            "turn": Out(TurnSignature(address_bits)),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        commit, doorbell = self.commit, self.doorbell
        turn, stale, end = self.turn.offer, self.turn.stale, self.turn.end
        m.submodules.waiting = waiting = stream_queue(shape=formats.VP_BITS, depth=self.n_vps)
        # The records of the VP that is chosen are there in the cycle after the choice: its turn is described in that.
        vp, looked_at, describing = Signal(formats.VP_BITS), Signal(formats.VP_BITS), Signal()
        m.d.sync += [vp.eq(looked_at), describing.eq(0)]
        records = self._records(m, vp=vp, looked_at=looked_at)

        pause = Pause(
            streak=Signal(range(self.n_vps + 1), name="streak"), pausing=Signal(name="pausing"),
            left=Signal(range(self.retry_cycles + 1), name="pause"),
        )
        with m.If(pause.pausing):
            m.d.sync += [pause.left.eq(pause.left - 1), pause.pausing.eq(pause.left != 1)]

        # The outcome of a turn is computed in the cycle before it is noted, and a commit is seen a cycle late.
        progress, left_at, committing = Signal(), Signal(INDEX_BITS), Signal()
        m.d.sync += committing.eq(commit.valid & ~commit.ready)
        action, in_turn, enabled = Signal(Action), Signal(), Signal()
        serving, commits, replaced = Signal(formats.VP_BITS), Signal(), Signal()
        m.d.comb += [
            waiting.i.payload.eq(vp), self.busy.eq(in_turn | turn.valid | waiting.o.valid | describing),
            *(
                records[name].write.data.eq(Mux(action == Action.DOORBELL, doorbell.payload.index, self.first_index))
                for name in ("prod", "cq_cons")
            ),
        ]
        hit = stale | (commits & (turn.payload.vp == vp))
        m.d.sync += [stale.eq(turn.valid & ~turn.ready & hit), replaced.eq(replaced | (commits & (serving == vp)))]
        with m.If(turn.valid & turn.ready):
            m.d.sync += [
                turn.valid.eq(0), in_turn.eq(1), enabled.eq(turn.payload.enable), serving.eq(turn.payload.vp),
                replaced.eq(hit),
            ]

        def begin_turn(produced):
            """Begins the turn of the current VP, whose descriptors go up to `produced`."""
            m.d.sync += [turn.valid.eq(1), *self._describe_turn(records, vp=vp, produced=produced)]

        begins = self.enable & waiting.o.valid & ~turn.valid & ~pause.pausing
        with m.FSM():
            with m.State("CHOOSE"):
                m.next = "ACT"
                # Inputs known from registers come first, and the address to look at waits for nobody's doorbell: a turn
                # is offered for some cycles after it has begun, so there are cycles for these.
                with m.If(end.valid):
                    m.d.comb += looked_at.eq(end.payload.vp)
                    m.d.sync += [
                        action.eq(Action.END), progress.eq(~end.payload.blocked | (end.payload.taken != 0)),
                        # Of a record that has been replaced nothing has been taken.
                        left_at.eq(Mux(replaced, self.first_index, end.payload.cons)),
                    ]
                with m.Elif(begins):
                    m.d.comb += [waiting.o.ready.eq(1), looked_at.eq(waiting.o.payload)]
                    m.d.sync += [action.eq(Action.TURN), describing.eq(1)]
                with m.Elif(committing):
                    m.d.comb += looked_at.eq(commit.payload.vp)
                    m.d.sync += action.eq(Action.COMMIT)
                with m.Else():
                    m.d.comb += looked_at.eq(doorbell.payload.vp)
                    m.d.sync += action.eq(Action.DOORBELL)
                    with m.If(~doorbell.valid):
                        m.next = "CHOOSE"
            with m.State("ACT"):
                m.next = "CHOOSE"
                with m.Switch(action):
                    with m.Case(Action.COMMIT):
                        m.d.comb += [commits.eq(1), commit.ready.eq(1), *self._load_record(records)]
                    with m.Case(Action.END):
                        queued = records["queued"].write
                        may_wait = Mux(replaced, records["ring"].read.data.enable, enabled)
                        m.d.comb += [
                            end.ready.eq(1), *self._note_end(records, replaced=replaced),
                            waiting.i.valid.eq(may_wait & (left_at != records["prod"].read.data)),
                            queued.en.eq(1), queued.data.eq(waiting.i.valid),
                        ]
                        m.d.sync += in_turn.eq(0)
                        # The VP whose turn is offered is one of those that wait.
                        self._count_turn(m, pause, progress, waiting.level + turn.valid)
                    with m.Case(Action.DOORBELL):
                        nobody_waits = self.enable & ~waiting.o.valid & ~turn.valid
                        queued = records["queued"]
                        m.d.comb += doorbell.ready.eq(1)
                        m.d.sync += [pause.streak.eq(0), pause.pausing.eq(0)]
                        with m.If(doorbell.payload.kind == DoorbellKind.CQ_CONS):
                            m.d.comb += records["cq_cons"].write.en.eq(1)
                        with m.Else():
                            m.d.comb += [
                                records["prod"].write.en.eq(1),
                                waiting.i.valid.eq(~queued.read.data & ~nobody_waits),
                                queued.write.en.eq(1), queued.write.data.eq(1),
                            ]
                            with m.If(~queued.read.data & nobody_waits):
                                begin_turn(doorbell.payload.index)
                    with m.Case(Action.TURN):
                        begin_turn(records["prod"].read.data)

        return m

    def _count_turn(self, m: Module, pause: Pause, progress: Signal, n_waiting: Value) -> None:
        """Counts a turn that ends: one without progress lengthens the streak; once that has gone through the whole
        queue, turns pause.
        """
        with m.If(progress):
            m.d.sync += pause.streak.eq(0)
        with m.Elif(pause.streak >= n_waiting):
            m.d.sync += [pause.streak.eq(0), pause.left.eq(self.retry_cycles), pause.pausing.eq(1)]
        with m.Else():
            m.d.sync += pause.streak.eq(pause.streak + 1)

    def _records(self, m: Module, *, vp: Signal, looked_at: Signal) -> dict[str, RecordPorts]:
        """Makes the memories, one per writer's concern, so that each has one port to `write` and one to `read`."""
        layouts = {
            "ring": data.StructLayout({
                "enable": 1, "base": self.address_bits - DESCRIPTOR_LOG2, "log2": 4, "cq_log2": 4,
            }),
            "state": data.StructLayout({
                "cons": INDEX_BITS, "reserved": INDEX_BITS, "blocked": 1, "crowded": 1, "since": _CYCLE_BITS,
            }),
            "prod": INDEX_BITS, "cq_cons": INDEX_BITS, "queued": 1,
        }
        ports = {}
        for name, shape in layouts.items():
            m.submodules[f"{name}_memory"] = store = memory.Memory(shape=shape, depth=self.n_vps, init=[])
            ports[name] = RecordPorts(write=store.write_port(), read=store.read_port())
            m.d.comb += [ports[name].write.addr.eq(vp), ports[name].read.addr.eq(looked_at), ports[name].read.en.eq(1)]
        return ports

    def _describe_turn(self, records: dict[str, RecordPorts], *, vp, produced) -> list:
        """Returns statements that say what there is to know of a turn."""
        ring, state, now = records["ring"].read.data, records["state"].read.data, self.turn.offer.payload
        size = Const(1, 1) << ring.cq_log2
        used = (state.reserved - records["cq_cons"].read.data)[:INDEX_BITS]
        # Since when the unit at the head of a ring has been waiting for room.
        waited = (self.cycles - state.since)[:_CYCLE_BITS]
        # The inputs of the scheduler's decision are computed here: there they would be compared late in a cycle.
        count = (produced - state.cons)[:INDEX_BITS]
        return [
            now.vp.eq(vp),
            now.enable.eq(ring.enable),
            now.base.eq(ring.base << DESCRIPTOR_LOG2),
            now.mask.eq(Cat(ring.log2 > bit for bit in range(INDEX_BITS))),
            now.cons.eq(state.cons),
            now.count.eq(count),
            now.serves.eq(ring.enable & (produced != state.cons) & (used < size)),
            now.first.eq(Mux(state.blocked, 1, Mux(count < self.batch, count, self.batch))),
            now.whole.eq(count <= Mux(state.blocked, 1, self.batch)),
            now.room.eq(Mux(used < size, size - used, 0)),
            now.blocked.eq(state.blocked),
            now.expired.eq(state.crowded & (self.retry_limit != 0) & (waited >= self.retry_limit)),
        ]

    def _load_record(self, records: dict[str, RecordPorts]) -> list:
        """Returns statements that load the record of a commit."""
        record = self.commit.payload.record
        ring, state = records["ring"].write, records["state"].write
        return [
            ring.en.eq(1),
            ring.data.enable.eq(record.enable),
            ring.data.base.eq(record.dq_base[DESCRIPTOR_LOG2:]),
            ring.data.log2.eq(record.dq_log2),
            ring.data.cq_log2.eq(record.cq_log2),
            state.en.eq(1),
            state.data.cons.eq(self.first_index),
            state.data.reserved.eq(self.first_index),
            records["prod"].write.en.eq(1),
            records["cq_cons"].write.en.eq(1),
            # A VP that waits for a turn goes on waiting: the queue still holds it.
            records["queued"].write.en.eq(self.commit.payload.wipe),
        ]

    def _note_end(self, records: dict[str, RecordPorts], *, replaced) -> list:
        """Returns statements that note what a turn has left, unless its record has been `replaced`."""
        end, before, state = self.turn.end.payload, records["state"].read.data, records["state"].write
        return [
            state.en.eq(~replaced),
            state.data.cons.eq(end.cons),
            state.data.reserved.eq(before.reserved + end.taken),
            state.data.blocked.eq(end.blocked),
            state.data.crowded.eq(end.crowded),
            state.data.since.eq(Mux(before.crowded, before.since, self.cycles)),
        ]
