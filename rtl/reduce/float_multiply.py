"""Floating-point multiplication, pipelined by hand.

Picture and reasons: ``docs/reduce.md``.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from rtl.kit.step_pipeline import StepPipeline, StepValues
from rtl.reduce.bits import borrow, first, shifted_left, spread
from rtl.reduce.float_format import FLOAT64, FloatFormat
from rtl.reduce.tile_multiply import tile_multiply

MULTIPLY_CUTS: dict[int, str] = {
    5: "left_2 rows total right_2 special",
    6: "left_0 tiles pairs total right_2 special",
    7: "count left_2 tiles pairs total right_2 special",
    8: "count left_2 tiles rows pairs total right_2 special",
    9: "count left_2 tiles rows pairs total right_0 right_2 special",
    10: "count left_0 left_2 tiles rows pairs total right_0 right_2 special",
    11: "unpack count left_0 left_2 tiles rows pairs total right_0 right_2 special",
    12: "unpack count limit left_1 left_2 tiles rows pairs total right_0 right_2 special",
    13: "unpack count limit left_1 left_2 tiles rows pairs total right_0 right_2 normal special",
    14: "unpack count limit left_1 left_2 tiles rows pairs total right_0 right_1 right_2 normal special",
    15: "unpack count limit left_1 left_2 tiles rows pairs total right_0 right_1 right_2 normal round special",
    16: "unpack count limit left_0 left_1 left_2 tiles rows pairs total right_0 right_1 right_2 normal round special",
}
"""After which steps registers stand, for every depth; the same depths as those of the adder."""


class FloatMultiply(wiring.Component):
    """Multiplies two numbers of a binary floating-point format, as IEEE 754 says, rounding to nearest even.

    Subnormals, as operands and as results, signed zeros and infinities are exact and cost no extra cycles.
    A product that is a NaN is the format's one canonical NaN, as in :class:`~rtl.reduce.float_add.FloatAdd`.

    Timing: a pair in every cycle; the result comes `cycles` later. There is no stall and there are no valid
    bits: whoever uses it knows when it gave a pair.

    Parameters
    ----------
    format : FloatFormat
        Format of operands and result.
    cycles : int
        Depth of the pipeline, result registers included. A key of :data:`MULTIPLY_CUTS`: 5 to 16.

    Members
    -------
    i_a, i_b : ``In(format.width)``
        The pair.
    o : ``Out(format.width)``
        The product.
    """

    def __init__(self, *, format: FloatFormat = FLOAT64, cycles: int = 8):  # noqa: A002
        if not isinstance(format, FloatFormat):
            raise TypeError(f"format must be a FloatFormat, not {format!r}")
        if cycles not in MULTIPLY_CUTS:
            raise ValueError(f"cycles must be from {min(MULTIPLY_CUTS)} to {max(MULTIPLY_CUTS)}, not {cycles!r}")
        self.format = format
        self.cycles = cycles
        super().__init__({"i_a": In(format.width), "i_b": In(format.width), "o": Out(format.width)})

    def elaborate(self, platform):
        m = Module()
        pipeline = StepPipeline(m, cuts=tuple(MULTIPLY_CUTS[self.cycles].split()))
        a, b = Signal(self.format.layout), Signal(self.format.layout)
        m.d.comb += [a.eq(self.i_a), b.eq(self.i_b)]
        v = self._unpack(pipeline, a, b)
        v = self._lift(pipeline, v)
        v = tile_multiply(
            pipeline, v, a="factor", b="lifted", product="product", bits=2 * self.format.significand_bits
        )
        v = self._lower(pipeline, v)
        v = self._round(pipeline, v)
        pipeline.finish()
        m.d.comb += self.o.eq(Cat(v.magnitude, v.sign))
        return m

    @property
    def _shift_bits(self) -> int:
        """Bits of a distance that shifts a product out of sight."""
        return bits_for(self.format.significand_bits + 2)

    def _unpack(self, pipeline, a, b) -> StepValues:
        """Puts a subnormal operand second, and says what is special. Step: ``unpack``."""
        fmt = self.format
        hidden_a, hidden_b = a.exponent.any(), b.exponent.any()
        swap = ~hidden_a
        # How far the product's exponent lies above 1, the least; a subnormal operand counts as 1. In two's
        # complement, and wide enough for every shift.
        total = Cat(a.exponent[0] | ~hidden_a, a.exponent[1:]) + Cat(b.exponent[0] | ~hidden_b, b.exponent[1:])
        above = total - (fmt.bias + 1)
        width = max(fmt.exponent_bits, self._shift_bits) + 2
        above = Cat(above, above[-1].replicate(width))[:width]
        special_a, special_b = a.exponent.all(), b.exponent.all()
        payload_a, payload_b = a.fraction.any(), b.fraction.any()
        zero_a, zero_b = ~hidden_a & ~payload_a, ~hidden_b & ~payload_b
        return pipeline.step(
            "unpack", sign=a.sign ^ b.sign, above=above,
            factor=Mux(swap, Cat(b.fraction, hidden_b), Cat(a.fraction, hidden_a)),
            lifted=Mux(swap, Cat(a.fraction, hidden_a), Cat(b.fraction, hidden_b)),
            special=special_a | special_b,
            nan=(special_a & (payload_a | zero_b)) | (special_b & (payload_b | zero_a)),
        )

    def _lift(self, pipeline, v: StepValues) -> StepValues:
        """Shifts a subnormal operand left, but no further than the product's exponent allows.

        Steps: ``count``, ``limit``, ``left_0`` to ``left_2``.
        """
        fmt = self.format
        shift_bits = self._shift_bits
        v = pipeline.step("count", v, zeros=first(Cat(reversed(v.lifted))))
        # Below 0 the product will be shifted right instead, by -above; that is one more than the complement.
        negative, low = v.above[-1], v.above[:shift_bits]
        zeros = Cat(v.zeros, Const(0, shift_bits))[:shift_bits]
        limited = ~v.above[shift_bits:-1].any() & borrow(low, zeros)
        right = (~low + 1)[:shift_bits]
        far = ~v.above[shift_bits:-1].all() | (low == 0)
        v = pipeline.step(
            "limit", v, "zeros",
            left=Cat(bit & ~negative for bit in Mux(limited, low, zeros)),
            right=Cat((bit | far) & negative for bit in right),
        )
        # The exponent counted from 1; then as it will be stored, without and with a carry out of the product, and
        # whether it is too large.
        bits = fmt.exponent_bits
        counted = (Cat(bit & ~v.above[-1] for bit in v.above[:bits + 1]) - v.left)[:bits + 1]
        for index, levels in enumerate(spread(shift_bits, 3)):
            lifted = v.lifted
            for level in levels:
                lifted = Mux(v.left[level], shifted_left(lifted, 1 << level), lifted)
            new: dict[str, Value] = {}
            if index == 0:
                drop, new = "above", {"counted": counted}
            elif index == 1:
                drop, new = "counted", {
                    "plain": (v.counted + 1)[:bits], "carried": (v.counted + 2)[:bits],
                    "over": v.counted >= fmt.max_exponent - 1, "over_carried": v.counted >= fmt.max_exponent - 2,
                }
            else:
                drop = "left"
            v = pipeline.step(f"left_{index}", v, drop, lifted=lifted, **new)
        return v

    def _lower(self, pipeline, v: StepValues) -> StepValues:
        """Shifts a product right that is too small for the least exponent. Steps: ``right_0`` to ``right_2``."""
        low = self.format.significand_bits - 2
        # The word is the product from its carry down to the guard bit; what is below is only known to be there.
        word, lost = v.product[low:], v.product[:low].any()
        drop = "product"
        for index, levels in enumerate(spread(len(v.right), 3)):
            for level in levels:
                lost = lost | (v.right[level] & word[:1 << level].any())
                word = Mux(v.right[level], word[1 << level:], word)
            v = pipeline.step(f"right_{index}", v, drop, word=word, lost=lost)
            word, lost, drop = v.word, v.lost, ""
        return v

    def _round(self, pipeline, v: StepValues) -> StepValues:
        """Takes the carry into the exponent, rounds, and puts infinities and NaNs in.

        Steps: ``normal``, ``round``, ``special``.
        """
        fmt = self.format
        # A guard bit stands below the fraction, hidden bit and carry above it.
        word = v.word
        carry, hidden = word[-1], word[-2] | word[-1]
        fraction = Mux(carry, word[2:-1], word[1:-2])
        guard = Mux(carry, word[1], word[0])
        sticky = v.lost | (carry & word[0])
        exponent = Mux(carry, v.carried, v.plain)
        v = pipeline.step(
            "normal", v, "word lost plain carried over_carried",
            fraction=fraction, exponent=Cat(bit & hidden for bit in exponent), up=guard & (sticky | fraction[0]),
            over=hidden & (v.over | (carry & v.over_carried)),
        )
        # Of consecutive numbers the bits are consecutive, so one addition carries into the exponent as well,
        # from subnormals into normals and from the largest number to infinity.
        v = pipeline.step(
            "round", v, "fraction exponent up",
            magnitude=(Cat(v.fraction, v.exponent) + v.up)[:fmt.width - 1],
        )
        infinite = v.over | v.special
        clear = infinite | v.nan
        return pipeline.step(
            "special", v, "over special nan",
            magnitude=Cat(
                *(bit & ~clear for bit in v.magnitude[:fmt.fraction_bits - 1]),
                (v.magnitude[fmt.fraction_bits - 1] & ~clear) | v.nan,
                *(bit | infinite for bit in v.magnitude[fmt.fraction_bits:]),
            ),
            sign=v.sign & ~v.nan,
        )

