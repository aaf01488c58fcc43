"""Keeps the descriptor sequences of the operations in progress.

Architecture: ``rtl/cou/README.md``. Golden model: ``firmware_models.golden.executor``.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import Operand
from firmware_models.config import Config
from rtl.abi import DescriptorControl
from rtl.cou.block_cutter import BlockCutter
from rtl.cou.command import CouShapes
from rtl.interface import SequenceSignature
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.memory import BlockMemory
from rtl.kit.quiescence import any_moves

_ended = data.StructLayout({"job_id": formats.JOB_BITS, "pulses": formats.PULSE_BITS})


class SequenceStore(wiring.Component):
    """Takes sequences from the scheduler, hands each over as one operation, and holds its descriptors meanwhile.

    A job has one operation at a time: ``port.answer`` refuses a probe for a job that is in progress, and
    one that finds no place free. Pulses of a job are numbered through its operations, so that packets of
    the next operation, which a faster peer may send already, never bear a key of the current one. The probe says
    with which number to begin.

    Every probe but that of a job in progress leads to one item on ``o_ended``: when it is refused for want of a place,
    when its sequence is aborted, or when its operation ends.

    Timing: a probe is answered after one cycle; the operation is offered the cycle after its last descriptor or, if the
    message is cut into blocks, 70 cycles after the first one if that is later. If ``cou`` is pipelined both take
    another cycle.

    Members
    -------
    port : ``In(SequenceSignature())``
        From the scheduler.
    o_operation : ``Out(stream.Signature(operation))``
        Committed operations.
    i_release : ``In(stream.Signature({job, pulses}))``
        Ends an operation after `pulses` pulses and frees its place.
    o_ended : ``Out(stream.Signature({job_id, pulses}))``
        What has been let in is over; it had so many pulses.
    place, control : ``In``, ``Out``
        Descriptor at `place` (job, position); one cycle later.
    payload_place, payload : ``In``, ``Out``
        Payload of a descriptor; one cycle later.
    busy : ``Out(1)``
        Some operation is in progress.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        super().__init__({
            "moves": Out(1),
            "port": In(SequenceSignature()),
            "o_operation": Out(stream.Signature(shapes.operation)),
            "i_release": In(stream.Signature(data.StructLayout({"job": shapes.job, "pulses": formats.PULSE_BITS}))),
            "o_ended": Out(stream.Signature(_ended)),
            "place": In(data.StructLayout({"position": shapes.place, "job": shapes.job})),
            "control": Out(DescriptorControl),
            "payload_place": In(data.StructLayout({"position": shapes.place, "job": shapes.job})),
            "payload": Out(8 * formats.PAYLOAD_BYTES),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        n_jobs = self.config.cou.n_jobs
        shapes = self.shapes
        depth = 1 << (shapes.place + shapes.job)

        m.submodules.control = control = BlockMemory(shape=DescriptorControl, depth=depth)
        m.submodules.payload = payload = BlockMemory(shape=8 * formats.PAYLOAD_BYTES, depth=depth)
        m.d.comb += [
            control.read_enable.eq(1), control.read_address.eq(self.place), self.control.eq(control.read_data),
            payload.read_enable.eq(1), payload.read_address.eq(self.payload_place), self.payload.eq(payload.read_data),
        ]

        # A place is taken when the probe is answered, so that two sequences can't be promised the same one.
        taken = Signal(n_jobs)
        owner = Array(Signal(formats.JOB_BITS, name=f"owner_{job}") for job in range(n_jobs))
        base = Signal(formats.PULSE_BITS)
        same = Cat(taken[job] & (owner[job] == self.port.probe.payload.job_id) for job in range(n_jobs))
        in_progress, compared = Signal(), Signal()
        free_job = Signal(shapes.job)
        for job in reversed(range(n_jobs)):
            with m.If(~taken[job]):
                m.d.comb += free_job.eq(job)
        filling = Signal(shapes.job)
        position = Signal(shapes.place)
        answer = self.port.answer
        # `over`: something that was let in has not begun.
        over, over_job = Signal(), Signal(formats.JOB_BITS)
        # A probe must not overtake the sequence before it, whose last descriptors may still be on their way.
        begun = Signal()
        m.d.comb += [
            self.busy.eq(taken.any()),
            self.port.probe.ready.eq(~answer.valid & ~over & ~begun & compared),
        ]
        if self.config.datapath.is_pipelined("cou"):
            # A job that ends in the cycle of the comparison is in progress still.
            m.d.sync += [compared.eq(self.port.probe.valid & ~self.port.probe.ready), in_progress.eq(same.any())]
        else:
            m.d.comb += [compared.eq(1), in_progress.eq(same.any())]
        with m.If(answer.valid & answer.ready):
            m.d.sync += answer.valid.eq(0)
        with m.If(self.port.probe.valid & self.port.probe.ready):
            ok = ~in_progress & ~taken.all()
            m.d.sync += [answer.valid.eq(1), answer.payload.ok.eq(ok)]
            with m.If(ok):
                m.d.sync += [
                    taken.bit_select(free_job, 1).eq(1), owner[free_job].eq(self.port.probe.payload.job_id),
                    begun.eq(1), filling.eq(free_job), position.eq(0), base.eq(self.port.probe.payload.base_pulse),
                ]
            with m.Elif(~in_progress):
                m.d.sync += [over.eq(1), over_job.eq(self.port.probe.payload.job_id)]

        # Blocks are those of the first descriptor; the scheduler sees to it that the others agree.
        m.submodules.cutter = cutter = BlockCutter(n_blocks=self.config.cou.n_blocks)
        clear, unclear = self._reads_what_nobody_wrote(m, first=position == 0)

        # The descriptors are written as they come; only the last one makes an operation of them.
        incoming = self.port.descriptor
        bits = incoming.payload.desc.as_value()
        split = DescriptorControl.size
        operation = self.o_operation
        complete = Signal()
        taken_up = Signal(shapes.operation)
        blocks = taken_up.blocks
        m.d.comb += [
            incoming.ready.eq(~complete & ~over),
            cutter.length.eq(incoming.payload.desc.length), cutter.datatype.eq(incoming.payload.desc.datatype),
            cutter.block_count.eq(incoming.payload.desc.block_count),
            operation.valid.eq(complete & ~(blocks.cut & cutter.busy) & ~unclear),
            control.write_address.eq(Cat(position, filling)), control.write_data.eq(bits[:split]),
            payload.write_address.eq(Cat(position, filling)), payload.write_data.eq(bits[split:]),
        ]
        with m.If(operation.valid & operation.ready):
            m.d.sync += complete.eq(0)
        with m.If(incoming.valid & incoming.ready):
            m.d.comb += [control.write_enable.eq(1), payload.write_enable.eq(1)]
            m.d.sync += position.eq(position + 1)
            # The tag of a sequence is that of its first descriptor.
            with m.If(position == 0):
                cut = incoming.payload.desc.block_count > 1
                m.d.comb += cutter.start.eq(cut)
                m.d.sync += [
                    taken_up.tag.eq(incoming.payload.desc.tag), blocks.cut.eq(cut),
                    blocks.count.eq(Mux(cut, incoming.payload.desc.block_count, 1)),
                ]
            with m.If(incoming.payload.last):
                m.d.sync += begun.eq(0)
                with m.If(incoming.payload.abort):
                    m.d.sync += [taken.bit_select(filling, 1).eq(0), over.eq(1), over_job.eq(owner[filling])]
                with m.Else():
                    desc = incoming.payload.desc
                    m.d.sync += [
                        complete.eq(1),
                        taken_up.job.eq(filling), taken_up.job_id.eq(desc.job_id),
                        taken_up.vp.eq(desc.source_vp), taken_up.length.eq(desc.length),
                        taken_up.pulse_bytes.eq(desc.pulse_bytes),
                        taken_up.base_pulse.eq(base),
                        taken_up.n_descriptors.eq(position + 1),
                    ]

        m.d.comb += [
            operation.payload.eq(taken_up),
            operation.payload.blocks.bytes.eq(Mux(blocks.cut, cutter.block_bytes, taken_up.length)),
            operation.payload.blocks.n_full.eq(cutter.n_full),
            operation.payload.blocks.tail_bytes.eq(cutter.tail_bytes), operation.payload.blocks.clear.eq(clear),
        ]

        # A place is free before it is told, so that whoever is let in because of that finds it.
        m.submodules.ended = ended = StreamArbiter(shape=_ended, n=2)
        connect(m, ended.o, flipped(self.o_ended))
        release = self.i_release
        m.d.comb += [
            ended.i[0].valid.eq(release.valid), release.ready.eq(ended.i[0].ready),
            ended.i[0].payload.job_id.eq(owner[release.payload.job]),
            ended.i[0].payload.pulses.eq(release.payload.pulses),
            ended.i[1].valid.eq(over), ended.i[1].payload.job_id.eq(over_job), ended.i[1].payload.pulses.eq(0),
        ]
        with m.If(ended.i[1].ready & over):
            m.d.sync += over.eq(0)
        with m.If(release.valid & release.ready):
            m.d.sync += taken.bit_select(release.payload.job, 1).eq(0)

        m.d.sync += self.moves.eq(any_moves(cutter.moves, ended.moves))

        return m

    def _reads_what_nobody_wrote(self, m: Module, *, first):
        """Whether some descriptor so far continues with blocks of the intermediate result that none has written, and
        whether one is still being looked at.

        They have to be zeros then. Each descriptor writes all of its slice, so this can be seen before any runs.
        """
        port = self.port.descriptor
        desc = port.payload.desc
        n_blocks = self.config.cou.n_blocks
        end = Signal(self.shapes.block)
        known, written = Signal(n_blocks), Signal(n_blocks)
        found = Signal()
        # What the descriptor says by itself; with registers behind it if there are to be any.
        said = data.StructLayout({"came": 1, "first": 1, "reads": 1, "slice": n_blocks})
        told, seen = Signal(said), Signal(said)
        m.d.comb += [
            end.eq(Mux(desc.slice_count == 0, desc.block_count, desc.slice_first + desc.slice_count)),
            told.came.eq(port.valid & port.ready), told.first.eq(first),
            told.reads.eq((desc.block_count > 1) & (desc.operand == Operand.INTERMEDIATE)),
            told.slice.eq(Cat((desc.slice_first <= block) & (block < end) for block in range(n_blocks))),
            known.eq(Mux(seen.first, 0, written)),
        ]
        pipelined = self.config.datapath.is_pipelined("cou")
        domain = m.d.sync if pipelined else m.d.comb
        domain += seen.eq(told)
        with m.If(seen.came):
            missing = seen.reads & (seen.slice & ~known).any()
            m.d.sync += [written.eq(known | seen.slice), found.eq(missing | (found & ~seen.first))]
        return found, seen.came if pipelined else 0
