"""Where a slice of blocks lies: in the message, and in the intermediate result of a pulse."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.config import Config
from rtl.cou.command import CouShapes


class SliceMeter(wiring.Component):
    """Multiplies numbers of blocks with sizes.

    A pulse takes R bytes of each of the F full blocks and r of the block behind them; in the intermediate result these
    pieces lie one after the other. So what comes before block b are min(b, F) R bytes, and r more if b > F.

    Timing: the outputs are valid when `done`, which comes two cycles after one for every two bits of a block number and
    lasts while `run` does; the inputs have to stay.

    Members
    -------
    run : ``In(1)``
        Measure; low in between.
    first, count : ``In``
        The slice; `count` 0 is all blocks from 0 on.
    block_count, n_full, block_bytes, tail_bytes : ``In``
        Of the operation.
    offset, bytes, pulse_bytes : ``In``
        Of the pulse in each block; what it takes of a full one; what it takes at the most.
    done : ``Out(1)``
        Valid.
    position, size : ``Out``
        Of the slice in the intermediate result.
    start : ``Out(32)``
        Of its first piece in the message.
    n_pieces, last_bytes : ``Out``
        Pieces of `bytes`, and what stands behind them, 0 if nothing.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        super().__init__({
            "run": In(1), "first": In(shapes.block), "count": In(shapes.block),
            "block_count": In(shapes.block), "n_full": In(shapes.block), "block_bytes": In(32), "tail_bytes": In(32),
            "offset": In(32), "bytes": In(shapes.bytes), "pulse_bytes": In(16),
            "done": Out(1), "position": Out(shapes.result_bytes), "size": Out(shapes.result_bytes), "start": Out(32),
            "n_pieces": Out(shapes.block), "last_bytes": Out(shapes.bytes),
        })

    def measures(self, progress, desc, operation) -> list:
        """Statements that have the slice of a descriptor measured; all blocks while they have to be cleared."""
        blocks = operation.blocks
        return [
            self.first.eq(Mux(progress.clear, 0, desc.slice_first)),
            self.count.eq(Mux(progress.clear, 0, desc.slice_count)),
            self.block_count.eq(blocks.count), self.n_full.eq(blocks.n_full), self.block_bytes.eq(blocks.bytes),
            self.tail_bytes.eq(blocks.tail_bytes), self.offset.eq(progress.offset), self.bytes.eq(progress.bytes),
            self.pulse_bytes.eq(operation.pulse_bytes),
        ]

    def notes(self, into) -> list:
        """Statements that note what has been measured."""
        pieces = into.pieces
        return [
            into.position.eq(self.position), into.size.eq(self.size), into.start.eq(self.start),
            pieces.count.eq(self.n_pieces), pieces.bytes.eq(self.bytes),
            pieces.last_bytes.eq(self.last_bytes), pieces.stride.eq(self.block_bytes),
        ]

    def elaborate(self, platform):
        m = Module()
        shapes = self.shapes
        end, low, high = (Signal(shapes.block, name=name) for name in ("end", "low", "high"))
        past = Signal(32)
        rest = Signal(shapes.bytes)
        left = Signal(shapes.bytes)
        begins_behind, ends_behind = Signal(), Signal()
        m.d.comb += [
            end.eq(Mux(self.count == 0, self.block_count, self.first + self.count)),
            past.eq(self.tail_bytes - self.offset),
        ]
        # Of the block behind the full ones.
        with m.If(self.tail_bytes > self.offset):
            m.d.comb += left.eq(Mux(past > self.pulse_bytes, self.pulse_bytes, past))
        # The inputs stay, so what follows from them may stand in registers from the second cycle on.
        m.d.sync += [
            low.eq(Mux(self.first < self.n_full, self.first, self.n_full)),
            high.eq(Mux(end < self.n_full, end, self.n_full)),
            rest.eq(left), begins_behind.eq(self.first > self.n_full), ends_behind.eq(end > self.n_full),
        ]

        # Two bits of each factor a cycle, the highest first.
        n_digits = (shapes.block + 1) // 2
        n_steps = n_digits + 1
        step = Signal(range(n_steps + 1))
        start = Signal(32)
        before, behind = Signal(shapes.result_bytes), Signal(shapes.result_bytes)
        with m.If(~self.run):
            m.d.sync += [step.eq(0), start.eq(0), before.eq(0), behind.eq(0)]
        with m.Elif(step != n_steps):
            m.d.sync += step.eq(step + 1)
            for total, factor, size in (
                (start, self.first, self.block_bytes), (before, low, self.bytes), (behind, high, self.bytes)
            ):
                # Whole digits, and a zero before them while the factor is not there yet.
                padded = Cat(factor, Const(0, 2 * n_digits - shapes.block))
                digits = [Const(0, 2)] + [padded[2 * k:2 * k + 2] for k in reversed(range(n_digits))]
                digit = Array(digits)[step]
                m.d.sync += total.eq((total << 2) + Mux(digit[0], size, 0) + Mux(digit[1], size << 1, 0))
        complete, summed = Signal(), Signal()
        end_position = Signal(shapes.result_bytes)
        m.d.sync += [
            summed.eq(complete), self.position.eq(before + Mux(begins_behind, rest, 0)),
            end_position.eq(behind + Mux(ends_behind, rest, 0)),
        ]
        m.d.comb += [
            complete.eq(self.run & (step == n_steps)), self.done.eq(complete & summed),
            self.size.eq(end_position - self.position),
            self.start.eq(start + self.offset),
            self.n_pieces.eq(high - low),
            self.last_bytes.eq(Mux(~begins_behind & ends_behind, rest, 0)),
        ]
        return m
