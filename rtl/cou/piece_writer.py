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

    Within a piece all bytes move by the same number of lanes. So the beats are turned by that, and a beat of the piece
    is made of what was left over from the last beat and what the next one brings.

    Timing: one beat per cycle within a piece, and one cycle between pieces. ``i_beat.ready`` depends on
    ``write.data.ready`` combinationally.

    Members
    -------
    i : ``In(stream.Signature({job, addr, pieces}))``
        What the next run is, at least a byte.
    i_beat : ``In(stream.Signature(data_width))``
        The run. The beat with its last byte is taken whole.
    o_written : ``Out(stream.Signature({job, error}))``
        Host memory has taken a run, in order.
    write : ``Out(WriteSignature(data_width))``
        Host memory.
    """

    #: Pieces that may be waiting for their acknowledgement.
    MAX_WRITES = 16

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        width = config.datapath.data_width
        self.run = data.StructLayout({"job": shapes.job, "addr": 64, "pieces": shapes.pieces})
        super().__init__({
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
        self._announce(m, run, announcing)
        self._move(m, run, moving)
        return m

    def _announce(self, m: Module, run, announcing):
        """Requests, and what becomes of them. Acknowledgements come in order: the queue knows whose they are."""
        m.submodules.asked = asked = PieceWalk(self.config)
        waiting = data.StructLayout({"job": self.shapes.job, "last": 1})
        m.submodules.unacknowledged = unacknowledged = StreamFifo(shape=waiting, depth=self.MAX_WRITES)
        request, done, told = self.write.request, self.write.done, self.o_written
        m.d.comb += [
            asked.pieces.eq(run.pieces),
            request.valid.eq(announcing & unacknowledged.i.ready),
            request.payload.addr.eq(run.addr + asked.offset), request.payload.bytes.eq(asked.size),
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
            told.payload.job.eq(unacknowledged.o.payload.job), told.payload.error.eq(failed | done.payload.error),
            told.valid.eq(done.valid & unacknowledged.o.valid & last),
            done.ready.eq(unacknowledged.o.valid & (told.ready | ~last)),
            unacknowledged.o.ready.eq(done.valid & (told.ready | ~last)),
        ]
        with m.If(done.valid & done.ready):
            m.d.sync += failed.eq(~last & (failed | done.payload.error))

    def _move(self, m: Module, run, moving):
        """Data. `left` bytes of the piece have not been moved; the next one of the run stands in lane `source` of the
        beat on offer and belongs into lane `lane` of the beat being made."""
        width, flit_bytes = self.config.datapath.data_width, self.config.datapath.flit_bytes
        lane_bits = (flit_bytes - 1).bit_length()
        m.submodules.walk = walk = PieceWalk(self.config)
        beat, out = self.i_beat, self.write.data
        source, lane = Signal(lane_bits), Signal(lane_bits)
        left = Signal(self.shapes.bytes)
        places = Signal(lane_bits)
        held, turned, merged = Signal(width), Signal(width), Signal(width)
        m.d.comb += [
            walk.pieces.eq(run.pieces), turned.eq(rotate_up(beat.payload, places, bits=8)), out.payload.data.eq(merged),
        ]
        # A beat of leftovers has none of the beat on offer, which belongs to somebody else and may change.
        flush = Signal()
        m.d.comb += flush.eq((left == 0) & (lane != 0))
        for byte in range(flit_bytes):
            bits = slice(8 * byte, 8 * byte + 8)
            m.d.comb += merged[bits].eq(Mux(byte < lane, held[bits], Mux(flush, 0, turned[bits])))

        # What the beat being made still needs, what there is, and what is left over for the next one.
        here = Signal(lane_bits + 1)
        need, more = Signal(lane_bits + 1), Signal(lane_bits + 1)
        after = Signal(self.shapes.bytes)
        full, spent, ends = (Signal(name=name) for name in ("full", "spent", "ends"))
        m.d.comb += [
            here.eq(flit_bytes - source),
            need.eq(Mux(left < flit_bytes - lane, left, flit_bytes - lane)),
            full.eq(need <= here),
            after.eq(left - need),
            more.eq(Mux(after < here - need, after, here - need)),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += source.eq(0)
                with m.If(moving):
                    m.next = "PIECE"
            with m.State("PIECE"):
                address = Signal(lane_bits)
                m.d.comb += address.eq(run.addr[:lane_bits] + walk.offset[:lane_bits])
                m.d.sync += [left.eq(walk.size), lane.eq(address), places.eq(address - source)]
                m.next = "MOVE"
            with m.State("MOVE"):
                m.d.comb += [
                    out.valid.eq(flush | (beat.valid & full)),
                    out.payload.last.eq(flush | (after == 0)),
                ]
                with m.If(flush):
                    m.d.comb += ends.eq(out.ready)
                with m.Elif(full):
                    # A beat is complete; what is left over of the one on offer begins the next.
                    moved = Signal(lane_bits + 2)
                    m.d.comb += [
                        moved.eq(source + need + more),
                        spent.eq(moved == flit_bytes), ends.eq(beat.valid & out.ready & (after == 0)),
                    ]
                    with m.If(beat.valid & out.ready):
                        m.d.sync += [
                            source.eq(moved), lane.eq(more), left.eq(after - more), held.eq(turned),
                        ]
                        m.d.comb += beat.ready.eq(spent | (walk.last & (after == more)))
                with m.Else():
                    m.d.comb += beat.ready.eq(1)
                    with m.If(beat.valid):
                        m.d.sync += [source.eq(0), lane.eq(lane + here), left.eq(left - here), held.eq(merged)]
                with m.If(ends):
                    m.d.comb += walk.advance.eq(1)
                    m.next = "PIECE"
                    with m.If(walk.last):
                        m.d.sync += moving.eq(0)
                        m.next = "IDLE"
        return m
