"""Functions of a lane that do not round: operands passed on, minima and maxima, integer sums, bitwise operators.

Picture and reasons: ``docs/reduce.md``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.reduce.bits import borrow
from rtl.reduce.float_format import FLOAT32, FLOAT64

CYCLES = 3
"""Depth of a :class:`DirectLane`."""

_half = 32

Control = data.StructLayout({
    "halves": 1, "floating": 1, "signed": 1, "index": 1, "order": 1, "greatest": 1, "pass_b": 1, "sum": 1, "both": 1,
    "either": 1,
})
"""Function of a lane. `halves`: two elements of 32 bits. `floating`, `signed`: how elements compare. `index`: the index
of a MINLOC or MAXLOC. `order`: the first of the operands, or the last if `greatest`. Else: `pass_b`, `sum`, a mask of
the bitwise operators (`both`: where both are 1, `either`: where one is), or the first operand if nothing is set."""

Order = data.StructLayout({"b_first": 1, "equal": 1})
"""How the doubles of a MINLOC or MAXLOC compare: the second operand comes first, or they are equal."""


class DirectLane(wiring.Component):
    """64 bits of two operands, three cycles deep. Takes operands in every cycle; there is no stall.

    A float that comes from `order` is the canonical NaN if an operand is a NaN; -0 comes before +0. An index
    goes with the double that it belongs to (`i_order`): with equal doubles it is the lower one, and above it are zeros.

    Parameters
    ----------
    arithmetic : bool
        There are integers: sums and bitwise operators.

    Members
    -------
    i_a, i_b, i_control : In
        Operands, and what to do.
    o : ``Out(64)``
        Result, three cycles later.
    o_order : ``Out(Order)``
        How the operands compare as doubles, two cycles later.
    i_order : ``In(Order)``
        The same of the double that an index belongs to; read two cycles after the index.
    """

    i_a: In(64)
    i_b: In(64)
    i_control: In(Control)
    o: Out(64)
    o_order: Out(Order)
    i_order: In(Order)

    def __init__(self, *, arithmetic: bool = True):
        if not isinstance(arithmetic, bool):
            raise TypeError(f"arithmetic must be a bool, not {arithmetic!r}")
        self.arithmetic = arithmetic
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        # Cycle 1: what every half says of itself; the lower half of the sum.
        control = self.i_control
        a, b = (self._facts(m, name, bits) for name, bits in (("a", self.i_a), ("b", self.i_b)))
        c = self._registered(m, "control_1", control.as_value(), Control)
        if self.arithmetic:
            low_sum = self._registered(m, "low_sum", self.i_a[:_half] + self.i_b[:_half])

        # Cycle 2: two comparisons of 32 bits make one of 64, of what compares like positive numbers.
        (a_low, b_low), (a_high, b_high) = ((a[half], b[half]) for half in ("low_turned", "high_turned"))
        less_low, same_low = borrow(a_low, b_low), a_low == b_low
        less_high, same_high = borrow(a_high, b_high), a_high == b_high
        a_bits, b_bits = (
            Cat(x["low_turned"] ^ x["turn_low"], x["high_turned"] ^ x["turn_high"]) for x in (a, b)
        )
        less = less_high | (same_high & less_low)
        swap_low = Mux(c.halves, Mux(c.greatest, less_low, ~less_low & ~same_low),
                       Mux(c.greatest, less, ~less & ~(same_high & same_low)))
        swap_high = Mux(c.halves, Mux(c.greatest, less_high, ~less_high & ~same_high), swap_low)
        nan_a, nan_b = (x["one"] & (x["rest"] | x["low"]) for x in (a, b))
        nan_low = (a["nan_low"] | b["nan_low"]) & c.halves
        nan_high = Mux(c.halves, a["nan_high"] | b["nan_high"], nan_a | nan_b)
        zeros = a["zero"] & b["zero"]
        # NaNs come before all numbers and are equal, and so are the two zeros.
        m.d.sync += [
            self.o_order.b_first.eq(Mux(nan_a | nan_b, ~nan_a, swap_high & ~zeros)),
            self.o_order.equal.eq(Mux(nan_a | nan_b, nan_a & nan_b, zeros | (same_high & same_low))),
        ]
        direct = a_bits
        if self.arithmetic:
            high_sum = (a_bits[_half:] + b_bits[_half:] + (low_sum[_half] & ~c.halves))[:_half]
            bitwise = Cat((x & y & c.both) | ((x ^ y) & c.either) for x, y in zip(a_bits, b_bits, strict=True))
            direct = Mux(c.sum, Cat(low_sum[:_half], high_sum), Mux(c.both | c.either, bitwise, a_bits))
        first = self._registered(m, "first", direct)
        second = self._registered(m, "second", b_bits)
        take_low = self._registered(m, "take_low", c.pass_b | (c.order & swap_low))
        take_high = self._registered(m, "take_high", c.pass_b | (c.order & swap_high))
        ordered = c.order & c.floating
        no_low = self._registered(m, "no_low", ordered & nan_low)
        no_high = self._registered(m, "no_high", ordered & nan_high)
        no_whole = self._registered(m, "no_whole", ordered & ~c.halves & nan_high)
        index = self._registered(m, "index", c.index)

        # Cycle 3: one of the two, or a NaN. An index follows its double.
        order = self.i_order
        take = Mux(index, order.b_first | (order.equal & take_low), take_low)
        low = Mux(no_low, FLOAT32.canonical_nan, Mux(take, second[:_half], first[:_half]))
        high = Mux(take_high, second[_half:], first[_half:])
        nan = Mux(no_whole, FLOAT64.canonical_nan >> _half, FLOAT32.canonical_nan)
        m.d.comb += self.o.eq(self._registered(m, "result", Cat(
            (bit & ~no_whole for bit in low), (bit & ~index for bit in Mux(no_high, nan, high)),
        )))
        return m

    @staticmethod
    def _registered(m, name, value, shape=None):
        register = Signal(len(value) if shape is None else shape, name=name, reset_less=True)
        m.d.sync += register.eq(value)
        return register

    def _facts(self, m, name, bits):
        """Registers what is known of one operand by itself."""
        control = self.i_control
        low, high = bits[:_half], bits[_half:]

        def nan(half):
            fraction = FLOAT32.fraction_bits
            return half[fraction:-1].all() & half[:fraction].any()

        # Turned upside down, a negative number compares like a positive one: all bits but the sign are turned over in
        # negative floats; the sign itself in all that is signed.
        negative_low = control.floating & Mux(control.halves, low[-1], high[-1])
        negative_high = control.floating & high[-1]
        sign = control.signed | control.floating
        above = FLOAT64.fraction_bits - _half
        turn_low = Cat(negative_low.replicate(_half - 1), Mux(control.halves, sign, negative_low))
        turn_high = Cat(negative_high.replicate(_half - 1), sign)
        facts = {
            "turn_low": turn_low, "low_turned": low ^ turn_low, "turn_high": turn_high, "high_turned": high ^ turn_high,
            "one": high[above:-1].all(), "rest": high[:above].any(), "low": low.any(),
            "nan_low": nan(low), "nan_high": nan(high),
            "zero": ~(high[:-1].any() | low.any()),
        }
        return {key: self._registered(m, f"{name}_{key}", value) for key, value in facts.items()}
