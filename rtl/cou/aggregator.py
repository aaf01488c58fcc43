"""Executes passes: streams operands through the reduce unit to where the results belong.

Architecture: ``rtl/cou/README.md``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.config import Config
from rtl.cou.byte_memory import ByteMemory
from rtl.cou.command import CouShapes, Source
from rtl.cou.lender import Consumed
from rtl.cou.result_writer import ResultWriter
from rtl.interface import PacketSignature, WriteSignature, beat
from rtl.kit.fifo import StreamFifo
from rtl.kit.quiescence import any_moves
from rtl.kit.stage import StreamStage
from rtl.reduce.operation import operations
from rtl.reduce.reduce_unit import ReduceUnit


class Aggregator(wiring.Component):
    """Runs one pass after the other, the next one entering the pipeline while the last one leaves it.

    A pass takes operand a (zeros, the operand memory, or its slice of the intermediate result of its context),
    operand b (the packet), sends both through the reduce unit, and stores the outcome as that slice of the
    intermediate result; it may also send it as a packet and write it to host memory. It then frees the packet and
    returns its credit.

    Timing: if ``cou`` is pipelined operands pass two registers on their way to the reduce unit.

    The caller must not give a context a second pass before the first one is reported on ``o_done``.

    Members
    -------
    i : ``In(stream.Signature(run))``
        Passes.
    o_done : ``Out(stream.Signature({context}))``
        A pass has left its result everywhere but in host memory.
    o_written : ``Out(stream.Signature({job, error}))``
        Host memory has taken the result of a pass.
    operand_address, operand_enable, operand_advance, operand : ``Out``, ``Out``, ``Out``, ``In``
        Read port of the operand memory.
    i_packet, o_packet : packet buffer's read port, seen from here
    packet_error : ``In(1)``
        With a beat of the packet: it is damaged beyond correction. The pass goes on with what came.
    damaged : ``Out(n_jobs)``
        Pulse: an operation has taken such a beat.
    o_free : ``Out(stream.Signature({key, slot}))``
        Packets that are done with.
    o_credit : ``Out(stream.Signature(credit))``
        Credits to give back for them.
    consumed, taken : ``Out``; granted, gone : ``In``
        Lender, in the cycle in which a packet is done with.
    tx : ``Out(PacketSignature(data_width))``
        Packets to the network.
    write : ``Out(WriteSignature(data_width))``
        Host memory.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        self.beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        width = config.datapath.data_width
        super().__init__({
            "moves": Out(1),
            "i": In(stream.Signature(shapes.run)),
            "o_done": Out(stream.Signature(shapes.done)),
            "o_written": Out(stream.Signature(shapes.written)),
            "operand_address": Out(self.beat_bits + shapes.context),
            "operand_enable": Out(1), "operand_advance": Out(1),
            "operand": In(width),
            "o_read": Out(stream.Signature(data.StructLayout({"slot": shapes.packet, "length": 13}))),
            "i_read": In(stream.Signature(beat(width))),
            "packet_error": In(1), "damaged": Out(config.cou.n_jobs),
            "o_free": Out(stream.Signature(shapes.free)),
            "o_credit": Out(stream.Signature(shapes.credit)),
            "consumed": Out(Consumed), "taken": Out(1), "granted": In(1), "gone": In(2),
            "tx": Out(PacketSignature(width)),
            "write": Out(WriteSignature(width)),
        })

    def elaborate(self, platform):
        m = Module()
        config, shapes = self.config, self.shapes
        width, pipelined = config.datapath.data_width, config.datapath.is_pipelined("cou")

        m.submodules.reduce = reduce = ReduceUnit(
            data_width=width, add_cycles=config.reduce.add_cycles, tag_width=1, operations=operations(config.reduce)
        )
        m.submodules.writer = writer = ResultWriter(config)
        m.submodules.results = results = ByteMemory(
            data_width=width, n_bytes=1 << (writer.result_log2 + shapes.context), registered=pipelined
        )
        m.submodules.stage = stage = StreamStage(
            shape=reduce.i.payload.shape(), registers=pipelined, full_rate=True
        )
        connect(m, stage.o, reduce.i)
        request = stage.i
        m.submodules.outputs = outputs = StreamFifo(shape=shapes.output, depth=4, registered=pipelined)
        m.submodules.freed = freed = StreamFifo(shape=self.o_free.payload.shape(), depth=4, registered=pipelined)
        m.submodules.owed = owed = StreamFifo(shape=shapes.credit, depth=4, registered=pipelined)
        connect(m, outputs.o, writer.i)
        connect(m, reduce.o, writer.result)
        connect(m, writer.o_done, flipped(self.o_done))
        connect(m, writer.o_written, flipped(self.o_written))
        connect(m, writer.tx, flipped(self.tx))
        connect(m, writer.write, flipped(self.write))
        connect(m, freed.o, flipped(self.o_free))
        connect(m, owed.o, flipped(self.o_credit))
        m.d.comb += [
            results.write_enable.eq(writer.store_enable),
            results.write_address.eq(writer.store_address), results.write_count.eq(writer.store_count),
            results.write_data.eq(writer.store_beat),
        ]

        run = Signal(shapes.run)
        output = run.output
        last_beat = Signal(shapes.result_bytes - self.flit_log2 + 1)
        output_bytes = self.i.payload.output.bytes

        # Operands a come from synchronous memories: `fetched` says that their beat stands at the outputs. If there are
        # registers behind these, it is `there` a cycle later.
        fetched, there = Signal(), Signal()
        last, there_last, there_odd = (Signal(name=name) for name in ("last", "there_last", "there_odd"))
        index = Signal.like(last_beat)
        take, moves = Signal(), Signal()
        fetch = Signal()
        place = Signal(writer.result_log2)
        m.d.comb += [
            self.operand_address.eq(Cat(index[: self.beat_bits], output.context)), self.operand_enable.eq(fetch),
            place.eq(output.position + (index << self.flit_log2)),
            results.read_address.eq(Cat(place, output.context)), results.read_enable.eq(fetch),
        ]

        # Elements of two words begin at even beats; `index` is that of the beat behind.
        arrives = [there_last.eq(last), there_odd.eq(~index[0])]
        if pipelined:
            m.d.comb += moves.eq(fetched & (~there | take))
            with m.If(moves):
                m.d.sync += [there.eq(1), *arrives]
            with m.Elif(take):
                m.d.sync += there.eq(0)
        else:
            m.d.comb += [there.eq(fetched), moves.eq(take), *arrives]
        m.d.comb += [self.operand_advance.eq(moves), results.read_advance.eq(moves)]

        b_there = ~run.use_packet | self.i_read.valid
        m.d.comb += [
            request.payload.a.eq(Mux(
                run.a == Source.OPERAND, self.operand, Mux(run.a == Source.RESULT, results.read_data, 0)
            )),
            request.payload.b.eq(self.i_read.payload.data),
            request.payload.select.eq(run.select.as_value()),
            request.payload.datatype.eq(run.datatype),
            request.payload.operator.eq(run.operator),
            request.payload.odd.eq(there_odd),
            request.payload.tag.eq(there_last),
            request.valid.eq(there & b_there),
            take.eq(request.valid & request.ready),
            self.i_read.ready.eq(there & run.use_packet & request.ready),
            self.damaged.eq((self.i_read.valid & self.i_read.ready & self.packet_error) << output.job),
        ]

        m.d.comb += [
            self.o_read.payload.slot.eq(run.packet), self.o_read.payload.length.eq(output.bytes),
            outputs.i.payload.eq(self.i.payload.output),
            freed.i.payload.key.eq(run.key), freed.i.payload.slot.eq(run.packet), freed.i.payload.gone.eq(self.gone),
            self.consumed.loan.eq(run.credit.loan), self.consumed.want.eq(run.credit.want),
            owed.i.payload.eq(run.credit), owed.i.payload.loan.eq(self.granted),
        ]

        # A pass takes some cycles after it was put there: room may be known a cycle late.
        room = Signal()
        domain = m.d.sync if pipelined else m.d.comb
        domain += room.eq(outputs.i.ready)
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += [index.eq(0), last.eq(0), fetched.eq(0)]
                m.d.comb += [outputs.i.valid.eq(self.i.valid & room), self.i.ready.eq(room)]
                with m.If(self.i.valid & room):
                    m.d.sync += [run.eq(self.i.payload), last_beat.eq((output_bytes - 1) >> self.flit_log2)]
                    with m.If(self.i.payload.output.bytes == 0):
                        m.next = "FINISH"
                    with m.Elif(self.i.payload.use_packet):
                        m.next = "READ"
                    with m.Else():
                        m.next = "STREAM"
            with m.State("READ"):
                m.d.comb += self.o_read.valid.eq(1)
                with m.If(self.o_read.ready):
                    m.next = "STREAM"
            with m.State("STREAM"):
                m.d.comb += fetch.eq(~last & (~fetched | moves))
                with m.If(fetch):
                    m.d.sync += [index.eq(index + 1), fetched.eq(1), last.eq(index == last_beat)]
                with m.Elif(moves):
                    m.d.sync += fetched.eq(0)
                with m.If(take & there_last):
                    m.next = "FINISH"
            with m.State("FINISH"):
                # Both queues must have room, so that neither notice is given twice.
                told = ~run.consume | (freed.i.ready & owed.i.ready)
                m.d.comb += [
                    freed.i.valid.eq(run.consume & owed.i.ready), owed.i.valid.eq(run.consume & freed.i.ready),
                    self.taken.eq(run.consume & told),
                ]
                with m.If(told):
                    m.next = "IDLE"

        m.d.sync += self.moves.eq(any_moves(
            ~fsm.ongoing("IDLE"), reduce.moves, writer.moves, stage.moves, outputs.moves, freed.moves, owed.moves,
        ))

        return m

    @property
    def flit_log2(self) -> int:
        """Log2 of the bytes of a flit."""
        return self.config.datapath.flit_bytes.bit_length() - 1
