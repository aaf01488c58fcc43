"""Order through a stream unit: what goes in comes out, once, in order."""

from amaranth import Module, Signal

from testbench.formal.contract import Contract


class StreamOrder(Contract):
    """Follows one item, any one, through a unit with one input and one output stream.

    Parameters
    ----------
    capacity : int
        Most items that the unit may hold.
    latency : int
        Cycles after which an item in an empty unit is offered.
    """

    def __init__(self, *, capacity: int, latency: int = 1):
        super().__init__()
        self.capacity = capacity
        self.latency = latency

    def follow(self, m: Module, i, o, *, width: int, half_rate: bool = False) -> Signal:
        """Drives `i` and `o`; returns the number of items inside. A part of half rate takes none while one leaves."""
        valid, payload, ready = self.free(1, "valid"), self.free(width, "payload"), self.free(1, "ready")
        pick = self.free(1, "pick")
        m.d.comb += [i.valid.eq(valid), i.payload.eq(payload), o.ready.eq(ready)]
        taken, left = i.valid & i.ready, o.valid & o.ready

        inside = Signal(range(self.capacity + 2))
        following, ahead, kept = Signal(), Signal.like(inside), Signal(width)
        m.d.sync += inside.eq(inside + taken - left)
        with m.If(~following & taken & pick):
            m.d.sync += [following.eq(1), ahead.eq(inside - left), kept.eq(payload)]
        with m.If(following & left):
            m.d.sync += ahead.eq(ahead - 1)
            with m.If(ahead == 0):
                m.d.sync += following.eq(0)

        # Nothing is made, nothing stays inside for ever, and the one followed comes out when it is its turn.
        self.check(~o.valid | (inside != 0))
        self.check(inside <= self.capacity)
        waits = Signal(range(self.latency + 1))
        with m.If(o.valid | (inside == 0)):
            m.d.sync += waits.eq(0)
        with m.Else():
            m.d.sync += waits.eq(waits + 1)
        self.check(waits < self.latency)
        self.check(~(following & left & (ahead == 0)) | (o.payload == kept))

        # A stalled item stays as it is.
        stalled, shown = Signal(), Signal(width)
        m.d.sync += [stalled.eq(o.valid & ~o.ready), shown.eq(o.payload)]
        self.check(~stalled | o.valid & (o.payload == shown))

        self.reach(inside == self.capacity, "full")
        self.reach(following & left & (ahead == 0) & (kept != 0), "the item followed comes out")
        if half_rate:
            self.check(~(taken & left))
        else:
            self.reach(taken & left, "in and out in one cycle")
        return inside


class QueueContract(StreamOrder):
    """:class:`~rtl.kit.queue.LutQueue`: order, no loss, no duplication, `level` is right.

    Parameters
    ----------
    depth, full_rate, prompt, guarded
        Of the queue.
    """

    def __init__(self, *, depth: int, full_rate: bool = True, prompt: bool = True, guarded: bool = True):
        self.full_rate, self.prompt, self.guarded = full_rate, prompt, guarded
        super().__init__(capacity=depth, latency=1 if full_rate and prompt else 2)

    def build(self, m: Module) -> None:
        from rtl.kit.queue import LutQueue

        m.submodules.unit = unit = LutQueue(
            shape=2, depth=self.capacity, full_rate=self.full_rate, prompt=self.prompt, guarded=self.guarded,
        )
        inside = self.follow(m, unit.i, unit.o, width=2)
        self.check(unit.level == inside)


class BlockQueueContract(StreamOrder):
    """:class:`~rtl.kit.queue.BlockQueue`, as small as it gets."""

    def __init__(self) -> None:
        super().__init__(capacity=4, latency=2)

    def build(self, m: Module) -> None:
        from rtl.kit.queue import BlockQueue

        m.submodules.unit = unit = BlockQueue(shape=2, depth=self.capacity)
        inside = self.follow(m, unit.i, unit.o, width=2)
        self.check(unit.level == inside)


class RegisterContract(StreamOrder):
    """:class:`~rtl.kit.register.StreamRegister`: order, no loss, no duplication, `level` is right."""

    def __init__(self, *, guarded: bool):
        self.guarded = guarded
        super().__init__(capacity=1, latency=1)

    def build(self, m: Module) -> None:
        from rtl.kit.register import StreamRegister

        m.submodules.unit = unit = StreamRegister(shape=2, guarded=self.guarded)
        inside = self.follow(m, unit.i, unit.o, width=2, half_rate=True)
        self.check(unit.level == inside)


class RegisterPairContract(StreamOrder):
    """:class:`~rtl.kit.register.RegisterPair`: order, no loss, no duplication, `level` is right."""

    def __init__(self) -> None:
        super().__init__(capacity=2, latency=2)

    def build(self, m: Module) -> None:
        from rtl.kit.register import RegisterPair

        m.submodules.unit = unit = RegisterPair(shape=2)
        inside = self.follow(m, unit.i, unit.o, width=2)
        self.check(unit.level == inside)


class SkidContract(StreamOrder):
    """:class:`~rtl.kit.skid.SkidBuffer`: order, no loss, no duplication, `level` is right; registered both ways."""

    def __init__(self) -> None:
        super().__init__(capacity=2, latency=1)

    def build(self, m: Module) -> None:
        from rtl.kit.skid import SkidBuffer

        m.submodules.unit = unit = SkidBuffer(shape=2)
        inside = self.follow(m, unit.i, unit.o, width=2)
        self.check(unit.level == inside)


class TurnContract(StreamOrder):
    """:class:`~rtl.kit.skid.TurnBuffer`: order, no loss, no duplication; two registers."""

    def __init__(self) -> None:
        super().__init__(capacity=2, latency=1)

    def build(self, m: Module) -> None:
        from rtl.kit.skid import TurnBuffer

        m.submodules.unit = unit = TurnBuffer(shape=2)
        self.follow(m, unit.i, unit.o, width=2)
