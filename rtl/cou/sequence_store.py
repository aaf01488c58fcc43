"""Keeps the descriptor sequences of the operations in progress.

Architecture: ``rtl/cou/README.md``. Golden model: ``firmware_models.golden.executor``.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import Operand
from firmware_models.config import Config
from rtl.cou.block_cutter import BlockCutter
from rtl.cou.context_signatures import SequenceViewSignature, WordsSignature
from rtl.cou.shapes import CouShapes
from rtl.interface import SequenceSignature, inline_layout, inline_words
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.memory import BlockMemory

_ended = data.StructLayout({"job_id": formats.JOB_BITS, "pulses": formats.PULSE_BITS})


class _Entries:
    """Registers of the entries for operations, and of the sequence that is on its way into one of them.

    Members
    -------
    taken, owner : Signal(n_jobs), Array
        Entries that are in use, and the JobID of each.
    over, over_job : Signal
        A sequence that was let in has not begun, and will not: its end is to be reported.
    begun, filling, position, base : Signal
        A sequence is on its way into the entry `filling`: its next descriptor, and its first pulse.
    """

    def __init__(self, shapes: CouShapes, n_jobs: int):
        self.taken = Signal(n_jobs, name="taken")
        self.owner = Array(Signal(shapes.formats.job_bits, name=f"owner_{job}") for job in range(n_jobs))
        self.over, self.over_job = Signal(name="over"), Signal(shapes.formats.job_bits, name="over_job")
        self.begun, self.filling = Signal(name="begun"), Signal(shapes.job, name="filling")
        self.position = Signal(shapes.position, name="position")
        self.base = Signal(shapes.formats.pulse_bits, name="base")


class SequenceStore(wiring.Component):
    """Takes sequences from the scheduler, hands each over as one operation, and holds its descriptors meanwhile.

    A job has one operation at a time: ``port.answer`` refuses a probe for a job that is in progress, and
    a probe when no entry is free. Pulses of a job are numbered through its operations, so that packets of
    the next operation, which a faster peer may send already, never bear a key of the current one. The probe brings
    the number to begin with.

    Every probe but that of a job in progress leads to one item on ``o_ended``: when it is refused for want of an entry,
    when its sequence is aborted, or when its operation ends.

    Timing: a probe is answered after two cycles; the operation is offered two cycles after its last descriptor or, if
    the message is cut into blocks, at most 44 cycles after the first one if that is later.

    Parameters
    ----------
    config : Config
        ``datapath`` and ``cou``.

    Members
    -------
    port : ``In(SequenceSignature())``
        From the scheduler.
    inline_data : ``In(inline_layout(data_width))``
        Inline data of the descriptors.
    o_operation : ``Out(stream.Signature(operation))``
        Committed operations.
    i_release : ``In(stream.Signature({job, pulses}))``
        Ends an operation after `pulses` pulses and frees its entry.
    o_ended : ``Out(stream.Signature({job_id, pulses}))``
        The operation, refused or aborted sequence has ended; it had so many pulses.
    view : ``In(SequenceViewSignature)``
        Descriptors.
    words : ``In(WordsSignature)``
        Inline data. An assertion sees to it that a word that is used had come when it was read.
    busy : ``Out(1)``
        Some operation is in progress.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        super().__init__({
            "port": In(SequenceSignature()), "inline_data": In(inline_layout(config.datapath.data_width)),
            "o_operation": Out(stream.Signature(shapes.operation)),
            "i_release": In(stream.Signature(shapes.released)),
            "o_ended": Out(stream.Signature(_ended)),
            "view": In(SequenceViewSignature(shapes)),
            "words": In(WordsSignature(shapes)),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        shapes = self.shapes
        depth = 1 << (shapes.position + shapes.job)

        # Nobody uses a descriptor before its sequence is complete.
        m.submodules.controls = control = BlockMemory(shape=shapes.control, depth=depth, careless=True)
        m.d.comb += [
            control.read_enable.eq(self.view.fetch), control.read_address.eq(self.view.address),
            self.view.control.eq(control.read_data),
        ]

        s = _Entries(shapes, self.config.cou.n_jobs)
        m.d.comb += self.busy.eq(s.taken.any())
        self._answer_probes(m, s)
        self._take_up(m, s, control=control)
        self._keep_inline(m, s)
        self._tell_ends(m, s)

        return m

    def _answer_probes(self, m: Module, s: _Entries) -> None:
        """Reserves an entry with the answer to a probe, so that no two sequences get the same one."""
        n_jobs = self.config.cou.n_jobs
        taken, owner, over, begun = s.taken, s.owner, s.over, s.begun
        same = Cat(taken[job] & (owner[job] == self.port.probe.payload.job_id) for job in range(n_jobs))
        in_progress, compared = Signal(), Signal()
        free_job = Signal(self.shapes.job)
        for job in reversed(range(n_jobs)):
            with m.If(~taken[job]):
                m.d.comb += free_job.eq(job)
        answer = self.port.answer
        # A probe must not overtake the sequence before it, whose last descriptors may still be on their way.
        m.d.comb += self.port.probe.ready.eq(~answer.valid & ~over & ~begun & compared)
        # A job that ends in the cycle of the comparison is in progress still.
        m.d.sync += [compared.eq(self.port.probe.valid & ~self.port.probe.ready), in_progress.eq(same.any())]
        with m.If(answer.valid & answer.ready):
            m.d.sync += answer.valid.eq(0)
        with m.If(self.port.probe.valid & self.port.probe.ready):
            ok = ~in_progress & ~taken.all()
            m.d.sync += [answer.valid.eq(1), answer.payload.ok.eq(ok)]
            with m.If(ok):
                m.d.sync += [
                    taken.bit_select(free_job, 1).eq(1), owner[free_job].eq(self.port.probe.payload.job_id),
                    begun.eq(1), s.filling.eq(free_job), s.position.eq(0),
                    s.base.eq(self.port.probe.payload.base_pulse),
                ]
            with m.Elif(~in_progress):
                m.d.sync += [over.eq(1), s.over_job.eq(self.port.probe.payload.job_id)]

    def _take_up(self, m: Module, s: _Entries, *, control: BlockMemory) -> BlockCutter:
        """Writes the descriptors as they come, and makes an operation of them when the last one is there."""
        position, filling = s.position, s.filling
        # Blocks are those of the first descriptor; the scheduler sees to it that the others agree.
        m.submodules.cutter = cutter = BlockCutter(n_blocks=self.config.cou.n_blocks)
        clear, lazy, unclear = self._what_is_read(m, first=position == 0)

        incoming = self.port.descriptor
        operation = self.o_operation
        complete = Signal()
        taken_up = Signal(self.shapes.operation)
        blocks = taken_up.blocks
        m.d.comb += [
            incoming.ready.eq(~complete & ~s.over),
            cutter.length.eq(incoming.payload.desc.length), cutter.datatype.eq(incoming.payload.desc.datatype),
            cutter.block_count.eq(incoming.payload.desc.block_count),
            operation.valid.eq(complete & ~(blocks.cut & cutter.busy) & ~unclear),
            control.write_address.eq(Cat(position, filling)), control.write_data.eq(incoming.payload.desc),
            control.write_enable.eq(incoming.valid & incoming.ready),
            cutter.clear.eq(incoming.valid & (position == 0) & ~complete),
        ]
        with m.If(operation.valid & operation.ready):
            m.d.sync += complete.eq(0)
        with m.If(incoming.valid & incoming.ready):
            m.d.sync += position.eq(position + 1)
            # The tag of a sequence is that of its first descriptor, and so are the terms.
            with m.If(position == 0):
                cut = incoming.payload.desc.block_count > 1
                m.d.comb += cutter.start.eq(cut)
                m.d.sync += [
                    taken_up.tag.eq(incoming.payload.desc.tag), taken_up.terms.eq(incoming.payload.desc.terms),
                    blocks.cut.eq(cut),
                    blocks.count.eq(Mux(cut, incoming.payload.desc.block_count, 1)),
                ]
            with m.If(incoming.payload.last):
                m.d.sync += s.begun.eq(0)
                with m.If(incoming.payload.abort):
                    m.d.sync += [
                        s.taken.bit_select(filling, 1).eq(0), s.over.eq(1), s.over_job.eq(s.owner[filling]),
                    ]
                with m.Else():
                    desc = incoming.payload.desc
                    m.d.sync += [
                        complete.eq(1),
                        taken_up.job.eq(filling), taken_up.job_id.eq(desc.job_id),
                        taken_up.vp.eq(desc.source_vp), taken_up.length.eq(desc.length),
                        taken_up.pulse_bytes.eq(desc.pulse_bytes),
                        taken_up.base_pulse.eq(s.base),
                        taken_up.n_descriptors.eq(position + 1),
                    ]

        m.d.comb += [
            operation.payload.eq(taken_up),
            operation.payload.blocks.bytes.eq(Mux(blocks.cut, cutter.block_bytes, taken_up.length)),
            operation.payload.blocks.n_full.eq(cutter.n_full),
            operation.payload.blocks.tail_bytes.eq(cutter.tail_bytes), operation.payload.blocks.clear.eq(clear),
            operation.payload.lazy.eq(lazy),
        ]

    def _keep_inline(self, m: Module, s: _Entries) -> Signal:
        """Writes inline data as they come. The first pulse of the operation asks for a word ten cycles after the
        descriptor was taken at the earliest, in which eight of them come.
        """
        width, incoming = self.config.datapath.data_width, self.port.descriptor
        n_words = inline_words(width)
        m.submodules.inline_words = words = BlockMemory(
            shape=width, depth=1 << self.shapes.word_address.size, careless=True,
            shallow=self.config.datapath.block_memories,
        )
        receives, filled = Signal(), Signal(self.shapes.position + self.shapes.job)
        with m.If(incoming.valid & incoming.ready):
            m.d.sync += [receives.eq(~incoming.payload.abort), filled.eq(Cat(s.position, s.filling))]
        with m.Elif(self.inline_data.valid & (self.inline_data.index == n_words - 1)):
            m.d.sync += receives.eq(0)
        m.d.comb += [
            words.write_enable.eq(self.inline_data.valid & receives), words.write_data.eq(self.inline_data.data),
            words.write_address.eq(Cat(self.inline_data.index, filled)),
            words.read_enable.eq(1), words.read_address.eq(self.words.address), self.words.word.eq(words.read_data),
        ]
        wanted, missing = self.words.address, Signal()
        m.d.sync += [
            missing.eq(
                receives & (Cat(wanted.position, wanted.job) == filled)
                & ~(self.inline_data.valid & (self.inline_data.index > wanted.index))
            ),
            Assert(~(self.words.taken & missing), "inline data are read before they have come"),
        ]

    def _tell_ends(self, m: Module, s: _Entries) -> StreamArbiter:
        """Frees entries and reports their end. An entry is free before the report, so an operation that is let in
        because of the report finds it.
        """
        m.submodules.ended = ended = StreamArbiter(shape=_ended, n=2)
        connect(m, ended.o, flipped(self.o_ended))
        release = self.i_release
        m.d.comb += [
            ended.i[0].valid.eq(release.valid), release.ready.eq(ended.i[0].ready),
            ended.i[0].payload.job_id.eq(s.owner[release.payload.job]),
            ended.i[0].payload.pulses.eq(release.payload.pulses),
            ended.i[1].valid.eq(s.over), ended.i[1].payload.job_id.eq(s.over_job), ended.i[1].payload.pulses.eq(0),
        ]
        with m.If(ended.i[1].ready & s.over):
            m.d.sync += s.over.eq(0)
        with m.If(release.valid & release.ready):
            m.d.sync += s.taken.bit_select(release.payload.job, 1).eq(0)

    def _what_is_read(self, m: Module, *, first):
        """Flags of the descriptors so far: some read blocks of the intermediate result that none has written;
        none reads blocks that another one has merely sent from outside; one is still being looked at.

        Blocks of the first kind must be zeroed, those of the second must not stay in the operand memory. Each
        descriptor writes all of its slice, so this is known before any runs.
        """
        port = self.port.descriptor
        desc = port.payload.desc
        n_blocks = self.config.cou.n_blocks
        end = Signal(self.shapes.block)
        known, written, kept, passed = (Signal(n_blocks, name=name) for name in ("known", "written", "kept", "passed"))
        found, passed_read = Signal(), Signal()
        # Traits that follow from the descriptor alone.
        traits = data.StructLayout({"transferred": 1, "first": 1, "reads": 1, "passes": 1, "slice": n_blocks})
        coming, seen = Signal(traits), Signal(traits)
        consumed = Signal.like(desc.cp_count)
        outside = (desc.operand == Operand.PAYLOAD) | (desc.operand == Operand.MEMORY)
        m.d.comb += [
            end.eq(Mux(desc.slice_count == 0, desc.block_count, desc.slice_first + desc.slice_count)),
            coming.transferred.eq(port.valid & port.ready), coming.first.eq(first),
            coming.reads.eq((desc.block_count > 1) & (desc.operand == Operand.INTERMEDIATE)),
            coming.passes.eq(outside & ~desc.write_back & (desc.cp_count == Mux(first, 0, consumed))),
            coming.slice.eq(Cat((desc.slice_first <= block) & (block < end) for block in range(n_blocks))),
            known.eq(Mux(seen.first, 0, written)), kept.eq(Mux(seen.first, 0, passed)),
        ]
        with m.If(coming.transferred):
            m.d.sync += consumed.eq(desc.cp_count)
        m.d.sync += seen.transferred.eq(coming.transferred)
        with m.If(port.valid):
            m.d.sync += [seen[name].eq(coming[name]) for name in ("first", "reads", "passes", "slice")]
        with m.If(seen.transferred):
            missing = seen.reads & (seen.slice & ~known).any()
            wanted = seen.reads & (seen.slice & kept).any()
            m.d.sync += [
                written.eq(known | seen.slice), found.eq(missing | (found & ~seen.first)),
                passed.eq((kept & ~seen.slice) | Mux(seen.passes, seen.slice, 0)),
                passed_read.eq(wanted | (passed_read & ~seen.first)),
            ]
        return found, ~passed_read, seen.transferred
