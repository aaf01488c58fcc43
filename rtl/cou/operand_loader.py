"""Brings local operands on chip before their descriptors need them."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.cou.byte_memory import ByteMemory
from rtl.cou.command import CouShapes
from rtl.cou.piece_walk import PieceWalk
from rtl.interface import ReadSignature
from rtl.kit.fifo import StreamFifo
from rtl.kit.quiescence import any_moves


class OperandLoader(wiring.Component):
    """Fills the operand memory of a context, from host memory or from the payload of a descriptor.

    The pieces of a slice, wherever they begin, are laid one after the other, as in a packet. Reads of several contexts
    are outstanding at once, so that the latency of the host is paid once and not once a pulse. They end in the order
    in which they were asked for.

    Members
    -------
    i : ``In(stream.Signature(load))``
        What to load, at least a byte; `addr` is the place of its first piece in host memory or in the payload.
    o : ``Out(stream.Signature(loaded))``
        A context's operand is complete; `error` if the host memory refused some of it.
    read : ``Out(ReadSignature(data_width))``
        Host memory.
    payload_place, payload : ``Out``, ``In``
        Payload port of the sequence store.
    address, enable, advance, beat : ``In``, ``Out``
        Read port of the operand memory: beat `address` (beat in context, context); one cycle later if `enable`. With
        a pipelined ``cou`` it comes after the next `advance`.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        self.beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        super().__init__({
            "moves": Out(1),
            "i": In(stream.Signature(shapes.load)),
            "o": Out(stream.Signature(shapes.loaded)),
            "read": Out(ReadSignature(config.datapath.data_width)),
            "payload_place": Out(data.StructLayout({"position": shapes.place, "job": shapes.job})),
            "payload": In(8 * formats.PAYLOAD_BYTES),
            "address": In(self.beat_bits + shapes.context),
            "enable": In(1), "advance": In(1),
            "beat": Out(config.datapath.data_width),
        })

    def elaborate(self, platform):
        m = Module()
        config, shapes = self.config, self.shapes
        width, flit_bytes = config.datapath.data_width, config.datapath.flit_bytes
        pipelined = config.datapath.is_pipelined("cou")
        lane_bits = (flit_bytes - 1).bit_length()
        place_bits = lane_bits + self.beat_bits
        m.submodules.operands = operands = ByteMemory(
            data_width=width, n_bytes=1 << (place_bits + shapes.context), registered=pipelined,
            shallow=config.datapath.block_memories,
        )
        m.d.comb += [
            operands.read_address.eq(Cat(Const(0, lane_bits), self.address)), operands.read_enable.eq(self.enable),
            operands.read_advance.eq(self.advance), self.beat.eq(operands.read_data),
        ]

        # Both sides get every load: one asks for the pieces, the other one lays down what comes.
        n = config.cou.n_contexts
        m.submodules.asking = asking = StreamFifo(shape=shapes.load, depth=n, registered=pipelined)
        m.submodules.waiting = waiting = StreamFifo(shape=shapes.load, depth=n, registered=pipelined)
        m.d.comb += [
            asking.i.payload.eq(self.i.payload), waiting.i.payload.eq(self.i.payload),
            self.i.ready.eq(waiting.i.ready & asking.i.ready),
            waiting.i.valid.eq(self.i.valid & asking.i.ready),
            asking.i.valid.eq(self.i.valid & waiting.i.ready & ~self.i.payload.from_payload),
        ]

        # Request side.
        m.submodules.asked = asked = PieceWalk(config)
        request = self.read.request
        # A cycle between the last request of a load and the next load keeps the path to the queue short.
        asked_all = Signal()
        m.d.comb += [
            asked.pieces.eq(asking.o.payload.pieces),
            request.valid.eq(asking.o.valid & ~asked_all),
            request.payload.addr.eq((asking.o.payload.addr + asked.offset)[: shapes.address]),
            request.payload.bytes.eq(asked.size),
            asked.advance.eq(request.valid & request.ready),
            asking.o.ready.eq(asked_all if pipelined else request.ready & asked.last),
        ]
        if pipelined:
            m.d.sync += asked_all.eq(asked.advance & asked.last)

        # Data side: one context after the other. `place` is that of the next byte in the operand memory, `at` in
        # the flits that bring it.
        current, incoming = waiting.o.payload, self.read.data
        m.submodules.walk = walk = PieceWalk(config)
        place = Signal(place_bits)
        at, left = Signal(6), Signal(shapes.bytes)
        failed = Signal()
        # `room` bytes of the beat that comes, from `at` on.
        room = Signal(lane_bits + 1)
        here = Signal(lane_bits + 1)
        ends = Signal()
        words = [self.payload[k * width:(k + 1) * width] for k in range(8 * formats.PAYLOAD_BYTES // width)]
        word = words[0]
        for k, other in enumerate(words[1:], 1):
            word = Mux(at[lane_bits:] == k, other, word)
        m.d.comb += [
            walk.pieces.eq(current.pieces),
            ends.eq(left <= room), here.eq(Mux(ends, left, room)),
            self.payload_place.job.eq(current.job), self.payload_place.position.eq(current.place),
            self.o.payload.context.eq(current.context), self.o.payload.job.eq(current.job),
            self.o.payload.error.eq(failed),
        ]
        # What is written may reach the memory some cycles later: a load is told of first, and read later still.
        writes = Signal()
        m.d.comb += [
            operands.write_enable.eq(writes), operands.write_address.eq(Cat(place, current.context)),
            operands.write_first.eq(at[:lane_bits]), operands.write_count.eq(here),
            operands.write_data.eq(Mux(current.from_payload, word, incoming.payload.data)),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [place.eq(0), failed.eq(0), at.eq(current.addr), left.eq(walk.size)]
                m.d.sync += room.eq(flit_bytes - current.addr[:lane_bits])
                with m.If(waiting.o.valid):
                    m.next = "FETCH"
            with m.State("FETCH"):
                # The payload comes out of its memory.
                m.next = "MOVE"
            with m.State("MOVE"):
                m.d.comb += incoming.ready.eq(~current.from_payload)
                with m.If(current.from_payload | incoming.valid):
                    m.d.comb += writes.eq(1)
                    m.d.sync += [
                        place.eq(place + here), at.eq(at + here), left.eq(left - here), room.eq(flit_bytes),
                    ]
                    with m.If(~current.from_payload):
                        m.d.sync += failed.eq(failed | (incoming.payload.last & incoming.payload.error))
                    with m.If(ends):
                        m.d.comb += walk.advance.eq(1)
                        next_lane = (current.addr[:lane_bits] + walk.next_offset[:lane_bits])[:lane_bits]
                        m.d.sync += [
                            at.eq(current.addr + walk.next_offset), left.eq(walk.next_size),
                            room.eq(flit_bytes - next_lane),
                        ]
                        with m.If(walk.last):
                            m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.comb += waiting.o.ready.eq(1)
                    m.next = "IDLE"

        m.d.sync += self.moves.eq(any_moves(writes, asking.moves, waiting.moves))

        return m
