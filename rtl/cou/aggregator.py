"""Executes passes: takes operands through the reduce unit to where the results belong, and sends what lies on chip.

Architecture: ``rtl/cou/README.md``.
"""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.config import Config
from rtl.cou.activity import Path
from rtl.cou.byte_memory import ByteMemory
from rtl.cou.lane import Lane
from rtl.cou.operand_signature import OperandSignature
from rtl.cou.packet_signature import PacketsSignature
from rtl.cou.result_writer import ResultWriter
from rtl.cou.send_engine import SendEngine
from rtl.cou.shapes import CouShapes
from rtl.interface import PacketSignature, WriteSignature
from rtl.kit.arbiter import PacketArbiter, StreamArbiter
from rtl.kit.skid import SkidBuffer
from rtl.reduce.operation import operations
from rtl.reduce.reduce_unit import ReduceUnit, request_layout


class Aggregator(wiring.Component):
    """Runs passes on two paths side by side, on each of them one after the other without a gap.

    On the one path a pass takes operand a (zeros, the operand memory, or its slice of the intermediate result of its
    context), operand b (the packet), sends both through the reduce unit, and stores the outcome as that slice of the
    intermediate result; it may also send it as a packet and write it to host memory. On the other one a pass sends what
    is there already. The packets of both take turns.

    The caller must not give a context a second pass before the first one is reported on ``o_done``.

    Parameters
    ----------
    config : Config
        ``datapath``, ``cou`` and ``reduce``.

    Members
    -------
    i : ``In(stream.Signature(run))``
        Passes through the reduce unit.
    i_send : ``In(stream.Signature(send))``
        Passes that only send.
    o_done : ``Out(stream.Signature({context}))``
        A pass has left its result everywhere but in host memory and in the network.
    o_written : ``Out(stream.Signature({job, error}))``
        Host memory has taken the result of a pass.
    operands : array of 2 ``Out(OperandSignature)``, filling : ``In(n_contexts)``
        Read ports of the operand memory; contexts whose operand cannot be read yet.
    packets : ``Out(PacketsSignature(shapes))``
        Packets that passes consume.
    o_fault : ``Out(stream.Signature(fault))``
        An operation has taken a damaged packet.
    tx : ``Out(PacketSignature(data_width))``
        Packets to the network.
    write : ``Out(WriteSignature(data_width))``
        Host memory.
    activity : array of 2 ``Out(Path)``
        Activity of the two paths, for the statistics.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        width = config.datapath.data_width
        super().__init__({
            "i": In(stream.Signature(shapes.run)), "i_send": In(stream.Signature(shapes.send)),
            "o_done": Out(stream.Signature(shapes.done)),
            "o_written": Out(stream.Signature(shapes.written)),
            "operands": Out(OperandSignature(address_bits=beat_bits + shapes.context, data_width=width)).array(2),
            "filling": In(config.cou.n_contexts),
            "packets": Out(PacketsSignature(shapes)),
            "o_fault": Out(stream.Signature(shapes.fault)),
            "tx": Out(PacketSignature(width)),
            "write": Out(WriteSignature(width)),
            "activity": Out(Path).array(2),
        })

    def elaborate(self, platform):
        m = Module()
        config, width, shapes = self.config, self.shapes.data_width, self.shapes
        m.submodules.lane = lane = Lane(shapes=shapes, n_contexts=config.cou.n_contexts, ecc=config.cou.ecc)
        m.submodules.engine = engine = SendEngine(shapes=shapes, n_contexts=config.cou.n_contexts)
        m.submodules.stage = stage = SkidBuffer(shape=request_layout(data_width=width, tag_width=lane.tag.size))
        m.submodules.reduce = reduce = ReduceUnit(
            data_width=width, add_cycles=config.reduce.add_cycles, tag_width=lane.tag.size,
            operations=operations(config.reduce),
        )
        m.submodules.writer = writer = ResultWriter(shapes=shapes, ecc=config.cou.ecc)
        m.submodules.done = done = StreamArbiter(shape=self.shapes.done, n=2)
        m.submodules.turn = turn = PacketArbiter(data_width=width, n=2)

        # The intermediate results, a copy for each path that reads them.
        for name, port in (("lane_results", lane.results), ("engine_results", engine.results)):
            m.submodules[name] = results = ByteMemory(data_width=width, n_bytes=1 << len(port.address))
            m.d.comb += [
                results.write_enable.eq(writer.store_enable), results.write_address.eq(writer.store_address),
                results.write_count.eq(writer.store_count), results.write_data.eq(writer.store_beat),
                results.read_enable.eq(port.enable), results.read_address.eq(port.address),
                results.read_advance.eq(port.advance), port.data.eq(results.read_data),
            ]

        # The path through the reduce unit.
        connect(m, flipped(self.i), lane.i)
        connect(m, lane.operands, flipped(self.operands[0]))
        connect(m, lane.o, stage.i)
        connect(m, stage.o, reduce.i)
        connect(m, lane.o_output, writer.i)
        m.d.comb += [
            self.activity[0].eq(lane.activity), self.activity[1].eq(engine.activity),
            lane.filling.eq(self.filling), engine.filling.eq(self.filling), writer.release.eq(lane.o_release),
            writer.spoilt.eq(lane.spoilt),
            lane.crowded.eq(writer.crowded),
            writer.result.valid.eq(reduce.o.valid), reduce.o.ready.eq(writer.result.ready),
            writer.result.payload.data.eq(reduce.o.payload.data),
            writer.result.payload.tag.eq(reduce.o.payload.tag),
        ]
        connect(m, lane.packets, flipped(self.packets))
        connect(m, lane.o_fault, flipped(self.o_fault))
        connect(m, writer.o_written, flipped(self.o_written))
        connect(m, writer.write, flipped(self.write))

        # The other path, and what both have.
        connect(m, flipped(self.i_send), engine.i)
        connect(m, engine.operands, flipped(self.operands[1]))
        for number, path in enumerate((writer, engine)):
            m.submodules[f"done_{number}"] = ended = SkidBuffer(shape=self.shapes.done)
            connect(m, path.o_done, ended.i)
            connect(m, ended.o, done.i[number])
        connect(m, done.o, flipped(self.o_done))
        connect(m, writer.tx, turn.i[0])
        connect(m, engine.tx, turn.i[1])
        connect(m, turn.o, flipped(self.tx))

        return m
