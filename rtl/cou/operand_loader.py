"""Brings local operands on chip before their descriptors need them."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.cou.command import CouShapes
from rtl.interface import ReadSignature
from rtl.kit.fifo import StreamFifo


class OperandLoader(wiring.Component):
    """Fills the operand memory of a context, from host memory or from the payload of a descriptor.

    Reads of several contexts are outstanding at once, so that the latency of the host is paid once and not
    once a pulse. They end in the order in which they were asked for.

    Members
    -------
    i : ``In(stream.Signature(load))``
        What to load; `bytes` at least 1.
    o : ``Out(stream.Signature(loaded))``
        A context's operand is complete; `error` if the host memory refused some of it.
    read : ``Out(ReadSignature(data_width))``
        Host memory.
    payload_place, payload : ``Out``, ``In``
        Payload port of the sequence store.
    address, beat : ``In``, ``Out``
        Read port of the operand memory: beat `address` (beat in context, context); one cycle later if `enable`.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        self.beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        super().__init__({
            "i": In(stream.Signature(shapes.load)),
            "o": Out(stream.Signature(shapes.loaded)),
            "read": Out(ReadSignature(config.datapath.data_width)),
            "payload_place": Out(data.StructLayout({"position": shapes.place, "job": shapes.job})),
            "payload": In(8 * formats.PAYLOAD_BYTES),
            "address": In(self.beat_bits + shapes.context),
            "enable": In(1),
            "beat": Out(config.datapath.data_width),
        })

    def elaborate(self, platform):
        m = Module()
        shapes = self.shapes
        width = self.config.datapath.data_width
        payload_beats = max(1, 8 * formats.PAYLOAD_BYTES // width)
        m.submodules.operands = operands = memory.Memory(
            shape=width, depth=1 << (self.beat_bits + shapes.context), init=[]
        )
        write, read = operands.write_port(), operands.read_port()
        m.d.comb += [read.addr.eq(self.address), read.en.eq(self.enable), self.beat.eq(read.data)]

        # Request side: host reads are asked for at once; the queue keeps who waits for them.
        waiting = StreamFifo(shape=shapes.load, depth=self.config.cou.n_contexts)
        m.submodules.waiting = waiting
        load = self.i.payload
        asked = Signal()
        request = self.read.request
        m.d.comb += [
            request.valid.eq(self.i.valid & ~load.from_payload & ~asked),
            request.payload.addr.eq(load.addr), request.payload.bytes.eq(load.bytes),
            waiting.i.valid.eq(self.i.valid & (load.from_payload | asked)),
            waiting.i.payload.eq(load),
            self.i.ready.eq(waiting.i.ready & (load.from_payload | asked)),
        ]
        with m.If(request.valid & request.ready):
            m.d.sync += asked.eq(1)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += asked.eq(0)

        # Data side: one context after the other.
        current = waiting.o.payload
        index = Signal(self.beat_bits + 1)
        failed = Signal()
        shifter = Signal(payload_beats * width)
        m.d.comb += [
            write.addr.eq(Cat(index[: self.beat_bits], current.context)),
            self.payload_place.job.eq(current.job), self.payload_place.position.eq(current.place),
            self.o.payload.context.eq(current.context), self.o.payload.job.eq(current.job),
            self.o.payload.error.eq(failed),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [index.eq(0), failed.eq(0)]
                with m.If(waiting.o.valid):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.d.sync += shifter.eq(self.payload)
                with m.If(current.from_payload):
                    m.next = "PAYLOAD"
                with m.Else():
                    m.next = "MEMORY"
            with m.State("PAYLOAD"):
                m.d.comb += [write.en.eq(1), write.data.eq(shifter[:width])]
                m.d.sync += [index.eq(index + 1), shifter.eq(shifter >> width)]
                with m.If(index == payload_beats - 1):
                    m.next = "DONE"
            with m.State("MEMORY"):
                incoming = self.read.data
                m.d.comb += [incoming.ready.eq(1), write.en.eq(incoming.valid), write.data.eq(incoming.payload.data)]
                with m.If(incoming.valid):
                    m.d.sync += index.eq(index + 1)
                    with m.If(incoming.payload.last):
                        m.d.sync += failed.eq(incoming.payload.error)
                        m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.comb += waiting.o.ready.eq(1)
                    m.next = "IDLE"
        return m
