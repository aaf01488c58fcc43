"""Floating-point addition, pipelined by hand.

Picture, reasons and figures: ``docs/reduce.md``.
"""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.step_pipeline import StepPipeline, StepValues
from rtl.reduce.float_align import align, order
from rtl.reduce.float_format import FLOAT64, FloatFormat
from rtl.reduce.float_normalise import exponent_flags, normalise_coarse, normalise_fine, round_to_even

CUTS: dict[int, str] = {
    5: "swap align_4 add normal_2 shift_2",
    6: "order align_3 add normal_0 fine shift_2",
    7: "order align_2 align_5 add coarse fine shift_2",
    8: "order align_1 align_4 add coarse normal_2 fine shift_2",
    9: "order align_1 align_3 align_5 add coarse normal_2 fine shift_2",
    10: "order align_1 align_3 align_5 add flags normal_0 normal_2 fine shift_2",
    11: "compare swap align_1 align_3 align_5 add flags coarse normal_2 fine shift_2",
    12: "compare_low compare swap align_1 align_3 align_5 add flags coarse normal_2 fine shift_2",
    13: "compare_low compare swap align_1 align_3 align_5 add flags coarse normal_2 fine shift_1 shift_2",
    14: "compare_low compare swap align_1 align_3 align_5 add_low add flags coarse normal_2 fine shift_1 shift_2",
    15: "compare_low compare swap align_1 align_3 align_5 add_low add flags coarse normal_2 fine_low fine shift_1 "
        "shift_2",
    16: "compare_low compare order swap align_1 align_3 align_5 add_low add flags coarse normal_2 fine_low fine "
        "shift_1 shift_2",
}
"""After which steps registers stand, for every depth; the last step's are those of the result."""

DEFAULT_CYCLES = 8
"""Depth unless another is asked for; ``docs/reduce.md`` gives the reason."""


class FloatAdd(wiring.Component):
    """Adds two numbers of a binary floating-point format, as IEEE 754 says, rounding to nearest even.

    Subnormals, signed zeros and infinities are exact and cost no extra cycles. An operation whose result is a NaN gives
    the format's one canonical NaN: positive, quiet, no payload (0x7FF8000000000000 for binary64).

    Timing: a pair in every cycle; the result comes `cycles` later. There is no stall: whoever wants
    backpressure keeps room for the results.

    Parameters
    ----------
    format : FloatFormat
        Format of operands and result.
    cycles : int
        Depth of the pipeline, result registers included. A key of :data:`CUTS`: 5 to 16.
    tag_width : int
        Bits of a tag that travels along. At least 0; with 0 there is none.

    Members
    -------
    i_valid : ``In(1)``
        There is a pair in this cycle.
    i_a, i_b : ``In(format.width)``
        The pair.
    i_tag : ``In(tag_width)``
        Comes out with the sum; only if `tag_width` is not 0.
    o_valid : ``Out(1)``
        There is a sum in this cycle.
    o : ``Out(format.width)``
        The sum.
    o_tag : ``Out(tag_width)``
        The tag of its pair; only if `tag_width` is not 0.
    """

    def __init__(self, *, format: FloatFormat = FLOAT64, cycles: int = DEFAULT_CYCLES, tag_width: int = 0):  # noqa: A002
        if not isinstance(format, FloatFormat):
            raise TypeError(f"format must be a FloatFormat, not {format!r}")
        if cycles not in CUTS:
            raise ValueError(f"cycles must be from {min(CUTS)} to {max(CUTS)}, not {cycles!r}")
        if not isinstance(tag_width, int) or tag_width < 0:
            raise ValueError(f"tag_width must be a non-negative integer, not {tag_width!r}")
        self.format = format
        self.cycles = cycles
        self.tag_width = tag_width
        members = {
            "i_valid": In(1),
            "i_a": In(format.width),
            "i_b": In(format.width),
            "o_valid": Out(1),
            "o": Out(format.width),
        }
        if tag_width:
            members |= {"i_tag": In(tag_width), "o_tag": Out(tag_width)}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()

        pipeline = StepPipeline(m, cuts=tuple(CUTS[self.cycles].split()))
        a, b = Signal(self.format.layout), Signal(self.format.layout)
        m.d.comb += [a.eq(self.i_a), b.eq(self.i_b)]
        v = order(pipeline, self.format, a, b)
        v = align(pipeline, v)
        v = self._add(pipeline, v)
        v = normalise_coarse(pipeline, self.format, v)
        v = round_to_even(pipeline, v)
        v = normalise_fine(pipeline, self.format, v)
        pipeline.finish()
        m.d.comb += self.o.eq(Cat(v.fraction, v.exponent, v.sign))

        # Only the valid bits are reset.
        m.d.comb += self.o_valid.eq(pipeline.follow(self.i_valid, name="valid"))
        if self.tag_width:
            m.d.comb += self.o_tag.eq(pipeline.follow(self.i_tag, name="tag", reset=False))

        return m

    def _add(self, pipeline: StepPipeline, v: StepValues) -> StepValues:
        """Adds or subtracts; the result is never negative. Steps: ``add_low`` (a cut there splits the sum), ``add``."""
        # The top bit swallows the carry that comes out of every subtraction.
        large = Cat(Const(1, 1), Const(0, 2), v.large, Const(0, 1))
        small = Cat(v.small, v.subtract)
        if not pipeline.cut("add_low"):
            total = (large + small)[1:len(large)]
            flags = exponent_flags(self.format, v.exponent)
            return pipeline.step("add", v, "lost large small shift subtract", sum=Cat(v.lost, total), **flags)
        half = len(large) // 2
        low = (large[:half] + small[:half])[1:]
        v = pipeline.step("add_low", v, "shift subtract", low=low, large=large[half:], small=small[half:])
        high = Cat(v.low[-1], v.large) + Cat(v.low[-1], v.small)
        total = Cat(v.low[:-1], high[1:len(v.large) + 1])
        flags = exponent_flags(self.format, v.exponent)
        return pipeline.step("add", v, "lost low large small", sum=Cat(v.lost, total), **flags)
