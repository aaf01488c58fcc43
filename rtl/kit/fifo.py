"""First-in first-out buffer between streams."""

from dataclasses import dataclass

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import Shape, ShapeLike
from amaranth.lib import fifo, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.kit.memory import BlockMemory
from rtl.kit.skid import SkidBuffer

REGISTER_FILE_DEPTH = 16
"""Deepest buffer that is kept in LUT memory with an asynchronous read port."""


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Items in a memory, in a ring.

    Parameters
    ----------
    write_at, read_at : Signal
        Addresses of the next write and read.
    kept : Signal
        Number of items.
    some, full : Signal
        There are any; there is no room for one more. Registers, because everything else waits for them.
    """

    write_at: Signal
    read_at: Signal
    kept: Signal
    some: Signal
    full: Signal


@dataclass(frozen=True, kw_only=True)
class Head:
    """The register that offers an item.

    Parameters
    ----------
    item, full : Value, Signal
        The item, if there is one.
    take : Signal
        It takes over the next one, if there is one.
    came, pass_by : Signal
        An item comes; one that comes goes past the memory.
    """

    item: Value
    full: Signal
    take: Signal
    came: Signal
    pass_by: Signal


class StreamFifo(wiring.Component):
    """A buffer of `depth` items between two streams.

    Timing: no combinational path between ``i`` and ``o``. An item comes out one cycle after it went into an empty
    buffer, two if not `prompt`. One item per cycle, but for `depth` 1 and without `full_rate`, which pass one in two
    cycles, and for a cycle now and then in buffers of synchronous memory (deeper than :data:`REGISTER_FILE_DEPTH`) that
    hold an item or two.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Items that can be held. At least 1; need not be a power of two.
    registered : bool
        If true, ``o.valid`` and ``o.payload`` are registers in shallow buffers too, as in deep ones and those of two: a
        faster design in the same cycles, for a register and a choice more a bit.
    full_rate : bool
        If true, items may leave one right after the other. Else one leaves in two cycles, and the register that offers
        them is loaded while it is empty: its many enables do not wait for whoever takes it. For `registered` buffers in
        LUTs, and for those of two that are not `prompt`: two registers in a row, without a table between them.
    guarded : bool
        If true, what is offered is a register that takes over items only, never what stands at ``i`` without one: for
        inputs from outside, which may change at any time. Else its enable does not wait for whether there is an item,
        as that of buffers of two never does.
    prompt : bool
        If true, an item that finds a buffer in LUTs empty goes past its memory. Else it comes out a cycle later, and
        there is no choice of two in front of the register that offers it. For `registered` buffers in LUTs, and for
        those of two that are not of `full_rate`.
    shallow : bool
        If true, synchronous memory is in block RAM however few the items are; otherwise synthesis chooses.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items to be stored; ready while there is room.
    o : ``Out(stream.Signature(shape))``
        Items in the order in which they came.
    level : ``Out(range(depth + 1))``
        Items held, the one offered on ``o`` included.
    """

    def __init__(
        self, *, shape: ShapeLike, depth: int, registered: bool = True, full_rate: bool = True, guarded: bool = True,
        prompt: bool = True, shallow: bool = False,
    ):
        if not isinstance(depth, int) or depth < 1:
            raise ValueError(f"depth must be a positive integer, not {depth!r}")
        in_a_row = depth == 2 and not full_rate and not prompt
        for name, value in (("full_rate", full_rate), ("prompt", prompt)):
            if not value and not (registered and (2 < depth <= REGISTER_FILE_DEPTH or in_a_row)):
                raise ValueError(f"{name} must be True with a depth of {depth}, if not registered, or alone at 2")
        self.shape = shape
        self.depth = depth
        self.registered, self.guarded = registered, guarded
        self.full_rate, self.prompt = full_rate, prompt
        self.shallow = shallow
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
            "level": Out(range(depth + 1)),
        })

    def elaborate(self, platform):
        m = Module()

        if self.depth == 2 and not self.full_rate:
            self._pass_on(m)
            return m
        if self.depth == 2:
            # A skid buffer holds two as well, in fewer cells than a LUT memory of sixteen.
            m.submodules.pair = pair = SkidBuffer(shape=self.shape)
            connect(m, flipped(self.i), pair.i)
            connect(m, pair.o, flipped(self.o))
            m.d.comb += [self.level.eq(pair.o.valid + ~pair.i.ready)]
            return m

        if 2 < self.depth <= REGISTER_FILE_DEPTH and not self.registered:
            m.submodules.store = store = fifo.SyncFIFO(width=Shape.cast(self.shape).width, depth=self.depth)
            m.d.comb += [
                store.w_data.eq(self.i.payload),
                store.w_en.eq(self.i.valid),
                self.i.ready.eq(store.w_rdy),
                self.o.payload.eq(store.r_data),
                self.o.valid.eq(store.r_rdy),
                store.r_en.eq(self.o.ready),
                self.level.eq(store.level),
            ]
            return m

        # The output is a register: the memory's read path, and the logic that decides if an item goes, are not part of
        # the consumer's path. An item that finds the memory empty goes past it into that register.
        head, full, room = Signal(self.shape, reset_less=True), Signal(), Signal()
        take, came = Signal(), Signal()
        m.d.comb += [
            take.eq(~full | (self.o.ready if self.full_rate else 0)),
            came.eq(self.i.valid & room),
            self.i.ready.eq(room),
            self.o.payload.eq(head),
            self.o.valid.eq(full),
        ]
        if self.depth == 1:
            m.d.comb += [room.eq(~full), self.level.eq(full)]
            with m.If(take):
                m.d.sync += full.eq(came)
            with m.If(came if self.guarded else room):
                m.d.sync += head.eq(self.i.payload)
            return m

        pass_by = Signal()
        if self.depth <= REGISTER_FILE_DEPTH:
            ring = self._keep_in_luts(m, Head(item=head, full=full, take=take, came=came, pass_by=pass_by))
            m.d.comb += room.eq(~ring.full)
            return m

        # Synchronous memory needs two cycles from write to read.
        n_entries = self.depth - 2
        m.submodules.store = store = BlockMemory(shape=self.shape, depth=n_entries, shallow=self.shallow, apart=True)
        push, pop, ahead = Signal(), Signal(), Signal()
        ring = self._ring(m, n_entries, push, pop)
        some = ring.some
        m.d.comb += [
            room.eq(~ring.full), pass_by.eq(take & ~some & ~ahead),
            push.eq(came & ~pass_by), pop.eq(some & (~ahead | take)),
            store.write_enable.eq(push), store.write_address.eq(ring.write_at), store.write_data.eq(self.i.payload),
            store.read_enable.eq(pop), store.read_address.eq(ring.read_at),
            self.level.eq(ring.kept + ahead + full),
        ]
        with m.If(pop):
            m.d.sync += ahead.eq(1)
        with m.Elif(take):
            m.d.sync += ahead.eq(0)
        with m.If(take):
            m.d.sync += full.eq(ahead | (pass_by & came))
            with m.If(ahead | came if self.guarded else 1):
                m.d.sync += head.eq(Mux(ahead, store.read_data, self.i.payload))
        return m

    def _pass_on(self, m):
        """Passes items on through two registers, each of which is loaded while it is empty."""
        first, last = Signal(self.shape, reset_less=True), Signal(self.shape, reset_less=True)
        waits, offered, came = Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~waits), came.eq(self.i.valid & ~waits),
            self.o.valid.eq(offered), self.o.payload.eq(last), self.level.eq(waits + offered),
        ]
        m.d.sync += [
            waits.eq(came | (waits & offered)), offered.eq(Mux(offered, ~self.o.ready, waits)),
        ]
        with m.If(came if self.guarded else ~waits):
            m.d.sync += first.eq(self.i.payload)
        with m.If(~offered):
            m.d.sync += last.eq(first)

    @staticmethod
    def _ring(m: Module, n_entries: int, push: Signal, pop: Signal) -> Ring:
        """Counts the items in a memory of `n_entries`, and where they stand."""
        write_at, read_at, kept = Signal(range(n_entries)), Signal(range(n_entries)), Signal(range(n_entries + 1))
        full, some = Signal(), Signal()
        # Both come late in a cycle: sums of products for the flags, no enables.
        m.d.sync += [
            some.eq(push | (some & ~(pop & (kept == 1)))), full.eq(~pop & (full | (push & (kept == n_entries - 1)))),
        ]
        with m.If(push != pop):
            m.d.sync += kept.eq(Mux(push, kept + 1, kept - 1))
        for moves, at in ((push, write_at), (pop, read_at)):
            with m.If(moves):
                m.d.sync += at.eq(Mux(at == n_entries - 1, 0, at + 1))
        return Ring(write_at=write_at, read_at=read_at, kept=kept, some=some, full=full)

    def _keep_in_luts(self, m: Module, head: Head) -> Ring:
        """Keeps items in a LUT memory, into which an item is written even if it passes by.

        The many write enables then do not depend on whether it passes by: the entry that is written belongs to nobody
        until the pointer moves.
        """
        full, take, came, pass_by = head.full, head.take, head.came, head.pass_by
        n_entries = self.depth - 1
        m.submodules.store = store = memory.Memory(shape=self.shape, depth=n_entries, init=[])
        put, get = store.write_port(), store.read_port(domain="comb")
        push, pop = Signal(), Signal()
        ring = self._ring(m, n_entries, push, pop)
        some, kept = ring.some, ring.kept
        m.d.comb += [
            put.en.eq(came), put.addr.eq(ring.write_at), put.data.eq(self.i.payload), get.addr.eq(ring.read_at),
            pass_by.eq(take & ~some if self.prompt else 0),
            push.eq(came & (~take | some) if self.prompt else came), pop.eq(take & some),
            self.level.eq(kept + full),
        ]
        if not self.full_rate:
            with m.If(self.o.ready):
                m.d.sync += full.eq(0)
        with m.If(take):
            m.d.sync += full.eq(pop | (came & pass_by))
            if not self.prompt:
                m.d.sync += head.item.eq(get.data)
            else:
                with m.If(came | pop if self.guarded else 1):
                    m.d.sync += head.item.eq(Mux(some, get.data, self.i.payload))
        return ring
