"""Floating-point units of a small format, against exact arithmetic in integers."""

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value

from testbench.formal.contract import Contract


class FloatContract(Contract):
    """``FloatAdd`` or ``FloatMultiply`` of ``rtl.reduce``: every pair of numbers.

    Numbers of a small format are integers, counted in the smallest subnormal, and so is every exact sum; a product is
    one in its square. IEEE 754-2019, sections 4.3.1 (rounding), 6.2 (NaN), 6.3 (signed zeros) and 7.4 (overflow) then
    are a few lines that have nothing in common with the units: no swap, no alignment, no guard or sticky bit.

    A pair comes in every cycle, and what it must give waits beside the unit. The units have no feedback: one
    full pass of the pipeline is all that there is to see.

    Parameters
    ----------
    operation : str
        ``add`` or ``multiply``.
    exponent_bits, fraction_bits : int
        The format.
    cycles : int
        Depth of the unit.
    """

    def __init__(self, *, operation: str, exponent_bits: int, fraction_bits: int, cycles: int):
        super().__init__()
        self.operation = operation
        self.exponent_bits = exponent_bits
        self.fraction_bits = fraction_bits
        self.cycles = cycles
        self.infinity = ((1 << exponent_bits) - 1) << fraction_bits

    def build(self, m: Module) -> None:
        from rtl.reduce.float_add import FloatAdd
        from rtl.reduce.float_format import FloatFormat
        from rtl.reduce.float_multiply import FloatMultiply

        fmt = FloatFormat(exponent_bits=self.exponent_bits, fraction_bits=self.fraction_bits)
        unit = {"add": FloatAdd, "multiply": FloatMultiply}[self.operation](format=fmt, cycles=self.cycles)
        m.submodules.unit = unit
        a, b = self.free(fmt.width, "a"), self.free(fmt.width, "b")
        m.d.comb += [unit.i_a.eq(a), unit.i_b.eq(b)]

        # Registers delay the expected result, and a flag that there is one, by the latency of the unit.
        expected = self._expected(m, a, b)
        ready: Value = Const(1, 1)
        for stage in range(self.cycles):
            after, is_ready = Signal(fmt.width, name=f"expected_{stage}"), Signal(name=f"ready_{stage}")
            m.d.sync += [after.eq(expected), is_ready.eq(ready)]
            expected, ready = after, is_ready
        self.check(~ready | (unit.o == expected))
        magnitude, sign = unit.o[:-1], unit.o[-1]
        if self.operation == "add":
            given = self.free(1, "given")
            m.d.comb += unit.i_valid.eq(given)
            valid: Value = given
            for stage in range(self.cycles):
                m.d.sync += (after := Signal(name=f"given_{stage}")).eq(valid)
                valid = after
            self.check(unit.o_valid == valid)
        self.reach(ready & (magnitude == 0) & sign, "a negative zero")
        self.reach(ready & (magnitude == 1), "the smallest subnormal")
        self.reach(ready & (magnitude == self.infinity) & sign, "minus infinity")
        self.reach(ready & (magnitude == self.infinity - 1), "the largest number")
        self.reach(ready & (magnitude > self.infinity), "a NaN")

    def _expected(self, m: Module, a: Value, b: Value) -> Value:
        width = 1 + self.exponent_bits + self.fraction_bits
        quiet_nan = self.infinity | 1 << (self.fraction_bits - 1)
        (value_a, infinite_a, nan_a), (value_b, infinite_b, nan_b) = self._number(a), self._number(b)
        result = Signal(width)
        if self.operation == "add":
            exact = Mux(a[-1], -value_a, value_a) + Mux(b[-1], -value_b, value_b)
            # A sum of zero is negative only if both are.
            sign = Mux(exact == 0, a[-1] & b[-1], exact < 0)
            rounded = self._rounded(Mux(exact < 0, -exact, exact), places=0)
            invalid = infinite_a & infinite_b & (a[-1] ^ b[-1])
            infinite_sign = Mux(infinite_a, a[-1], b[-1])
        else:
            sign = infinite_sign = a[-1] ^ b[-1]
            bias = (1 << (self.exponent_bits - 1)) - 1
            rounded = self._rounded(value_a * value_b, places=bias + self.fraction_bits - 1)
            zero_a, zero_b = (value_a == 0) & ~infinite_a, (value_b == 0) & ~infinite_b
            invalid = (infinite_a & zero_b) | (infinite_b & zero_a)
        m.d.comb += result.eq(Cat(rounded, sign))
        with m.If(nan_a | nan_b | invalid):
            m.d.comb += result.eq(quiet_nan)
        with m.Elif(infinite_a | infinite_b):
            m.d.comb += result.eq(Cat(Const(self.infinity, width - 1), infinite_sign))
        return result

    def _number(self, bits: Value) -> tuple[Value, Value, Value]:
        """The magnitude in smallest subnormals, and whether it is an infinity or a NaN."""
        fraction = bits[:self.fraction_bits]
        exponent = bits[self.fraction_bits:-1]
        normal = fraction + (1 << self.fraction_bits)
        values = [fraction, *(normal << shift for shift in range((1 << self.exponent_bits) - 2)), Const(0)]
        magnitude = bits[:-1]
        return Array(values)[exponent], magnitude == self.infinity, magnitude > self.infinity

    def _rounded(self, exact: Value, *, places: int) -> Value:
        """The bits of the number nearest to `exact` / 2**`places`, an even one of two, or infinity."""
        significand = self.fraction_bits + 1
        bits: Value = Const(0)
        # A number of so many bits gives up all but the significand's; none gives up fewer than `places`.
        for shift in range(places, max(places, len(exact) - significand) + 1):
            kept, rest, half = exact >> shift, exact[:shift], (1 << shift) >> 1
            up = Mux(rest == half, kept[0], rest > half) if shift else Const(0, 1)
            # Consecutive numbers have consecutive bits, so that rounding up may carry into the exponent.
            nearest = kept + ((shift - places) << self.fraction_bits) + up
            bits = nearest if shift == places else Mux(exact >> (shift + self.fraction_bits) != 0, nearest, bits)
        return Mux(bits > self.infinity, self.infinity, bits)[:self.exponent_bits + self.fraction_bits]
