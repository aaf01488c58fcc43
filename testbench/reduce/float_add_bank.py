"""Adders of several depths side by side, on the same operands."""

from collections.abc import Iterable

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.reduce.float_add import FloatAdd
from rtl.reduce.float_format import FloatFormat


class FloatAddBank(wiring.Component):
    """One adder for each depth, so that one simulation checks all of them.

    Parameters
    ----------
    format : FloatFormat
        Format of operands and results.
    depths : iterable of int
        Depths of the adders.

    Members
    -------
    i_valid, i_a, i_b : In
        Operands of all adders.
    o_valid_<depth>, o_<depth> : Out
        Result of one adder.
    """

    def __init__(self, *, format: FloatFormat, depths: Iterable[int]):  # noqa: A002
        self.format = format
        self.depths = tuple(depths)
        members = {"i_valid": In(1), "i_a": In(format.width), "i_b": In(format.width)}
        for depth in self.depths:
            members |= {f"o_valid_{depth}": Out(1), f"o_{depth}": Out(format.width)}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for depth in self.depths:
            m.submodules[f"add_{depth}"] = add = FloatAdd(format=self.format, cycles=depth)
            m.d.comb += [
                add.i_valid.eq(self.i_valid),
                add.i_a.eq(self.i_a),
                add.i_b.eq(self.i_b),
                getattr(self, f"o_valid_{depth}").eq(add.o_valid),
                getattr(self, f"o_{depth}").eq(add.o),
            ]
        return m
