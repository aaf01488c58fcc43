"""Gives valid bits to a pipelined unit that has none."""

from amaranth import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.reduce.float_multiply import FloatMultiply


class ValidBeside(wiring.Component):
    """A unit of fixed depth, and beside it the valid bits of its pairs; the ports are those of the adder.

    Parameters
    ----------
    unit : FloatMultiply
        Has `i_a`, `i_b`, `o`, `format` and `cycles`.

    Members
    -------
    i_valid : ``In(1)``, i_a, i_b : ``In(format.width)``
        Pairs.
    o_valid : ``Out(1)``, o : ``Out(format.width)``
        Results, `cycles` later.
    """

    def __init__(self, unit: FloatMultiply):
        self.unit = unit
        width = unit.format.width
        super().__init__({"i_valid": In(1), "i_a": In(width), "i_b": In(width), "o_valid": Out(1), "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self.unit
        valid: Value = self.i_valid
        for stage in range(unit.cycles):
            m.d.sync += (after := Signal(name=f"valid_{stage}")).eq(valid)
            valid = after
        m.d.comb += [unit.i_a.eq(self.i_a), unit.i_b.eq(self.i_b), self.o.eq(unit.o), self.o_valid.eq(valid)]
        return m
