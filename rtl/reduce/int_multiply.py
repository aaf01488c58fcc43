"""Products of integers, modulo a power of two."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.step_pipeline import StepPipeline, StepValues
from rtl.reduce.delay_line import DelayLine
from rtl.reduce.tile_multiply import tile_multiply

_stages = 4


class IntMultiply(wiring.Component):
    """Multiplies two integers; as many low bits of the product as a factor has. Signed or not, these are the same.

    Timing: a pair in every cycle; the result comes `cycles` later. There is no stall.

    Parameters
    ----------
    width : int
        Bits of a factor and of the result. At least 1.
    cycles : int
        Depth. At least 5.

    Members
    -------
    i_a, i_b : ``In(width)``
        The pair.
    enable : ``In(1)``
        The pairs on their way move on by a cycle. Stays high from a pair to its product: those in the multiplier itself
        move in any case.
    o : ``Out(width)``
        The low bits of the product.
    """

    def __init__(self, *, width: int, cycles: int):
        if not isinstance(width, int) or width < 1:
            raise ValueError(f"width must be a positive integer, not {width!r}")
        if not isinstance(cycles, int) or cycles <= _stages:
            raise ValueError(f"cycles must be an integer of at least {_stages + 1}, not {cycles!r}")
        self.width = width
        self.cycles = cycles
        super().__init__({"enable": In(1), "i_a": In(width), "i_b": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        pipeline = StepPipeline(m, cuts=("tiles", "rows", "pairs", "total"))
        v = StepValues(a=self.i_a, b=self.i_b)
        v = tile_multiply(pipeline, v, a="a", b="b", product="product", bits=self.width)
        pipeline.finish()
        if self.cycles == _stages + 1:
            after = Signal(self.width, reset_less=True)
            m.d.sync += after.eq(v.product)
            m.d.comb += self.o.eq(after)
        else:
            m.submodules.wait = wait = DelayLine(shape=self.width, cycles=self.cycles - _stages)
            m.d.comb += [wait.enable.eq(self.enable), wait.i.eq(v.product), self.o.eq(wait.o)]
        return m
