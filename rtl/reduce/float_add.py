"""Floating-point addition, pipelined by hand.

Picture, reasons and figures: ``docs/reduce.md``.
"""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from rtl.reduce.bits import first, parts, shifted_left, spread
from rtl.reduce.float_format import FLOAT64, FloatFormat
from rtl.reduce.step_pipeline import StepPipeline

CUTS: dict[int, str] = {
    5: "swap align_4 flags normal_2 shift_2",
    6: "order align_3 add normal_0 fine shift_2",
    7: "order align_3 add coarse normal_2 fine shift_2",
    8: "order align_1 align_4 add coarse normal_2 fine shift_2",
    9: "compare align_0 align_3 align_5 add coarse normal_2 fine shift_2",
    10: "compare align_0 align_3 align_5 add flags normal_0 normal_2 fine shift_2",
    11: "compare order align_1 align_3 align_5 add flags normal_0 normal_2 fine shift_2",
    12: "compare order align_1 align_3 align_5 add_low add flags normal_0 normal_2 fine shift_2",
    13: "compare order align_1 align_3 align_5 add_low add flags normal_0 normal_2 fine_low fine shift_2",
    14: "compare_low compare order align_1 align_3 align_5 add_low add flags normal_0 normal_2 fine_low fine shift_2",
    15: "compare_low compare order align_1 align_3 align_5 add_low add flags coarse normal_1 normal_2 fine_low fine "
        "shift_2",
    16: "compare_low compare order align_0 align_2 align_4 align_5 add_low add flags coarse normal_1 normal_2 fine_low "
        "fine shift_2",
}
"""After which steps registers stand, for every depth; the last step's are those of the result."""

_align_steps = 6
_group_bits = 3
_normal_steps = 3


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

    def __init__(self, *, format: FloatFormat = FLOAT64, cycles: int = 8, tag_width: int = 0):  # noqa: A002
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
        v = self._order(pipeline, a, b)
        v = self._align(pipeline, v)
        v = self._add(pipeline, v)
        v = self._normalise_coarse(pipeline, v)
        v = self._round(pipeline, v)
        v = self._normalise_fine(pipeline, v)
        pipeline.finish()
        m.d.comb += self.o.eq(Cat(v.fraction, v.exponent, v.sign))

        # Only the valid bits are reset.
        valid: Value = self.i_valid
        for index in range(self.cycles):
            m.d.sync += (after := Signal(name=f"valid_{index}")).eq(valid)
            valid = after
        m.d.comb += self.o_valid.eq(valid)
        if self.tag_width:
            tag: Value = self.i_tag
            for index in range(self.cycles):
                m.d.sync += (after := Signal(self.tag_width, name=f"tag_{index}", reset_less=True)).eq(tag)
                tag = after
            m.d.comb += self.o_tag.eq(tag)

        return m

    def _order(self, pipeline: StepPipeline, a: data.View, b: data.View) -> SimpleNamespace:
        """Puts the operand of larger magnitude first; finds how far the other one is to be shifted right."""
        # The fractions are compared by one carry chain, which can be cut in the middle. The exponents' order
        # comes out of their differences. Of equal magnitudes with different signs the positive one is
        # taken as the larger: the sign of x - x is then right without a look at the sum.
        low_a, low_b = Cat(~a.sign, a.fraction), Cat(~b.sign, b.fraction)
        half = len(low_a) // 2
        if pipeline.cut("compare_low"):
            v = pipeline.step("compare_low", a=a, b=b, low=low_a[:half] < low_b[:half])
            high_a = Cat(Const(0, 1), Cat(~v.a.sign, v.a.fraction)[half:])
            high_b = Cat(v.low, Cat(~v.b.sign, v.b.fraction)[half:])
        else:
            v = pipeline.step("compare_low", a=a, b=b)
            high_a, high_b = low_a, low_b

        # A subnormal has the exponent field 0 but the weight of 1: one less between it and a normal number.
        # That does not disturb the order, because the difference can only fall to 0 then.
        zero_a, zero_b = v.a.exponent == 0, v.b.exponent == 0
        bits = self.format.exponent_bits
        a_minus_b = Cat(Const(1, 1), v.a.exponent, Const(0, 1)) + Cat(~(zero_b & ~zero_a), ~v.b.exponent, Const(1, 1))
        b_minus_a = Cat(Const(1, 1), v.b.exponent, Const(0, 1)) + Cat(~(zero_a & ~zero_b), ~v.a.exponent, Const(1, 1))
        v = pipeline.step(
            "compare", v, "low" if pipeline.cut("compare_low") else "",
            fraction_less=high_a < high_b,
            a_minus_b=a_minus_b[1:bits + 2], b_minus_a=b_minus_a[1:bits + 2],
            hidden_a=~zero_a, hidden_b=~zero_b,
        )

        # The top bits of the differences say which exponent is less. Shifts beyond the last sticky bit are as good as
        # the longest one that the shifter can do.
        less = v.a_minus_b[-1] | (~v.b_minus_a[-1] & v.fraction_less)
        v = pipeline.step(
            "order", v, "fraction_less a_minus_b b_minus_a",
            less=less, shift_a=self._saturated(v.b_minus_a[:-1]), shift_b=self._saturated(v.a_minus_b[:-1]),
        )

        fraction = Mux(v.less, v.b.fraction, v.a.fraction)
        exponent = Mux(v.less, v.b.exponent, v.a.exponent)
        hidden = Mux(v.less, v.hidden_b, v.hidden_a)
        return pipeline.step(
            "swap", v, "a b less hidden_a hidden_b shift_a shift_b",
            sign=Mux(v.less, v.b.sign, v.a.sign),
            subtract=v.a.sign ^ v.b.sign,
            exponent=Cat(exponent[0] | ~hidden, exponent[1:]),
            large=Cat(fraction, hidden),
            # Two bits below the last one: guard and round. What is shifted out further is only known to be there.
            small=Cat(Const(0, 2), Mux(v.less, Cat(v.a.fraction, v.hidden_a), Cat(v.b.fraction, v.hidden_b))),
            lost=Const(0, 1),
            shift=Mux(v.less, v.shift_a, v.shift_b),
        )

    def _saturated(self, difference: Value) -> Value:
        bits = bits_for(self.format.significand_bits + 2)
        if len(difference) <= bits:
            return Value.cast(difference)
        beyond = difference[bits:].any()
        return Cat(bit | beyond for bit in difference[:bits])

    def _align(self, pipeline: StepPipeline, v: SimpleNamespace) -> SimpleNamespace:
        """Shifts the smaller operand right, long shifts first, and inverts it for a subtraction."""
        # The larger operand is a NaN if either is, and an infinity if either is and none is a NaN. Beside an
        # infinity, a distance of 0 means another infinity.
        new = {"nan_if_special": v.large[:-1].any() | (v.subtract & (v.shift == 0))}
        for index, levels in enumerate(spread(len(v.shift), _align_steps)):
            small, lost = v.small, v.lost
            for level in levels:
                # What is lost is gathered one level of four-input cells at a time: three bits with the select,
                # earlier findings four by four.
                gone = small[:1 << level]
                found = [part.any() for part in parts(lost, 4)]
                lost = Cat(*found, *(v.shift[level] & part.any() for part in parts(gone, 3)))
                small = Mux(v.shift[level], small[1 << level:], small)
            if index == _align_steps - 1:
                small = Cat(bit ^ v.subtract for bit in small)
            v = pipeline.step(f"align_{index}", v, small=small, lost=lost, **new)
            new = {}
        return v

    def _add(self, pipeline: StepPipeline, v: SimpleNamespace) -> SimpleNamespace:
        """Adds or subtracts; the result is never negative."""
        # Bit 0 brings in the carry of the two's complement, unless lost bits have borrowed it. The top bit
        # swallows the carry that comes out of every subtraction.
        sticky = v.lost.any()
        large = Cat(Const(1, 1), Const(0, 2), v.large, Const(0, 1))
        small = Cat(v.subtract & ~sticky, v.small, v.subtract)
        if pipeline.cut("add_low"):
            half = len(large) // 2
            low = (large[:half] + small[:half])[1:]
            v = pipeline.step("add_low", v, "lost", sticky=sticky, low=low, large=large[half:], small=small[half:])
            high = Cat(v.low[-1], v.large) + Cat(v.low[-1], v.small)
            total = Cat(v.low[:-1], high[1:len(v.large) + 1])
            v = pipeline.step("add", v, "low sticky large small shift subtract", sum=Cat(v.sticky, total))
        else:
            total = (large + small)[1:len(large)]
            v = pipeline.step("add", v, "lost large small shift subtract", sum=Cat(sticky, total))
        return v

    def _normalise_coarse(self, pipeline: StepPipeline, v: SimpleNamespace) -> SimpleNamespace:
        """Shifts left by whole groups of bits, but never beyond the exponent of subnormals."""
        # The word is the sum but for round and sticky bit: carry, hidden bit, fraction, guard. The leading one
        # of the sum is never below it: when more than one place is cancelled, those two bits are 0.
        sticky, round_bit, word = v.sum[0], v.sum[1], v.sum[2:]
        carry, normal = word[-1], word[-2]
        group = 1 << _group_bits
        groups = [word[max(0, end - group):end] for end in range(len(word), 0, -group)]

        # A sentinel stands where the shift has to end for the exponent to stay at 1, and is found like a leading one.
        index_bits = bits_for(len(groups) - 1)
        limit, coarse_limit = v.exponent[:_group_bits], v.exponent[_group_bits:]
        v = pipeline.step(
            "flags", v, "sum nan_if_special",
            word=word,
            found=Cat(part.any() | (coarse_limit == index) for index, part in enumerate(groups)),
            limit=limit, coarse_limit=coarse_limit[:index_bits], limited=~coarse_limit[index_bits:].any(),
            # To nearest even, for each place where the last bit can come to stand: a one to be added there.
            up=Cat(
                ~carry & ~normal & round_bit & (word[0] | sticky),
                ~carry & normal & word[0] & (word[1] | round_bit | sticky),
                carry & word[1] & (word[2] | word[0] | round_bit | sticky),
            ),
            special=v.exponent.all() | (carry & (v.exponent == self.format.max_exponent - 1)),
            nan=v.exponent.all() & v.nan_if_special,
        )
        v = pipeline.step("coarse", v, "found", coarse=first(v.found)[:index_bits])

        # The sentinel counts in its own group alone. The exponent falls by what is shifted; 6 more are
        # taken off and given back by the fine step, which saves it a carry.
        bits = self.format.exponent_bits
        at_limit = v.limited & (v.coarse == v.coarse_limit)
        shifted = Cat(Const(group - 3, _group_bits), v.coarse, Const(0, bits))[:bits]
        new = {
            "sentinel": Cat(at_limit & (v.limit == place) for place in range(group)),
            "allowed": Cat(Const(1, 1), *(~at_limit | (v.limit >= place) for place in range(1, group))),
            "exponent": (v.exponent + ~shifted)[:bits],
        }
        drop = "limit coarse_limit limited"
        for index, levels in enumerate(spread(index_bits, _normal_steps)):
            word = v.word
            for level in levels:
                word = Mux(v.coarse[level], shifted_left(word, group << level), word)
            v = pipeline.step(f"normal_{index}", v, drop, word=word, **new)
            new, drop = {}, ""
        return v

    def _round(self, pipeline: StepPipeline, v: SimpleNamespace) -> SimpleNamespace:
        """Rounds, and at the same time finds the shift that is left.

        Only a sum that is shifted by at most one place is inexact, so its rounding can come before the shift.
        """
        group = 1 << _group_bits
        if pipeline.cut("fine_low"):
            half = max(len(v.up), len(v.word) // 2)
            v = pipeline.step("fine_low", v, "up", low=v.word[:half] + v.up)
            rounded = Cat(v.low[:half], v.word[half:] + v.low[half])[:len(v.word)]
        else:
            rounded = (v.word + v.up)[:len(v.word)]

        top = Cat(reversed(v.word), Const(0, group))[:group]
        # Rounding that carries into a new leading place leaves a fraction of 0, wherever it is cut from.
        grown = ~v.word[-1] & (rounded[-1] | (rounded[-2] & ~v.word[-2]))
        return pipeline.step(
            "fine", v, "coarse sentinel allowed " + ("low" if pipeline.cut("fine_low") else "up"),
            word=rounded, fine=first(top | v.sentinel), normal=(top & v.allowed).any(), grown=grown,
        )

    def _normalise_fine(self, pipeline: StepPipeline, v: SimpleNamespace) -> SimpleNamespace:
        """Shifts left within the group, makes the exponent, and puts infinities and NaNs in."""
        exponent = Cat(v.grown, v.exponent) + Cat(v.grown, ~v.fine)
        new, drop = {"exponent": exponent[1:self.format.exponent_bits + 1]}, "grown"
        for level in reversed(range(1, _group_bits)):
            word = Mux(v.fine[level], shifted_left(v.word, 1 << level), v.word)
            v = pipeline.step(f"shift_{_group_bits - 1 - level}", v, drop, word=word, **new)
            new, drop = {}, ""

        # No leading one: subnormal, or 0.
        word = Mux(v.fine[0], shifted_left(v.word, 1), v.word)
        fraction = Cat(bit & ~v.special for bit in word[2:-1])
        return pipeline.step(
            f"shift_{_group_bits - 1}", v, "word fine special nan normal",
            fraction=Cat(fraction[:-1], fraction[-1] | v.nan),
            exponent=Cat((bit & v.normal) | v.special for bit in v.exponent),
            sign=v.sign & ~v.nan,
        )
