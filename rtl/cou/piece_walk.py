"""Goes through the pieces of a slice, one after the other."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.config import Config
from rtl.cou.command import CouShapes


class PieceWalk(wiring.Component):
    """Counts pieces: `count` of `bytes`, and one of `last_bytes` behind them if that is not 0.

    Timing: the outputs depend on `pieces` combinationally; the piece changes in the cycle after `advance`.

    Members
    -------
    pieces : ``In(pieces)``
        Stays the same from the first piece to the last one.
    advance : ``In(1)``
        Goes on to the next piece; after the last one to the first one of what comes then.
    size, offset : ``Out``
        Of this piece; `offset` from the first one.
    next_size, next_offset : ``Out``
        Of the piece behind it, if this is not the last one.
    last : ``Out(1)``
        No piece comes behind this one.
    """

    def __init__(self, config: Config):
        self.shapes = shapes = CouShapes(config)
        super().__init__({
            "pieces": In(shapes.pieces), "advance": In(1),
            "size": Out(shapes.bytes), "offset": Out(32),
            "next_size": Out(shapes.bytes), "next_offset": Out(32),
            "last": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        pieces = self.pieces
        number, behind = Signal(self.shapes.block), Signal(self.shapes.block)
        m.d.comb += [
            behind.eq(number + 1),
            self.size.eq(Mux(number < pieces.count, pieces.bytes, pieces.last_bytes)),
            self.next_size.eq(Mux(behind < pieces.count, pieces.bytes, pieces.last_bytes)),
            self.next_offset.eq(self.offset + pieces.stride),
            self.last.eq((number >= pieces.count) | (behind == pieces.count) & (pieces.last_bytes == 0)),
        ]
        with m.If(self.advance):
            m.d.sync += [number.eq(Mux(self.last, 0, behind)), self.offset.eq(Mux(self.last, 0, self.next_offset))]
        return m
