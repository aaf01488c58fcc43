"""Takes results from the reduce unit to where they belong: intermediate result, network, host memory."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.config import Config
from rtl.cou.command import CouShapes
from rtl.cou.piece_writer import PieceWriter
from rtl.interface import PacketSignature, WriteSignature
from rtl.kit.quiescence import any_moves


class ResultWriter(wiring.Component):
    """The back end of the aggregator.

    Every beat goes to the intermediate result and, as the pass says, also into a packet and to host memory.
    Each of the two takes it when it can; the next beat comes when both have it.

    Members
    -------
    i : ``In(stream.Signature(output))``
        Passes, in the order in which their results come.
    result : ``In(stream.Signature({data, tag}))``
        Beats from the reduce unit; `tag` marks the last one of a pass.
    store_enable, store_address, store_count, store_beat : ``Out``
        Write port of the intermediate results: byte in context, context; how many bytes of the beat.
    o_done, o_written, tx, write :
        As in :class:`~rtl.cou.aggregator.Aggregator`.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        width = config.datapath.data_width
        self.result_log2 = (config.cou.intermediate_bytes - 1).bit_length()
        super().__init__({
            "moves": Out(1),
            "i": In(stream.Signature(shapes.output)),
            "result": In(stream.Signature(data.StructLayout({"data": width, "tag": 1}))),
            "store_enable": Out(1),
            "store_address": Out(self.result_log2 + shapes.context),
            "store_count": Out((width // 8).bit_length()),
            "store_beat": Out(width),
            "o_done": Out(stream.Signature(shapes.done)),
            "o_written": Out(stream.Signature(shapes.written)),
            "tx": Out(PacketSignature(width)),
            "write": Out(WriteSignature(width)),
        })

    def elaborate(self, platform):
        m = Module()
        width, flit_bytes = self.config.datapath.data_width, self.config.datapath.flit_bytes
        output = self.i.payload
        beats = self.result
        sending = self.tx.payload
        m.submodules.piece_writer = piece_writer = PieceWriter(self.config)
        connect(m, piece_writer.o_written, flipped(self.o_written))
        connect(m, piece_writer.write, flipped(self.write))

        # What the last beat holds beyond the pass belongs to nobody: no peer is to see it.
        tail = output.bytes[: flit_bytes.bit_length() - 1]
        mask = Array(Const((1 << 8 * (count or flit_bytes)) - 1, width) for count in range(flit_bytes))[tail]
        place = Signal(self.result_log2)
        header_sent, announced = Signal(), Signal()
        sent, written = Signal(), Signal()
        m.d.comb += [
            self.tx.header.payload.eq(output.header),
            sending.payload.data.eq(beats.payload.data & Mux(beats.payload.tag, mask, ~0)),
            sending.payload.last.eq(beats.payload.tag),
            piece_writer.i.payload.job.eq(output.job), piece_writer.i.payload.addr.eq(output.result_addr),
            piece_writer.i.payload.pieces.eq(output.pieces), piece_writer.i_beat.payload.eq(beats.payload.data),
            self.store_address.eq(Cat(place, output.context)), self.store_beat.eq(beats.payload.data),
            self.store_count.eq(Mux(beats.payload.tag & (tail != 0), tail, flit_bytes)),
            self.o_done.payload.context.eq(output.context),
        ]

        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += [
                    place.eq(output.position), sent.eq(0), written.eq(0),
                    header_sent.eq(~output.send), announced.eq(~output.write_back),
                ]
                with m.If(self.i.valid):
                    m.next = "ANNOUNCE"
            with m.State("ANNOUNCE"):
                # While the pipeline fills, the header leaves and the write is announced.
                m.d.comb += [self.tx.header.valid.eq(~header_sent), piece_writer.i.valid.eq(~announced)]
                with m.If(self.tx.header.ready):
                    m.d.sync += header_sent.eq(1)
                with m.If(piece_writer.i.ready):
                    m.d.sync += announced.eq(1)
                with m.If((header_sent | self.tx.header.ready) & (announced | piece_writer.i.ready)):
                    with m.If(output.bytes == 0):
                        m.next = "DONE"
                    with m.Else():
                        m.next = "STREAM"
            with m.State("STREAM"):
                send_ok = ~output.send | sent | sending.ready
                write_ok = ~output.write_back | written | piece_writer.i_beat.ready
                m.d.comb += [
                    sending.valid.eq(beats.valid & output.send & ~sent),
                    piece_writer.i_beat.valid.eq(beats.valid & output.write_back & ~written),
                    beats.ready.eq(send_ok & write_ok),
                ]
                with m.If(beats.valid & beats.ready):
                    m.d.comb += self.store_enable.eq(1)
                    m.d.sync += [place.eq(place + flit_bytes), sent.eq(0), written.eq(0)]
                    with m.If(beats.payload.tag):
                        m.next = "DONE"
                with m.Elif(beats.valid):
                    m.d.sync += [sent.eq(sent | sending.ready), written.eq(written | piece_writer.i_beat.ready)]
            with m.State("DONE"):
                m.d.comb += self.o_done.valid.eq(1)
                with m.If(self.o_done.ready):
                    m.d.comb += self.i.ready.eq(1)
                    m.next = "IDLE"

        m.d.sync += self.moves.eq(any_moves(~fsm.ongoing("IDLE"), piece_writer.moves))

        return m
