"""Where a slice of blocks lies: in the message, and in the intermediate result of a pulse."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.cou.shapes import CouShapes
from rtl.kit.step_pipeline import StepPipeline, StepValues

CUTS = ("clip", "locate")
"""Steps that end in registers."""


def measured_layout(shapes: CouShapes) -> data.StructLayout:
    """A slice of a pulse: where it begins in the intermediate result, and its bytes there; where its first piece begins
    in the message; pieces of full size, and the bytes of the one behind them, 0 if there is none."""
    return data.StructLayout({
        "position": shapes.result_bytes, "size": shapes.result_bytes, "start": 32, "n_pieces": shapes.block,
        "last_bytes": shapes.bytes,
    })


class SliceMeter(wiring.Component):
    """Multiplies numbers of blocks with sizes.

    A pulse takes R bytes of each of the F full blocks and r of the block behind them; in the intermediate result these
    pieces lie one after the other. So what comes before block b are min(b, F) R bytes, and r more if b > F.

    Timing: the outputs are valid when `done`, which comes two cycles (one for each of :data:`CUTS`) after one for every
    two bits of a block number and lasts while `run` does; the inputs have to stay.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.

    Members
    -------
    run : ``In(1)``
        Measure; low in between.
    first, count : ``In``
        The slice; `count` 0 is all blocks from 0 on.
    block_count, n_full, block_bytes, tail_bytes : ``In``
        Of the operation.
    offset, bytes, pulse_bytes : ``In``
        Offset of the pulse in each block; its bytes of a full one; its bytes of any at the most.
    done : ``Out(1)``
        Valid.
    o : ``Out(measured_layout)``
        The slice.
    """

    def __init__(self, *, shapes: CouShapes):
        self.shapes = shapes
        super().__init__({
            "run": In(1), "first": In(shapes.block), "count": In(shapes.block),
            "block_count": In(shapes.block), "n_full": In(shapes.block), "block_bytes": In(32), "tail_bytes": In(32),
            "offset": In(32), "bytes": In(shapes.bytes), "pulse_bytes": In(16),
            "done": Out(1), "o": Out(measured_layout(shapes)),
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
            into.position.eq(self.o.position), into.size.eq(self.o.size), into.start.eq(self.o.start),
            pieces.count.eq(self.o.n_pieces), pieces.bytes.eq(self.bytes),
            pieces.last_bytes.eq(self.o.last_bytes), pieces.stride.eq(self.block_bytes),
        ]

    def elaborate(self, platform):
        m = Module()
        # The inputs stay, so what follows from them may stand in registers from the second cycle on.
        pipeline = StepPipeline(m, cuts=CUTS, stays=True)
        v = pipeline.run(None, ("reach", self._reach), ("clip", self._clip))
        v = self._multiply(m, v, begin=pipeline.cycles())
        v = pipeline.run(v, ("locate", self._locate))
        pipeline.finish()
        # Once it is known it stays, so a register may say so.
        m.d.sync += self.done.eq(v.complete & pipeline.follow(v.complete, "locate", name="summed"))
        m.d.comb += [
            self.o.position.eq(v.position), self.o.size.eq(v.end_position - v.position),
            self.o.start.eq(v.start + self.offset),
            self.o.n_pieces.eq(v.high - v.low),
            self.o.last_bytes.eq(Mux(~v.begins_behind & v.ends_behind, v.rest, 0)),
        ]
        return m

    def _reach(self, v: StepValues) -> dict:
        """Where the slice ends, and what the offset leaves of the block behind the full ones."""
        return {
            "end": Mux(self.count == 0, self.block_count, self.first + self.count)[:self.shapes.block],
            "has_rest": self.tail_bytes > self.offset, "past": (self.tail_bytes - self.offset)[:32],
        }

    def _clip(self, v: StepValues) -> dict:
        """The full blocks before the slice and before its end, and what a pulse takes of the block behind them."""
        rest = Mux(v.has_rest, Mux(v.past > self.pulse_bytes, self.pulse_bytes, v.past), 0)
        return {
            "low": Mux(self.first < self.n_full, self.first, self.n_full),
            "high": Mux(v.end < self.n_full, v.end, self.n_full),
            "rest": rest[:self.shapes.bytes],
            "begins_behind": self.first > self.n_full, "ends_behind": v.end > self.n_full,
        }

    def _multiply(self, m: Module, v: StepValues, *, begin: int) -> StepValues:
        """Adds `start`, and what lies `before` and `behind`: the products, two bits of each factor a cycle, the highest
        first. The factors are there in cycle `begin`. `complete` once the products are.

        A loop is no row of steps: what stands in its registers is the sum so far.
        """
        shapes = self.shapes
        n_digits = (shapes.block + 1) // 2
        n_cycles = begin + n_digits
        cycle = Signal(range(n_cycles + 1))
        start, complete = Signal(32), Signal()
        before, behind = Signal(shapes.result_bytes), Signal(shapes.result_bytes)
        with m.If(~self.run):
            m.d.sync += [cycle.eq(0), start.eq(0), before.eq(0), behind.eq(0)]
        with m.Elif(cycle != n_cycles):
            m.d.sync += cycle.eq(cycle + 1)
            for total, factor, size in (
                (start, self.first, self.block_bytes), (before, v.low, self.bytes), (behind, v.high, self.bytes)
            ):
                # Whole digits, and zeros before them while the factor is not there yet.
                padded = Cat(factor, Const(0, 2 * n_digits - shapes.block))
                digits = [Const(0, 2)] * begin + [padded[2 * k:2 * k + 2] for k in reversed(range(n_digits))]
                digit = Array(digits)[cycle]
                m.d.sync += total.eq((total << 2) + Mux(digit[0], size, 0) + Mux(digit[1], size << 1, 0))
        m.d.comb += complete.eq(self.run & (cycle == n_cycles))
        return StepValues(**vars(v), start=start, before=before, behind=behind, complete=complete)

    def _locate(self, v: StepValues) -> dict:
        """Where the slice begins and ends in the intermediate result."""
        return {
            "position": (v.before + Mux(v.begins_behind, v.rest, 0))[:self.shapes.result_bytes],
            "end_position": (v.behind + Mux(v.ends_behind, v.rest, 0))[:self.shapes.result_bytes],
        }
