"""Floating-point units of several depths side by side, on the same operands."""

from collections.abc import Iterable

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.reduce.float_add import FloatAdd
from rtl.reduce.float_format import FloatFormat
from rtl.reduce.float_multiply import FloatMultiply

UNITS = {"add": FloatAdd, "multiply": FloatMultiply}
"""The units by what they do."""


class FloatBank(wiring.Component):
    """One unit for each depth, so that one simulation checks all of them.

    Parameters
    ----------
    unit : str
        A key of :data:`UNITS`.
    format : FloatFormat
        Format of operands and results.
    depths : iterable of int
        Depths of the units.

    Members
    -------
    i_valid, i_a, i_b : In
        Operands of all units.
    o_valid_<depth>, o_<depth> : Out
        Result of one unit.
    """

    def __init__(self, *, unit: str, format: FloatFormat, depths: Iterable[int]):  # noqa: A002
        if unit not in UNITS:
            raise ValueError(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
        self.unit = unit
        self.format = format
        self.depths = tuple(depths)
        members = {"i_valid": In(1), "i_a": In(format.width), "i_b": In(format.width)}
        for depth in self.depths:
            members |= {f"o_valid_{depth}": Out(1), f"o_{depth}": Out(format.width)}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        # The multiplier has no valid bits of its own; these are what the adder's must agree with.
        valid = Signal(max(self.depths))
        m.d.sync += valid.eq(Cat(self.i_valid, valid))
        for depth in self.depths:
            m.submodules[f"unit_{depth}"] = unit = UNITS[self.unit](format=self.format, cycles=depth)
            m.d.comb += [
                unit.i_a.eq(self.i_a), unit.i_b.eq(self.i_b), getattr(self, f"o_{depth}").eq(unit.o),
                getattr(self, f"o_valid_{depth}").eq(unit.o_valid if self.unit == "add" else valid[depth - 1]),
            ]
            if self.unit == "add":
                m.d.comb += unit.i_valid.eq(self.i_valid)
        return m
