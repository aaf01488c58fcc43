"""First half of a floating-point addition: the larger operand first, the smaller one shifted to meet it.

Picture and reasons: ``docs/reduce.md``.
"""

from amaranth import Cat, Const, Mux, Value
from amaranth.lib import data
from amaranth.utils import bits_for

from rtl.kit.step_pipeline import StepPipeline, StepValues
from rtl.reduce.bits import borrow, parts, spread
from rtl.reduce.float_format import FloatFormat

_align_steps = 6


def order(pipeline: StepPipeline, fmt: FloatFormat, a: data.View, b: data.View) -> StepValues:
    """Puts the operand of larger magnitude first; finds how far the other one is to be shifted right.

    Steps: ``compare_low`` (a cut there splits the comparison), ``compare``, ``order``, ``swap``.

    Returns
    -------
    StepValues
        `sign` and `exponent` of the result so far; `subtract`; the significands `large` and `small`, `small` with two
        bits more below; `lost`, what was shifted out; `shift`, the distance.
    """
    # One carry chain compares the magnitudes. Of equal magnitudes with different signs the positive one is
    # taken as the larger: the sign of x - x is then right without a look at the sum. So with a negative b, b must be
    # larger than a to come first, and with a positive one, equal is enough.
    magnitude_a, magnitude_b = Cat(a.fraction, a.exponent), Cat(b.fraction, b.exponent)
    half = len(magnitude_a) // 2 if pipeline.cut("compare_low") else 0
    # Both differences of the exponents, without a sign: the order will say which one counts.
    bits = fmt.exponent_bits
    v = pipeline.step(
        "compare_low", a=a, b=b,
        low=borrow(Cat(b.sign, magnitude_a[:half]), Cat(Const(1, 1), magnitude_b[:half])),
        a_minus_b=(a.exponent - b.exponent)[:bits], b_minus_a=(b.exponent - a.exponent)[:bits],
    )
    magnitude_a, magnitude_b = Cat(v.a.fraction, v.a.exponent), Cat(v.b.fraction, v.b.exponent)
    if half:
        less = borrow(Cat(Const(0, 1), magnitude_a[half:]), Cat(v.low, magnitude_b[half:]))
    else:
        less = borrow(Cat(v.b.sign, magnitude_a), Cat(Const(1, 1), magnitude_b))
    shift_bits = bits_for(fmt.significand_bits + 2)
    v = pipeline.step(
        "compare", v, "low", less=less, a_minus_b=v.a_minus_b[:shift_bits], b_minus_a=v.b_minus_a[:shift_bits],
        far_a=v.b_minus_a[shift_bits:].any(), far_b=v.a_minus_b[shift_bits:].any(),
        hidden_a=v.a.exponent.any(), hidden_b=v.b.exponent.any(),
    )

    # A subnormal has the exponent field 0 but the weight of 1: one less between it and a normal number. One less
    # than a - b is the complement of b - a, so that costs nothing.
    v = pipeline.step("order", v, closer=v.hidden_a ^ v.hidden_b)
    distance = [
        Mux(v.less, Mux(v.closer, ~a_less_b, b_less_a), Mux(v.closer, ~b_less_a, a_less_b))
        for a_less_b, b_less_a in zip(v.a_minus_b, v.b_minus_a, strict=True)
    ]
    # Shifts beyond the last sticky bit are as good as any that shifts everything out.
    far = Mux(v.less, v.far_a, v.far_b)
    beyond = _top_bits(len(distance), fmt.significand_bits + 2)
    fraction = Mux(v.less, v.b.fraction, v.a.fraction)
    exponent = Mux(v.less, v.b.exponent, v.a.exponent)
    hidden = Mux(v.less, v.hidden_b, v.hidden_a)
    return pipeline.step(
        "swap", v, "a b less hidden_a hidden_b a_minus_b b_minus_a far_a far_b closer",
        sign=Mux(v.less, v.b.sign, v.a.sign),
        subtract=v.a.sign ^ v.b.sign,
        exponent=Cat(exponent[0] | ~hidden, exponent[1:]),
        large=Cat(fraction, hidden),
        # Two bits below the last one: guard and round. Bits shifted out further leave only a mark in `lost`.
        small=Cat(Const(0, 2), Mux(v.less, Cat(v.a.fraction, v.hidden_a), Cat(v.b.fraction, v.hidden_b))),
        lost=Const(0, 1),
        shift=Cat(bit | far if index in beyond else bit for index, bit in enumerate(distance)),
    )


def _top_bits(n_bits: int, distance: int) -> set[int]:
    """The fewest top bits of a number that amount to at least `distance`."""
    chosen: set[int] = set()
    for index in reversed(range(n_bits)):
        if sum(1 << taken for taken in chosen) < distance:
            chosen.add(index)
    return chosen


def align(pipeline: StepPipeline, v: StepValues) -> StepValues:
    """Shifts the smaller operand right, long shifts first, and inverts it for a subtraction.

    Steps: ``align_0`` to ``align_5``.

    Returns
    -------
    StepValues
        As :func:`order`; `small` has a bit more below, the carry of the two's complement; `lost` is one bit; and
        `nan_if_special`: the sum is a NaN if the larger operand is a NaN or an infinity.
    """
    # The larger operand is a NaN if either is, and an infinity if either is and none is a NaN. Beside an
    # infinity, a distance of 0 means another infinity. Found in two steps, for it looks at every bit.
    new: dict[str, Value] = {
        "payload": Cat(part.any() for part in parts(v.large[:-1], 16)), "together": v.shift == 0,
    }
    for index, levels in enumerate(spread(len(v.shift), _align_steps)):
        small, lost = v.small, v.lost
        for level in levels:
            # Lost bits are gathered one level of four-input cells at a time: three bits with the select, earlier
            # findings four by four.
            shifted_out = small[:1 << level]
            found = [part.any() for part in parts(lost, 4)]
            lost = Cat(*found, *(v.shift[level] & part.any() for part in parts(shifted_out, 3)))
            small = Mux(v.shift[level], small[1 << level:], small)
        drop = ""
        if index == 2:
            new, drop = {"nan_if_special": v.payload.any() | (v.subtract & v.together)}, "payload together"
        if index == _align_steps - 1:
            # The carry of the two's complement comes in below, unless lost bits have borrowed it.
            lost = lost.any()
            small = Cat(v.subtract & ~lost, (bit ^ v.subtract for bit in small))
        v = pipeline.step(f"align_{index}", v, drop, small=small, lost=lost, **new)
        new = {}
    return v
