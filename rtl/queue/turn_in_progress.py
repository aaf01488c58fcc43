"""The turn that the scheduler serves: its registers, and the verbs that change them."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data

from rtl.queue.records import INDEX_BITS
from rtl.queue.unit_record import UnitRecord

_STANDS = ("TURN", "UNIT", "DELIVER", "P2P", "ABORT", "SKIP", "SKIPPED", "POST", "DRAIN")


class TurnInProgress:
    """Registers of a turn and of the current unit. Methods act in the state of the scheduler in which they are called.

    Parameters
    ----------
    m : Module
        The scheduler's.
    layout : StructLayout
        Layout of a turn.
    batch : int
        Most descriptors to fetch at once.
    unit : UnitRecord
        The unit that the descriptor belongs to.

    Members
    -------
    unit, batch
        As above.
    turn : View
        The turn, from the VP table.
    cons, left, pending
        Where the next descriptor stands in the ring, how many stand there, and how many of them have been asked for.
    room, taken
        Units whose completion has room still, and those that were taken.
    none_pending, none_left, no_room
        High while these are 0; registers.
    covered
        All that is left has been asked for: nothing more is fetched in this turn.
    blocked, crowded, extended
        It ends before a unit; because that found no room at its target. A unit needed a fetch of its own.
    inside
        An entry at an offload unit is reserved for the sequence.
    refused, faulty, skip
        A unit is refused; the current descriptor belongs to it; so may those behind it.
    stands
        The states of the scheduler in which much is decided late in a cycle, a bit each; registers beside its state.
    discards, consumes, counts
        Pulses, set by the scheduler: the current descriptor is released; it is also consumed from the ring. The current
        unit spends the room that its completion needs.
    """

    def __init__(self, m: Module, *, layout, batch: int, unit: UnitRecord):
        self._m, self.unit, self.batch = m, unit, batch
        self.turn = Signal(layout, name="turn_in_progress")
        self.cons, self.left, self.room, self.taken = (
            Signal(INDEX_BITS, name=name) for name in ("cons", "left", "room", "taken")
        )
        self.pending = Signal(range(batch + 1), name="pending")
        self.blocked, self.crowded, self.extended = (
            Signal(name=name) for name in ("blocked", "crowded", "extended")
        )
        self.inside, self.refused, self.faulty, self.skip = (
            Signal(name=name) for name in ("inside", "refused", "faulty", "skip")
        )
        # Flags beside the numbers: high while they are 0.
        self.none_pending, self.none_left, self.no_room, self.covered = (
            Signal(name=name, init=init) for name, init in (
                ("none_pending", 1), ("none_left", 0), ("no_room", 0), ("covered", 0),
            )
        )
        self.stands = Signal(data.StructLayout(dict.fromkeys(_STANDS, 1)), init={"TURN": 1}, name="stands")
        self.discards, self.consumes, self.counts = (Signal(name=name) for name in ("discards", "consumes", "counts"))
        with m.If(self.discards):
            m.d.sync += [self.pending.eq(self.pending - 1), self.none_pending.eq(self.pending == 1)]
        with m.If(self.consumes):
            m.d.sync += [
                self.cons.eq(self.cons + 1), self.left.eq(self.left - 1), self.none_left.eq(self.left == 1),
            ]
        with m.If(self.counts):
            m.d.sync += [
                self.taken.eq(self.taken + 1), self.room.eq(self.room - 1), self.no_room.eq(self.room == 1),
                self.inside.eq(0), self.refused.eq(0),
            ]

    def go(self, state: str) -> None:
        """Goes on to a state of the scheduler."""
        self._m.next = state
        self._m.d.sync += self.stands.eq(Cat(state == name for name in _STANDS))

    def load(self, offered, *, is_fetched, stale) -> None:
        """Takes up a turn, whose first descriptors have been asked for, if it is `is_fetched`, which comes late.

        One without room is blocked, unless it is `stale`.
        """
        self._m.d.sync += [
            self.turn.eq(offered),
            self.cons.eq(offered.cons), self.left.eq(offered.count), self.room.eq(offered.room),
            self.none_left.eq(offered.count == 0), self.no_room.eq(offered.room == 0),
            self.pending.eq(offered.first), self.none_pending.eq(~is_fetched), self.covered.eq(offered.whole),
            self.blocked.eq(offered.enable & (offered.count != 0) & ~offered.serves & ~stale),
            *(register.eq(0) for register in (self.taken, self.crowded, self.extended, self.inside, self.refused)),
        ]

    def refuse(self, status, *, at_hand, members_follow) -> None:
        """Ends the unit with an error: at its offload unit first, if that has begun it.

        `at_hand`: the current descriptor belongs to the unit, `members_follow`: so may those behind it.
        """
        m = self._m
        m.d.comb += [self.unit.refuse.eq(1), self.unit.status.eq(status)]
        m.d.sync += [self.refused.eq(1), self.faulty.eq(at_hand), self.skip.eq(members_follow)]
        self.go("SKIP")
        with m.If(self.inside):
            self.go("ABORT")

    def block(self) -> None:
        """Ends the turn: the current unit cannot be taken now."""
        self._m.d.sync += self.blocked.eq(1)
        self.go("DRAIN")
