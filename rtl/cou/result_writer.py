"""Takes results from the reduce unit to their destinations: intermediate result, network, host memory."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import Status
from rtl.cou.lane import tag_layout
from rtl.cou.piece_writer import PieceWriter
from rtl.cou.shapes import CouShapes
from rtl.interface import PacketSignature, WriteSignature, beat
from rtl.kit.queue import LutQueue, Queue, stream_queue


class ResultWriter(wiring.Component):
    """The back end of the aggregator.

    Every beat goes to the intermediate result and, if the pass demands it, into a packet and to host memory. A queue of
    packets lets beats move on while another packet is on the link, a queue of beats lets them move on while the writer
    begins another piece.

    Timing: a beat a cycle, passes without a gap. A packet's header is offered in the cycle after `release`.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    ecc : bool
        If true, the packet buffer finds damage, and headers say so.

    Members
    -------
    i : ``In(stream.Signature(output))``
        Passes that send or write, in the order in which their results come, and before them; of others nothing is kept.
    release, spoilt : ``In(1)``
        The results of the next pass that sends are about to come; they are `spoilt`, so its header has to say so.
    result : ``In(stream.Signature({data, tag}))``
        Beats from the reduce unit.
    store_enable, store_address, store_count, store_beat : ``Out``
        Write port of the intermediate results: byte in context, context; how many bytes of the beat.
    crowded : ``Out(1)``
        The packets that have not left, those of passes that have just begun among them, leave no room in the queue for
        one more of the largest size.
    o_done, o_written, tx, write :
        As in :class:`~rtl.cou.aggregator.Aggregator`.
    """

    #: Passes between their first address and their last result: shorter ones than the path is long.
    UNDER_WAY = 16
    #: Packets that wait for the link, of the largest size.
    PACKETS = 2
    #: Beats that wait for the writer.
    WRITES = 16

    def __init__(self, *, shapes: CouShapes, ecc: bool):
        self.shapes, self.ecc = shapes, ecc
        width = shapes.data_width
        super().__init__({
            "i": In(stream.Signature(shapes.output)), "release": In(1), "spoilt": In(1),
            "crowded": Out(1),
            "result": In(stream.Signature(data.StructLayout({"data": width, "tag": tag_layout(shapes)}))),
            "store_enable": Out(1),
            "store_address": Out(shapes.result_address),
            "store_count": Out((width // 8).bit_length()),
            "store_beat": Out(width),
            "o_done": Out(stream.Signature(shapes.done)),
            "o_written": Out(stream.Signature(shapes.written)),
            "tx": Out(PacketSignature(width)),
            "write": Out(WriteSignature(width)),
        })

    def elaborate(self, platform):
        m = Module()
        width, flit_bytes = self.shapes.data_width, self.shapes.flit_bytes
        output, beats = self.i.payload, self.result
        m.submodules.piece_writer = piece_writer = PieceWriter(shapes=self.shapes)
        m.submodules.headers = headers = LutQueue(
            shape=output.header.shape(), depth=self.UNDER_WAY, full_rate=False, prompt=False
        )
        m.submodules.packets = packets = stream_queue(
            shape=beat(width), depth=self.PACKETS * self.shapes.beats_per_context + 2, guarded=False
        )
        m.submodules.writes = writes = stream_queue(shape=width, depth=self.WRITES, guarded=False)
        m.submodules.runs = runs = LutQueue(shape=piece_writer.run, depth=self.UNDER_WAY, prompt=False)
        connect(m, runs.o, piece_writer.i)
        connect(m, writes.o, piece_writer.i_beat)
        connect(m, piece_writer.o_written, flipped(self.o_written))
        connect(m, piece_writer.write, flipped(self.write))
        connect(m, packets.o, flipped(self.tx).payload)

        # A pass is divided up as it comes.
        enters = Signal()
        m.d.comb += [
            self.i.ready.eq(headers.i.ready & runs.i.ready), enters.eq(self.i.valid & self.i.ready),
            headers.i.valid.eq(enters & output.send), headers.i.payload.eq(output.header),
            runs.i.valid.eq(enters & output.write_back), runs.i.payload.job.eq(output.job),
            runs.i.payload.addr.eq(output.result_addr), runs.i.payload.pieces.eq(output.pieces),
        ]

        self._count_owed(m, enters & output.send, output.bytes, packets)

        # A header that left long before its payload would keep others from the link.
        # That one has left is counted a cycle later: then there is none to offer.
        released, is_released, leaves, left = Signal(range(self.UNDER_WAY + 1)), Signal(), Signal(), Signal()
        m.d.sync += left.eq(leaves)
        m.d.comb += [
            self.tx.header.valid.eq(is_released & headers.o.valid), self.tx.header.payload.eq(headers.o.payload),
            leaves.eq(self.tx.header.valid & self.tx.header.ready), headers.o.ready.eq(leaves),
        ]
        if self.ecc:
            m.submodules.marks = marks = stream_queue(shape=1, depth=self.UNDER_WAY)
            m.d.comb += [marks.i.valid.eq(self.release), marks.i.payload.eq(self.spoilt), marks.o.ready.eq(leaves)]
            with m.If(marks.o.payload & (headers.o.payload.status == Status.OK)):
                m.d.comb += self.tx.header.payload.status.eq(Status.BUFFER_ERROR)
        with m.If(self.release != left):
            m.d.sync += [
                released.eq(Mux(self.release, released + 1, released - 1)),
                is_released.eq(self.release | (released != 1)),
            ]

        # Bytes of the last beat beyond the pass are cleared: no peer is to see them.
        here, data_here = beats.payload.tag, beats.payload.data
        mask = Array(Const((1 << 8 * (count or flit_bytes)) - 1, width) for count in range(flit_bytes))[here.tail]
        go = Signal()
        m.d.comb += [
            go.eq(
                beats.valid & (~here.send | packets.i.ready) & (~here.write_back | writes.i.ready)
                & (~here.last | self.o_done.ready)
            ),
            beats.ready.eq(go),
            packets.i.valid.eq(go & here.send), packets.i.payload.last.eq(here.last),
            packets.i.payload.data.eq(data_here),
            writes.i.valid.eq(go & here.write_back), writes.i.payload.eq(data_here),
            self.o_done.valid.eq(go & here.last), self.o_done.payload.context.eq(here.context),
            self.store_enable.eq(go & here.store), self.store_address.eq(Cat(here.position, here.context)),
            self.store_beat.eq(data_here), self.store_count.eq(flit_bytes),
        ]
        with m.If(here.last):
            m.d.comb += packets.i.payload.data.eq(data_here & mask)
            with m.If(here.tail != 0):
                m.d.comb += self.store_count.eq(here.tail)

        return m

    def _count_owed(self, m: Module, packet_taken, n_bytes, packets: Queue) -> None:
        """Beats of packets count from the beginning of their pass on until they leave."""
        mtu, flit_bytes, flit_log2 = self.shapes.beats_per_context, self.shapes.flit_bytes, self.shapes.flit_log2
        owed, more = Signal(range(self.UNDER_WAY * mtu + packets.depth + 1)), Signal(range(mtu + 1))
        leaves = packets.o.valid & packets.o.ready
        m.d.sync += [
            more.eq(Mux(packet_taken, (n_bytes + (flit_bytes - 1)) >> flit_log2, 0)),
            owed.eq(owed + more - leaves), self.crowded.eq(owed > packets.depth - mtu),
        ]
