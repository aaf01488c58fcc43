"""Queues between streams, and the choice of one by its depth."""

from amaranth import Module, Mux, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.memory import BlockMemory
from rtl.kit.register import StreamRegister
from rtl.kit.ring import count_items
from rtl.kit.skid import SkidBuffer

LUT_DEPTH = 16
"""Deepest queue that is kept in LUT memory with an asynchronous read port."""


class LutQueue(wiring.Component):
    """A queue in LUT memory, behind which a register offers the oldest item.

    Timing: no combinational path between ``i`` and ``o``; ``o.valid`` and ``o.payload`` are registers. An item comes
    out one cycle after it went into an empty queue, two if not `prompt`. One item per cycle, if `full_rate`.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Items that can be held, 3 to :data:`LUT_DEPTH`; need not be a power of two.
    full_rate : bool
        If true, items may leave one right after the other. Else one leaves in two cycles, and the register that offers
        them is loaded while it is empty: its many enables do not wait for whoever takes it.
    prompt : bool
        If true, an item that finds the queue empty goes past its memory. Else it comes out a cycle later, and there is
        no choice of two in front of the register that offers it.
    guarded : bool
        If true, what is offered is a register that takes over items only, never what stands at ``i`` without one: for
        inputs from outside, which may change at any time. Else its enable does not wait for whether there is an item.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items to be stored; ready while there is room.
    o : ``Out(stream.Signature(shape))``
        The same items in the same order.
    level : ``Out(range(depth + 1))``
        Items held, the one offered on ``o`` included.

    Raises
    ------
    ValueError
        If `depth` is out of its bounds.
    """

    def __init__(
        self, *, shape: ShapeLike, depth: int, full_rate: bool = True, prompt: bool = True, guarded: bool = True,
    ):
        if not isinstance(depth, int) or not 3 <= depth <= LUT_DEPTH:
            raise ValueError(f"depth must be an integer from 3 to {LUT_DEPTH}, not {depth!r}")
        self.shape, self.depth = shape, depth
        self.full_rate, self.prompt, self.guarded = full_rate, prompt, guarded
        super().__init__({
            "i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "level": Out(range(depth + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        # The output is a register: the memory's read path, and the logic that decides if an item goes, are not part of
        # the consumer's path. An item that finds the memory empty goes past it into that register.
        head, full = Signal(self.shape, reset_less=True), Signal()
        take, stored, pass_by, push, pop = (Signal(name=name) for name in ("take", "stored", "pass_by", "push", "pop"))
        n_entries = self.depth - 1
        m.submodules.store = store = memory.Memory(shape=self.shape, depth=n_entries, init=[])
        put, get = store.write_port(), store.read_port(domain="comb")
        ring = count_items(m, n_entries, push, pop)
        # An item is written even if it passes by: the many write enables do not depend on that, and the entry belongs
        # to nobody until the pointer moves.
        m.d.comb += [
            take.eq(~full | (self.o.ready if self.full_rate else 0)),
            stored.eq(self.i.valid & ~ring.full), self.i.ready.eq(~ring.full),
            self.o.payload.eq(head), self.o.valid.eq(full), self.level.eq(ring.kept + full),
            put.en.eq(stored), put.addr.eq(ring.write_at), put.data.eq(self.i.payload), get.addr.eq(ring.read_at),
            pass_by.eq(take & ~ring.occupied if self.prompt else 0),
            push.eq(stored & (~take | ring.occupied) if self.prompt else stored), pop.eq(take & ring.occupied),
        ]
        if not self.full_rate:
            with m.If(self.o.ready):
                m.d.sync += full.eq(0)
        with m.If(take):
            m.d.sync += full.eq(pop | (stored & pass_by))
            if not self.prompt:
                m.d.sync += head.eq(get.data)
            else:
                with m.If(stored | pop if self.guarded else 1):
                    m.d.sync += head.eq(Mux(ring.occupied, get.data, self.i.payload))
        return m


class BlockQueue(wiring.Component):
    """A queue in synchronous memory, behind which a register offers the oldest item.

    Timing: no combinational path between ``i`` and ``o``; ``o.valid`` and ``o.payload`` are registers. An item comes
    out one cycle after it went into an empty queue. One item per cycle, but for a cycle now and then while the queue
    holds an item or two.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Items that can be held, at least 4; need not be a power of two.
    guarded : bool
        As of :class:`LutQueue`.
    shallow : bool
        If true, the memory is in block RAM however few the items are; otherwise synthesis chooses.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items to be stored; ready while there is room.
    o : ``Out(stream.Signature(shape))``
        The same items in the same order.
    level : ``Out(range(depth + 1))``
        Items held, the one offered on ``o`` included.

    Raises
    ------
    ValueError
        If `depth` is less than 4.
    """

    def __init__(self, *, shape: ShapeLike, depth: int, guarded: bool = True, shallow: bool = False):
        if not isinstance(depth, int) or depth < 4:
            raise ValueError(f"depth must be an integer of at least 4, not {depth!r}")
        self.shape, self.depth = shape, depth
        self.guarded, self.shallow = guarded, shallow
        super().__init__({
            "i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "level": Out(range(depth + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        # The output is a register, as that of a `LutQueue`. Synchronous memory needs two cycles from write to read.
        head, full = Signal(self.shape, reset_less=True), Signal()
        n_entries = self.depth - 2
        m.submodules.store = store = BlockMemory(shape=self.shape, depth=n_entries, shallow=self.shallow, apart=True)
        take, stored, pass_by, push, pop, ahead = (
            Signal(name=name) for name in ("take", "stored", "pass_by", "push", "pop", "ahead")
        )
        ring = count_items(m, n_entries, push, pop)
        occupied = ring.occupied
        m.d.comb += [
            take.eq(~full | self.o.ready), stored.eq(self.i.valid & ~ring.full), self.i.ready.eq(~ring.full),
            self.o.payload.eq(head), self.o.valid.eq(full), self.level.eq(ring.kept + ahead + full),
            pass_by.eq(take & ~occupied & ~ahead), push.eq(stored & ~pass_by), pop.eq(occupied & (~ahead | take)),
            store.write_enable.eq(push), store.write_address.eq(ring.write_at), store.write_data.eq(self.i.payload),
            store.read_enable.eq(pop), store.read_address.eq(ring.read_at),
        ]
        with m.If(pop):
            m.d.sync += ahead.eq(1)
        with m.Elif(take):
            m.d.sync += ahead.eq(0)
        with m.If(take):
            m.d.sync += full.eq(ahead | (pass_by & stored))
            with m.If(ahead | stored if self.guarded else 1):
                m.d.sync += head.eq(Mux(ahead, store.read_data, self.i.payload))
        return m


Queue = StreamRegister | SkidBuffer | LutQueue | BlockQueue
"""Queues that :func:`stream_queue` chooses from."""


def stream_queue(*, shape: ShapeLike, depth: int, guarded: bool = True, shallow: bool = False) -> "Queue":
    """A queue of any depth: what holds so many items in the fewest cells.

    A :class:`~rtl.kit.register.StreamRegister` of one, a :class:`~rtl.kit.skid.SkidBuffer` of two, a :class:`LutQueue`
    or a :class:`BlockQueue`. All offer from registers, an item one cycle after it came; all but that of one pass an
    item per cycle.

    Parameters
    ----------
    depth : int
        At least 1.
    shape, guarded, shallow
        As of these parts.

    Raises
    ------
    ValueError
        If `depth` is not a positive integer.
    """
    if not isinstance(depth, int) or depth < 1:
        raise ValueError(f"depth must be a positive integer, not {depth!r}")
    if depth == 1:
        return StreamRegister(shape=shape, guarded=guarded)
    if depth == 2:
        # In fewer cells than a LUT memory of sixteen.
        return SkidBuffer(shape=shape)
    if depth <= LUT_DEPTH:
        return LutQueue(shape=shape, depth=depth, guarded=guarded)
    return BlockQueue(shape=shape, depth=depth, guarded=guarded, shallow=shallow)
