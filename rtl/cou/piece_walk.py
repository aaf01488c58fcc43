"""Goes through the pieces of a slice, one after the other."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.cou.shapes import CouShapes


class PieceWalk(wiring.Component):
    """Counts pieces: `count` of `bytes`, and one of `last_bytes` behind them if that is not 0.

    Timing: the outputs depend on `pieces` combinationally; the piece changes in the cycle after `advance`.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.

    Members
    -------
    pieces : ``In(pieces)``
        Stays the same from the first piece to the last one.
    advance : ``In(1)``
        Goes on to the next piece; after the last one to the first one of what comes then.
    size, offset : ``Out``
        Of this piece; `offset` from the first one.
    next_last : ``Out(1)``
        Of the piece behind it, if this is not the last one: none comes behind it.
    whole_then : ``Out(1)``
        Of the one behind that: it has `bytes`, not `last_bytes`.
    last : ``Out(1)``
        No piece comes behind this one.
    """

    def __init__(self, *, shapes: CouShapes):
        self.shapes = shapes
        super().__init__({
            "pieces": In(shapes.pieces), "advance": In(1),
            "size": Out(shapes.bytes), "offset": Out(32),
            "next_last": Out(1), "whole_then": Out(1),
            "last": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        pieces = self.pieces
        number, behind = Signal(self.shapes.block), Signal(self.shapes.block)
        none_over = pieces.last_bytes == 0
        m.d.comb += [
            behind.eq(number + 1),
            self.size.eq(Mux(number < pieces.count, pieces.bytes, pieces.last_bytes)),
            self.whole_then.eq(number + 2 < pieces.count),
            self.last.eq((number >= pieces.count) | (behind == pieces.count) & none_over),
            self.next_last.eq((behind >= pieces.count) | (number + 2 == pieces.count) & none_over),
        ]
        with m.If(self.advance):
            m.d.sync += [
                number.eq(Mux(self.last, 0, behind)), self.offset.eq(Mux(self.last, 0, self.offset + pieces.stride)),
            ]
        return m
