"""First-in first-out buffer between streams."""

from amaranth import Module
from amaranth.hdl import Shape, ShapeLike
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

REGISTER_FILE_DEPTH = 16
"""Deepest buffer that is kept in LUT memory with an asynchronous read port."""


class StreamFifo(wiring.Component):
    """A buffer of `depth` items between two streams.

    Timing: no combinational path between ``i`` and ``o``. Up to :data:`REGISTER_FILE_DEPTH` an item
    comes out one cycle after it went in; deeper buffers use synchronous memory and take two. One item per cycle, but
    for `depth` 1, which passes one in two cycles.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Items that can be held. At least 1; need not be a power of two.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Items to be stored; ready while there is room.
    o : ``Out(stream.Signature(shape))``
        Items in the order in which they came.
    level : ``Out(range(depth + 1))``
        Items held, the one offered on ``o`` included.
    """

    def __init__(self, *, shape: ShapeLike, depth: int):
        if not isinstance(depth, int) or depth < 1:
            raise ValueError(f"depth must be a positive integer, not {depth!r}")
        self.shape = shape
        self.depth = depth
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
            "level": Out(range(depth + 1)),
        })

    def elaborate(self, platform):
        m = Module()

        width = Shape.cast(self.shape).width
        # A depth of 1 has no memory at all in the buffered variant.
        small = 1 < self.depth <= REGISTER_FILE_DEPTH
        kind = fifo.SyncFIFO if small else fifo.SyncFIFOBuffered
        m.submodules.store = store = kind(width=width, depth=self.depth)

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
