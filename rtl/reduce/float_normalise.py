"""Second half of a floating-point addition: the sum shifted to its leading one, and rounded.

Picture and reasons: ``docs/reduce.md``.
"""

from amaranth import Cat, Const, Mux, Value
from amaranth.utils import bits_for

from rtl.kit.step_pipeline import StepPipeline, StepValues
from rtl.reduce.bits import first, parts, ripple, shifted_left, spread
from rtl.reduce.float_format import FloatFormat

_group_bits = 3
_group = 1 << _group_bits
_normal_steps = 3


def exponent_flags(fmt: FloatFormat, exponent: Value) -> dict[str, Value]:
    """Flags of the exponent that normalisation needs, computed while the significands are still being added.

    Returns
    -------
    dict of str to Value
        `limits`: for each group of the sum, whether normalisation has to end in it for the exponent to stay at 1;
        `special`: infinity or NaN; `last`: the largest exponent of finite numbers.
    """
    n_groups = -(-(fmt.significand_bits + 2) // _group)
    return {
        "limits": Cat(exponent[_group_bits:] == index for index in range(n_groups)),
        "special": exponent.all(),
        "last": exponent == fmt.max_exponent - 1,
    }


def normalise_coarse(pipeline: StepPipeline, fmt: FloatFormat, v: StepValues) -> StepValues:
    """Shifts left by whole groups of bits, but never beyond the exponent of subnormals.

    Steps: ``flags``, ``coarse``, ``normal_0`` to ``normal_2``.

    Parameters
    ----------
    v : StepValues
        `sum` with round and sticky bit below, `exponent`, `sign`, `nan_if_special`, and :func:`exponent_flags`.
    """
    # The word is the sum but for round and sticky bit: carry, hidden bit, fraction, guard. The leading one
    # of the sum is never below it: when more than one bit is cancelled, those two bits are 0.
    sticky, round_bit, word = v.sum[0], v.sum[1], v.sum[2:]
    carry, normal = word[-1], word[-2]
    groups = [word[max(0, end - _group):end] for end in range(len(word), 0, -_group)]

    # A sentinel stands where the shift has to end for the exponent to stay at 1, and is found like a leading one.
    index_bits = bits_for(len(groups) - 1)
    v = pipeline.step(
        "flags", v, "sum nan_if_special limits last",
        word=word,
        found=Cat(part.any() | limit for part, limit in zip(groups, v.limits, strict=True)),
        fine_limit=v.exponent[:_group_bits],
        coarse_limit=v.exponent[_group_bits:][:index_bits], limited=v.limits.any(),
        # To nearest even, for each position that the last bit can have: a one to be added there.
        up=Cat(
            ~carry & ~normal & round_bit & (word[0] | sticky),
            ~carry & normal & word[0] & (word[1] | round_bit | sticky),
            carry & word[1] & (word[2] | word[0] | round_bit | sticky),
        ),
        special=v.special | (carry & v.last),
        nan=v.special & v.nan_if_special,
    )
    v = pipeline.step("coarse", v, "found", coarse=first(v.found)[:index_bits])

    # The sentinel counts in its own group alone. The exponent falls by what is shifted; 6 more are
    # taken off and added again by the fine step, which saves it a carry.
    bits = fmt.exponent_bits
    shifted = Cat(Const(_group - 3, _group_bits), v.coarse, Const(0, bits))[:bits]
    new = {"at_limit": v.limited & (v.coarse == v.coarse_limit), "exponent": (v.exponent + ~shifted)[:bits]}
    drop = "coarse_limit limited"
    for index, levels in enumerate(spread(index_bits, _normal_steps)):
        if index == 2:
            # Ones from the position of the sentinel up are a normal number's; below it they are a subnormal's.
            new = {
                "sentinel": Cat(v.at_limit & (v.fine_limit == k) for k in range(_group)),
                "allowed": Cat(Const(1, 1), *(~v.at_limit | (v.fine_limit >= k) for k in range(1, _group))),
            }
            drop = "fine_limit at_limit"
        word = v.word
        for level in levels:
            word = Mux(v.coarse[level], shifted_left(word, _group << level), word)
        v = pipeline.step(f"normal_{index}", v, drop, word=word, **new)
        new, drop = {}, ""
    return v


def round_to_even(pipeline: StepPipeline, v: StepValues) -> StepValues:
    """Rounds, and at the same time finds the shift that is left.

    Only a sum that is shifted by at most one bit is inexact, so its rounding can come before the shift.
    Steps: ``fine_low`` (a cut there splits the addition), ``fine``.
    """
    half = max(len(v.up), len(v.word) // 2) if pipeline.cut("fine_low") else len(v.word)
    top = Cat(reversed(v.word), Const(0, _group))[:_group]
    v = pipeline.step(
        "fine_low", v, "up coarse sentinel allowed",
        low=v.word[:half] + v.up,
        leading=top | v.sentinel, normal=Cat(part.any() for part in parts(top & v.allowed, 2)),
    )
    rounded = Cat(v.low[:half], v.word[half:] + v.low[half])[:len(v.word)]
    high = v.exponent[_group_bits:]
    return pipeline.step(
        "fine", v, "leading low",
        word=rounded, unrounded=v.word[-2:], next_high=(high + 1)[:len(high)],
        fine=first(v.leading), normal=v.normal.any(),
    )


def normalise_fine(pipeline: StepPipeline, fmt: FloatFormat, v: StepValues) -> StepValues:
    """Shifts left within the group, makes the exponent, and puts infinities and NaNs in.

    Steps: ``shift_0`` to ``shift_2``.

    Returns
    -------
    StepValues
        `fraction`, `exponent` and `sign` of the result.
    """
    # Rounding that carries into a new leading bit leaves a fraction of 0, wherever it is cut from. The exponent
    # is cut where the shift can reach: its upper part is there in both versions.
    grown = ~v.unrounded[1] & (v.word[-1] | (v.word[-2] & ~v.unrounded[0]))
    low, carry = ripple(v.exponent[:_group_bits], ~v.fine, grown)
    new = {"exponent": Cat(low, Mux(carry, v.next_high, v.exponent[_group_bits:]))[:fmt.exponent_bits]}
    drop = "unrounded next_high"
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
