"""Writes the pieces of a slice to where they belong in host memory."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.cou.byte_memory import rotate_up
from rtl.cou.piece_walk import PieceWalk
from rtl.cou.shapes import CouShapes
from rtl.interface import WriteSignature
from rtl.kit.queue import stream_queue


class PieceWriter(wiring.Component):
    """Cuts a run of bytes into pieces, each with an address of its own that need not be that of a flit.

    Within a piece all bytes move by the same number of lanes: beats are rotated by that number, and a beat of the
    piece consists of the rest of one beat and the beginning of the next.

    Timing: one beat per cycle. The next piece of a run can follow two cycles after a piece has begun, the next run
    three cycles after its last piece has.
    ``i_beat.ready`` depends on ``write.data.ready`` combinationally.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.

    Members
    -------
    i : ``In(stream.Signature({job, addr, pieces}))``
        The next run, at least a byte.
    i_beat : ``In(stream.Signature(data_width))``
        The run. The beat with its last byte is taken whole.
    o_written : ``Out(stream.Signature({job, error}))``
        Host memory has taken a run, in order.
    write : ``Out(WriteSignature(data_width))``
        Host memory.
    """

    #: Pieces that may be waiting for their acknowledgement.
    MAX_WRITES = 16

    def __init__(self, *, shapes: CouShapes):
        self.shapes = shapes
        width = shapes.data_width
        self.run = data.StructLayout({"job": shapes.job, "addr": shapes.address, "pieces": shapes.pieces})
        counts = range(shapes.beats_per_context + 2)
        # Beats still to be taken and to be made, and of each whether the next one is the last: that is found out with
        # the beat before it. `ahead`: the next one taken makes none. `alone`: the piece lies in one beat of the run.
        # `used_up`: with the piece's last beat nothing more is to be done.
        self.piece = data.StructLayout({
            "to_take": counts, "to_make": counts, "turn": shapes.flit_log2,
            "last_taken": 1, "last_made": 1, "ahead": 1, "alone": 1, "used_up": 1,
        })
        super().__init__({
            "i": In(stream.Signature(self.run)),
            "i_beat": In(stream.Signature(width)),
            "o_written": Out(stream.Signature(shapes.written)),
            "write": Out(WriteSignature(width)),
        })

    def elaborate(self, platform):
        m = Module()
        run = Signal(self.run)
        announcing, dividing = Signal(), Signal()
        m.d.comb += self.i.ready.eq(~announcing & ~dividing)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [run.eq(self.i.payload), announcing.eq(1), dividing.eq(1)]
        self._announce(m, run, announcing)
        pieces = stream.Signature(self.piece).create(path=("pieces",))
        self._divide(m, run, dividing, pieces)
        self._move(m, pieces)
        return m

    def _announce(self, m: Module, run, announcing):
        """Requests and their acknowledgements, which come in order: a queue keeps their jobs."""
        m.submodules.requested = requested = PieceWalk(shapes=self.shapes)
        waiting = data.StructLayout({"job": self.shapes.job, "last": 1})
        m.submodules.unacknowledged = unacknowledged = stream_queue(shape=waiting, depth=self.MAX_WRITES)
        request, done, report = self.write.request, self.write.done, self.o_written
        m.d.comb += [
            requested.pieces.eq(run.pieces),
            request.valid.eq(announcing & unacknowledged.i.ready),
            request.payload.addr.eq((run.addr + requested.offset)[: self.shapes.address]),
            request.payload.bytes.eq(requested.size),
            requested.advance.eq(request.valid & request.ready),
            unacknowledged.i.valid.eq(announcing & request.ready),
            unacknowledged.i.payload.job.eq(run.job), unacknowledged.i.payload.last.eq(requested.last),
        ]
        with m.If(requested.advance & requested.last):
            m.d.sync += announcing.eq(0)
        # A run has failed if any of its pieces has.
        failed = Signal()
        last = unacknowledged.o.payload.last
        m.d.comb += [
            report.payload.job.eq(unacknowledged.o.payload.job), report.payload.error.eq(failed | done.payload.error),
            report.valid.eq(done.valid & unacknowledged.o.valid & last),
            done.ready.eq(unacknowledged.o.valid & (report.ready | ~last)),
            unacknowledged.o.ready.eq(done.valid & (report.ready | ~last)),
        ]
        with m.If(done.valid & done.ready):
            m.d.sync += failed.eq(~last & (failed | done.payload.error))

    def _divide(self, m: Module, run, dividing, pieces) -> None:
        """Works out the next piece while the one before is moved. It begins in lane `source` of the beat that is on
        offer then, and in lane `lane` of memory."""
        flit_bytes, lane_bits = self.shapes.flit_bytes, self.shapes.flit_log2
        piece, taken = pieces.payload, Signal()
        m.d.comb += taken.eq(pieces.valid & pieces.ready)
        m.submodules.walk = walk = PieceWalk(shapes=self.shapes)
        source, lane, last = Signal(lane_bits), Signal(lane_bits), Signal()
        taken_bytes, made_bytes = Signal(self.shapes.bytes + 1), Signal(self.shapes.bytes + 1)
        first_lane = (run.addr[:lane_bits] + walk.offset[:lane_bits])[:lane_bits]
        n_taken, n_made = ((count + (flit_bytes - 1))[lane_bits:] for count in (taken_bytes, made_bytes))
        m.d.comb += [
            walk.pieces.eq(run.pieces), walk.advance.eq(taken),
            piece.to_take.eq(n_taken), piece.to_make.eq(n_made), piece.turn.eq(lane - source),
            piece.last_taken.eq(n_taken == 1), piece.last_made.eq(n_made == 1), piece.alone.eq(n_taken == 1),
            piece.ahead.eq((lane < source) & (n_taken != 1)),
            piece.used_up.eq((taken_bytes[:lane_bits] == 0) | last),
        ]
        m.d.sync += [
            lane.eq(first_lane), taken_bytes.eq(source + walk.size), made_bytes.eq(first_lane + walk.size),
            last.eq(walk.last),
        ]
        # A cycle for the sums, one or more on offer.
        with m.If(taken):
            m.d.sync += [pieces.valid.eq(0), source.eq(Mux(last, 0, taken_bytes[:lane_bits]))]
            with m.If(last):
                m.d.sync += dividing.eq(0)
        with m.Elif(dividing):
            m.d.sync += pieces.valid.eq(1)

    def _move(self, m: Module, pieces) -> None:
        """Data. How many beats of each side a piece touches is known before the first one is moved; then they are only
        counted."""
        width, flit_bytes = self.shapes.data_width, self.shapes.flit_bytes
        beat, out = self.i_beat, self.write.data
        held, turned = Signal(width), Signal(width)
        busy, now = Signal(), Signal(self.piece)
        m.d.comb += turned.eq(rotate_up(beat.payload, now.turn, bits=8))

        # Lanes below `turn` come from the beat before, if the piece began in it. A beat of leftovers has none of the
        # beat on offer, which belongs to somebody else and may change.
        flush = Signal()
        for byte in range(flit_bytes):
            bits = slice(8 * byte, 8 * byte + 8)
            m.d.comb += out.payload.data[bits].eq(
                Mux((byte < now.turn) & (flush | ~now.alone), held[bits], Mux(flush, 0, turned[bits]))
            )

        moved, ends = Signal(), Signal()
        m.d.comb += [
            out.valid.eq(busy & (flush | (beat.valid & ~now.ahead))), out.payload.last.eq(now.last_made),
            moved.eq(busy & Mux(now.ahead, beat.valid, (flush | beat.valid) & out.ready)),
            beat.ready.eq(busy & (now.ahead | ~flush & out.ready & (~now.last_taken | now.used_up))),
            ends.eq(moved & now.last_made & ~now.ahead), pieces.ready.eq(~busy | ends),
        ]
        with m.If(moved):
            m.d.sync += [
                held.eq(turned), now.to_take.eq(now.to_take - ~flush), now.to_make.eq(now.to_make - ~now.ahead),
                now.ahead.eq(0), flush.eq(flush | now.last_taken),
                now.last_taken.eq((now.to_take == 2) & ~flush),
                now.last_made.eq(Mux(now.ahead, now.last_made, now.to_make == 2)),
            ]
        with m.If(ends):
            m.d.sync += busy.eq(0)
        with m.If(pieces.valid & pieces.ready):
            m.d.sync += [busy.eq(1), now.eq(pieces.payload), flush.eq(0)]
