"""Delay line for values that keep pace with a pipeline without taking part in it."""

from amaranth import Module, Mux, Signal
from amaranth.hdl import Shape, ShapeLike
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class DelayLine(wiring.Component):
    """Gives out what came in `cycles` before.

    A ring in memory: a wide line costs a fraction of the flip-flops that a row of registers would. What comes out
    before the first `cycles` have passed means nothing. Cycles in which it is not enabled do not count.
    Parameters
    ----------
    shape : ShapeLike
        Shape of what is delayed.
    cycles : int
        Delay. At least 2.

    Members
    -------
    enable : ``In(1)``
        High to shift. Must be high while the line holds anything that is wanted.
    i : ``In(shape)``
        Taken in every such cycle.
    o : ``Out(shape)``
        What ``i`` was `cycles` before.
    """

    def __init__(self, *, shape: ShapeLike, cycles: int):
        if not isinstance(cycles, int) or cycles < 2:
            raise ValueError(f"cycles must be an integer of at least 2, not {cycles!r}")
        self.shape = shape
        self.cycles = cycles
        super().__init__({"enable": In(1), "i": In(shape), "o": Out(shape)})

    def elaborate(self, platform):
        m = Module()

        # Read one entry ahead of the one written: the read port's register is the last cycle of the delay.
        # A ring of cycles - 1 entries is read and written at the same address; the old content is read.
        depth = self.cycles - 1
        m.submodules.ring = ring = Memory(shape=Shape.cast(self.shape), depth=depth, init=[])
        write, read = ring.write_port(), ring.read_port()
        address = Signal(range(depth))
        with m.If(self.enable):
            m.d.sync += address.eq(Mux(address == depth - 1, 0, address + 1))
        m.d.comb += [
            write.en.eq(self.enable),
            write.addr.eq(address),
            write.data.eq(self.i),
            read.en.eq(self.enable),
            read.addr.eq(address),
            self.o.eq(read.data),
        ]

        return m
