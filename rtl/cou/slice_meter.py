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

    Timing: the outputs are valid when `done`, which comes after one cycle for every two bits of a block number and
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

    def elaborate(self, platform):
        m = Module()
        shapes = self.shapes
        end, low, high = (Signal(shapes.block, name=name) for name in ("end", "low", "high"))
        past = Signal(32)
        rest = Signal(shapes.bytes)
        m.d.comb += [
            end.eq(Mux(self.count == 0, self.block_count, self.first + self.count)),
            low.eq(Mux(self.first < self.n_full, self.first, self.n_full)),
            high.eq(Mux(end < self.n_full, end, self.n_full)),
            past.eq(self.tail_bytes - self.offset),
        ]
        # Of the block behind the full ones.
        with m.If(self.tail_bytes > self.offset):
            m.d.comb += rest.eq(Mux(past > self.pulse_bytes, self.pulse_bytes, past))

        # Two bits of each factor a cycle, the highest first.
        n_steps = (shapes.block + 1) // 2
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
                padded = Cat(factor, Const(0, 2 * n_steps - shapes.block))  # whole digits
                digit = Array(padded[2 * k:2 * k + 2] for k in reversed(range(n_steps)))[step]
                m.d.sync += total.eq((total << 2) + Mux(digit[0], size, 0) + Mux(digit[1], size << 1, 0))
        m.d.comb += [
            self.done.eq(self.run & (step == n_steps)),
            self.position.eq(before + Mux(self.first > self.n_full, rest, 0)),
            self.size.eq(behind + Mux(end > self.n_full, rest, 0) - self.position),
            self.start.eq(start + self.offset),
            self.n_pieces.eq(high - low),
            self.last_bytes.eq(Mux((self.first <= self.n_full) & (end > self.n_full), rest, 0)),
        ]
        return m
