"""Writes the pieces of a slice to where they belong in host memory."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.config import Config
from rtl.cou.byte_memory import rotate_up
from rtl.cou.command import CouShapes
from rtl.cou.piece_walk import PieceWalk
from rtl.interface import WriteSignature
from rtl.kit.fifo import StreamFifo


class PieceWriter(wiring.Component):
    """Cuts a run of bytes into pieces, each with an address of its own that need not be that of a flit.

    Within a piece all bytes move by the same number of lanes: beats are rotated by that number, and a beat of the
    piece consists of the rest of one beat and the beginning of the next.

    Timing: one beat per cycle within a piece, and two cycles between pieces.
    ``i_beat.ready`` depends on ``write.data.ready`` combinationally.

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
    moves : ``Out(1)``
        High if active in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    #: Pieces that may be waiting for their acknowledgement.
    MAX_WRITES = 16

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        width = config.datapath.data_width
        self.run = data.StructLayout({"job": shapes.job, "addr": shapes.address, "pieces": shapes.pieces})
        super().__init__({
            "moves": Out(1),
            "i": In(stream.Signature(self.run)),
            "i_beat": In(stream.Signature(width)),
            "o_written": Out(stream.Signature(shapes.written)),
            "write": Out(WriteSignature(width)),
        })

    def elaborate(self, platform):
        m = Module()
        run = Signal(self.run)
        announcing, moving = Signal(), Signal()
        m.d.comb += self.i.ready.eq(~announcing & ~moving)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [run.eq(self.i.payload), announcing.eq(1), moving.eq(1)]
        acknowledged = self._announce(m, run, announcing)
        moves = self._move(m, run, moving)
        m.d.sync += self.moves.eq(announcing | acknowledged | moves)
        return m

    def _announce(self, m: Module, run, announcing):
        """Requests and their acknowledgements, which come in order: a queue keeps their jobs."""
        m.submodules.asked = asked = PieceWalk(self.config)
        waiting = data.StructLayout({"job": self.shapes.job, "last": 1})
        m.submodules.unacknowledged = unacknowledged = StreamFifo(shape=waiting, depth=self.MAX_WRITES)
        request, done, report = self.write.request, self.write.done, self.o_written
        m.d.comb += [
            asked.pieces.eq(run.pieces),
            request.valid.eq(announcing & unacknowledged.i.ready),
            request.payload.addr.eq((run.addr + asked.offset)[: self.shapes.address]),
            request.payload.bytes.eq(asked.size),
            asked.advance.eq(request.valid & request.ready),
            unacknowledged.i.valid.eq(announcing & request.ready),
            unacknowledged.i.payload.job.eq(run.job), unacknowledged.i.payload.last.eq(asked.last),
        ]
        with m.If(asked.advance & asked.last):
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
        return unacknowledged.moves

    def _move(self, m: Module, run, moving):
        """Data. A piece begins in lane `source` of the beat on offer and in lane `lane` of memory. How many beats of
        each it touches is known before the first one is moved; then they are only counted."""
        width, flit_bytes = self.config.datapath.data_width, self.config.datapath.flit_bytes
        lane_bits = (flit_bytes - 1).bit_length()
        m.submodules.walk = walk = PieceWalk(self.config)
        beat, out = self.i_beat, self.write.data
        source, lane = Signal(lane_bits), Signal(lane_bits)
        places = Signal(lane_bits)
        held, turned = Signal(width), Signal(width)
        # Beats still to be taken and to be made. `ahead`: the next one taken makes none. `alone`: the piece lies in one
        # beat of the run. `used_up`: with the piece's last beat nothing more is to be done.
        counts = range(self.config.datapath.mtu // flit_bytes + 2)
        to_take, to_make = Signal(counts), Signal(counts)
        ahead, alone, used_up = (Signal(name=name) for name in ("ahead", "alone", "used_up"))
        m.d.comb += [
            walk.pieces.eq(run.pieces), turned.eq(rotate_up(beat.payload, places, bits=8)),
        ]
        # Lanes below `places` come from the beat before, if the piece began in it. A beat of leftovers has none of the
        # beat on offer, which belongs to somebody else and may change.
        flush = Signal()
        for byte in range(flit_bytes):
            bits = slice(8 * byte, 8 * byte + 8)
            m.d.comb += out.payload.data[bits].eq(
                Mux((byte < places) & (flush | ~alone), held[bits], Mux(flush, 0, turned[bits]))
            )

        # Of the piece that begins: where it ends in the beats on offer and in those of memory.
        taken_bytes, made_bytes = Signal(self.shapes.bytes + 1), Signal(self.shapes.bytes + 1)
        first_lane = (run.addr[:lane_bits] + walk.offset[:lane_bits])[:lane_bits]
        m.d.sync += [
            lane.eq(first_lane), taken_bytes.eq(source + walk.size), made_bytes.eq(first_lane + walk.size),
        ]
        # Registers: whether the next beat is the last one is found out with the beat before it.
        last_taken, last_made, last = Signal(), Signal(), Signal()
        m.d.sync += last.eq(walk.last)
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += source.eq(0)
                with m.If(moving):
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                m.next = "PIECE"
            with m.State("PIECE"):
                n_taken, n_made = (
                    (count + (flit_bytes - 1))[lane_bits:] for count in (taken_bytes, made_bytes)
                )
                m.d.sync += [
                    to_take.eq(n_taken), to_make.eq(n_made), flush.eq(0),
                    last_taken.eq(n_taken == 1), last_made.eq(n_made == 1), source.eq(taken_bytes[:lane_bits]),
                    places.eq(lane - source), alone.eq(n_taken == 1), ahead.eq((lane < source) & (n_taken != 1)),
                    used_up.eq((taken_bytes[:lane_bits] == 0) | last),
                ]
                m.next = "MOVE"
            with m.State("MOVE"):
                m.d.comb += [out.valid.eq(flush | (beat.valid & ~ahead)), out.payload.last.eq(last_made)]
                moved = Signal()
                with m.If(ahead):
                    m.d.comb += [beat.ready.eq(1), moved.eq(beat.valid)]
                with m.Else():
                    m.d.comb += moved.eq(out.valid & out.ready)
                    with m.If(~flush):
                        m.d.comb += beat.ready.eq(out.ready & (~last_taken | used_up))
                with m.If(moved):
                    m.d.sync += [
                        held.eq(turned), to_take.eq(to_take - ~flush), to_make.eq(to_make - ~ahead), ahead.eq(0),
                        flush.eq(flush | last_taken), last_taken.eq((to_take == 2) & ~flush),
                        last_made.eq(Mux(ahead, last_made, to_make == 2)),
                    ]
                    with m.If(last_made & ~ahead):
                        m.d.comb += walk.advance.eq(1)
                        m.next = "BEGIN"
                        with m.If(last):
                            m.d.sync += moving.eq(0)
                            m.next = "IDLE"
        return moving | ~fsm.ongoing("IDLE")
