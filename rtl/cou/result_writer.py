"""Takes results from the reduce unit to where they belong: intermediate result, network, host memory."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.config import Config
from rtl.cou.command import CouShapes
from rtl.interface import PacketSignature, WriteSignature
from rtl.kit.fifo import StreamFifo


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
    store_enable, store_address, store_beat : ``Out``
        Write port of the intermediate results.
    o_done, o_written, tx, write :
        As in :class:`~rtl.cou.aggregator.Aggregator`.
    """

    #: Writes to host memory that may be waiting for their acknowledgement.
    MAX_WRITES = 16

    def __init__(self, config: Config):
        self.shapes = shapes = CouShapes(config)
        self.beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        width = config.datapath.data_width
        super().__init__({
            "i": In(stream.Signature(shapes.output)),
            "result": In(stream.Signature(data.StructLayout({"data": width, "tag": 1}))),
            "store_enable": Out(1),
            "store_address": Out(self.beat_bits + shapes.context),
            "store_beat": Out(width),
            "o_done": Out(stream.Signature(shapes.done)),
            "o_written": Out(stream.Signature(shapes.written)),
            "tx": Out(PacketSignature(width)),
            "write": Out(WriteSignature(width)),
        })

    def elaborate(self, platform):
        m = Module()
        output = self.i.payload
        request = self.write.request
        beats = self.result
        sending, writing = self.tx.payload, self.write.data

        # Acknowledgements of the host memory come in order: this queue knows whose they are.
        m.submodules.unacknowledged = unacknowledged = StreamFifo(shape=self.shapes.job, depth=self.MAX_WRITES)
        m.d.comb += [
            unacknowledged.i.payload.eq(output.job),
            self.o_written.payload.job.eq(unacknowledged.o.payload),
            self.o_written.payload.error.eq(self.write.done.payload.error),
            self.o_written.valid.eq(self.write.done.valid & unacknowledged.o.valid),
            self.write.done.ready.eq(self.o_written.ready & unacknowledged.o.valid),
            unacknowledged.o.ready.eq(self.o_written.ready & self.write.done.valid),
        ]

        index = Signal(self.beat_bits)
        header_sent, announced, queued = Signal(), Signal(), Signal()
        sent, written = Signal(), Signal()
        m.d.comb += [
            self.tx.header.payload.eq(output.header),
            request.payload.addr.eq(output.result_addr), request.payload.bytes.eq(output.bytes),
            sending.payload.data.eq(beats.payload.data), sending.payload.last.eq(beats.payload.tag),
            writing.payload.data.eq(beats.payload.data), writing.payload.last.eq(beats.payload.tag),
            self.store_address.eq(Cat(index, output.context)), self.store_beat.eq(beats.payload.data),
            self.o_done.payload.context.eq(output.context),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [
                    index.eq(0), sent.eq(0), written.eq(0),
                    header_sent.eq(~output.send), announced.eq(~output.write_back), queued.eq(~output.write_back),
                ]
                with m.If(self.i.valid):
                    m.next = "ANNOUNCE"
            with m.State("ANNOUNCE"):
                # While the pipeline fills, the header leaves and the write is announced.
                m.d.comb += [
                    self.tx.header.valid.eq(~header_sent),
                    request.valid.eq(~announced & queued),
                    unacknowledged.i.valid.eq(~queued),
                ]
                with m.If(self.tx.header.ready):
                    m.d.sync += header_sent.eq(1)
                with m.If(unacknowledged.i.ready):
                    m.d.sync += queued.eq(1)
                with m.If(request.valid & request.ready):
                    m.d.sync += announced.eq(1)
                with m.If((header_sent | self.tx.header.ready) & (announced | (request.valid & request.ready))):
                    with m.If(output.bytes == 0):
                        m.next = "DONE"
                    with m.Else():
                        m.next = "STREAM"
            with m.State("STREAM"):
                send_ok = ~output.send | sent | sending.ready
                write_ok = ~output.write_back | written | writing.ready
                m.d.comb += [
                    sending.valid.eq(beats.valid & output.send & ~sent),
                    writing.valid.eq(beats.valid & output.write_back & ~written),
                    beats.ready.eq(send_ok & write_ok),
                ]
                with m.If(beats.valid & beats.ready):
                    m.d.comb += self.store_enable.eq(1)
                    m.d.sync += [index.eq(index + 1), sent.eq(0), written.eq(0)]
                    with m.If(beats.payload.tag):
                        m.next = "DONE"
                with m.Elif(beats.valid):
                    m.d.sync += [sent.eq(sent | sending.ready), written.eq(written | writing.ready)]
            with m.State("DONE"):
                m.d.comb += self.o_done.valid.eq(1)
                with m.If(self.o_done.ready):
                    m.d.comb += self.i.ready.eq(1)
                    m.next = "IDLE"
        return m
