"""The trigger's second and third step: reads the state of a context, and plans from it."""

from itertools import pairwise

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.buffer.packet_signatures import HeaderViewSignature
from rtl.cou.context_signatures import (
    LookSignature,
    OperationViewSignature,
    SequenceViewSignature,
    StandstillSignature,
    context_layout,
    event,
    look_layout,
)
from rtl.cou.pass_planner import (
    CUTS,
    PassPlanner,
    begin_progress,
    begin_slice,
    plan_layout,
    progress_layout,
    slice_layout,
)
from rtl.cou.shapes import CouShapes
from rtl.cou.slice_meter import SliceMeter


class PlanStage(wiring.Component):
    """Reads the state of a context, and plans its next step.

    In the cycle in which a context comes its memories are addressed: progress, slice, descriptor, and the header of its
    packet. Two cycles later the plan is made from them; then they may be addressed for the
    next one. If the slice of the descriptor is not known yet it is measured in between.

    Timing: a plan three cycles after its context was taken, and one in two cycles.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    n_contexts : int
        Contexts of the unit, from 1 to as many as `shapes` can number.

    Members
    -------
    i : ``In(stream.Signature(context))``
        Contexts to be looked at.
    o : ``Out(stream.Signature(plan))``
        The plan of each.
    look : ``Out(LookSignature)``
        Registers of the context, in the context file.
    o_measured : ``Out(event(context_layout))``
        To the context file: the slice of this context is known.
    operation : ``Out(OperationViewSignature)``
        Operation table. While errors are on their way there a plan waits, since what it sends has to bear them.
    sequence : ``Out(SequenceViewSignature)``
        Sequence store.
    header : ``Out(HeaderViewSignature)``
        Packet buffer.
    node_id : ``In(24)``
        NodeID of this NIC.
    i_start : ``In(stream.Signature(start))``, start_context : ``In``
        A pulse that begins, in this context.
    fire : ``In(1)``
        The planned pass is handed over: the progress of its context changes.
    standstill : ``In(StandstillSignature)``
        No more contexts are to be looked at; none is, and no plan stands here.
    """

    def __init__(self, *, shapes: CouShapes, n_contexts: int):
        shapes.check(n_contexts=n_contexts)
        self.shapes, self.n_contexts = shapes, n_contexts
        super().__init__({
            "i": In(stream.Signature(shapes.context)), "o": Out(stream.Signature(plan_layout(shapes))),
            "look": Out(LookSignature(shapes)), "o_measured": Out(event(context_layout(shapes))),
            "operation": Out(OperationViewSignature(shapes)), "sequence": Out(SequenceViewSignature(shapes)),
            "header": Out(HeaderViewSignature(shapes.packet, shapes.formats)), "node_id": In(shapes.formats.node_bits),
            "i_start": In(stream.Signature(shapes.start)), "start_context": In(shapes.context),
            "fire": In(1), "standstill": In(StandstillSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        view, sequence, header = self.operation, self.sequence, self.header
        registers, standstill = self.look.registers, self.standstill
        shapes = self.shapes
        m.submodules.planner = planner = PassPlanner(shapes=shapes)
        m.submodules.meter = meter = SliceMeter(shapes=shapes)
        stores = {}
        for name, shape in (("far", progress_layout(shapes)), ("slices", slice_layout(shapes))):
            m.submodules[name] = store = memory.Memory(shape=shape, depth=self.n_contexts, init=[])
            stores[name] = store.write_port(), store.read_port()
        (far_write, far_read), (slice_write, slice_read) = stores["far"], stores["slices"]

        # The memories hold what they have read until they are asked again: that is when the plan before has gone.
        context, look = Signal(shapes.context), Signal(look_layout(shapes))
        kept = Signal(plan_layout(shapes))
        fetch, planned, output_free, pending, expired = (
            Signal(name=name) for name in ("fetch", "planned", "output_free", "pending", "expired")
        )
        # A time-out that comes too late for this plan wakes the context up again.
        m.d.sync += [pending.eq(view.fault_pending), expired.eq(view.expired)]
        m.d.comb += [
            self.look.context.eq(self.i.payload), fetch.eq(self.i.valid & self.i.ready),
            sequence.fetch.eq(fetch),
            far_read.addr.eq(self.i.payload), far_read.en.eq(fetch),
            sequence.address.position.eq(registers.position), sequence.address.job.eq(registers.job),
            header.enable.eq(fetch & registers.packet_there), header.slot.eq(registers.packet),
            view.job.eq(look.job),
            planner.context.eq(context), planner.look.eq(look), planner.progress.eq(far_read.data),
            planner.slice.eq(slice_read.data), planner.desc.eq(sequence.control), planner.packet.eq(header.header),
            planner.operation.eq(view.operation), planner.expired.eq(expired), planner.status.eq(view.status),
            planner.node_id.eq(self.node_id),
            output_free.eq(~self.o.valid & ~pending), self.o.payload.eq(kept),
            *meter.measures(far_read.data, sequence.control, view.operation),
            self.o_measured.payload.context.eq(context),
        ]
        with m.If(fetch):
            m.d.sync += [context.eq(self.i.payload), look.eq(self.look.registers)]
        with m.If(planned):
            m.d.sync += [kept.eq(planner.plan), self.o.valid.eq(1)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        # The slice is read when the context comes, and once more when it has been measured.
        again = Signal()
        first = CUTS[0].upper()
        m.d.comb += [slice_read.addr.eq(Mux(again, context, self.i.payload)), slice_read.en.eq(fetch | again)]
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += [self.i.ready.eq(~standstill.hold), standstill.held.eq(standstill.hold & ~self.o.valid)]
                with m.If(self.i.valid & ~standstill.hold):
                    m.next = first
            # One state for each of the planner's cuts.
            for cut, behind in pairwise((*CUTS, "plan")):
                with m.State(cut.upper()):
                    m.next = behind.upper()
                    with m.If(~look.measured & ~view.expired):
                        m.next = "MEASURE"
            with m.State("MEASURE"):
                m.d.comb += [meter.run.eq(1), self.o_measured.valid.eq(meter.done)]
                with m.If(meter.done):
                    m.d.sync += look.measured.eq(1)
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += again.eq(1)
                m.next = first
            with m.State("PLAN"):
                m.d.comb += [planned.eq(output_free), self.i.ready.eq(output_free & ~standstill.hold)]
                with m.If(output_free):
                    m.next = "IDLE"
                    with m.If(self.i.valid & ~standstill.hold):
                        m.next = first

        # Write ports of the progress memories. A pulse begins only while no plan is offered, no progress is written and
        # no slice is measured, so each port has one writer per cycle. Progress is written one cycle after `fire`, while
        # the plan is still held.
        begins, progresses = self.i_start, Signal()
        m.d.sync += progresses.eq(self.fire)
        begin = begins.valid & begins.ready
        m.d.comb += [
            begins.ready.eq(~self.o.valid & ~progresses & ~fsm.ongoing("MEASURE")),
            far_write.en.eq(progresses | begin), slice_write.en.eq(self.o_measured.valid | begin),
        ]
        with m.If(progresses):
            m.d.comb += [far_write.addr.eq(kept.context), far_write.data.eq(kept.after)]
        with m.Else():
            m.d.comb += far_write.addr.eq(self.start_context)
            m.d.comb += [far_write.data[name].eq(value) for name, value in begin_progress(begins.payload).items()]
        with m.If(self.o_measured.valid):
            m.d.comb += [slice_write.addr.eq(context), *meter.notes(slice_write.data)]
        with m.Else():
            pieces = slice_write.data.pieces
            m.d.comb += slice_write.addr.eq(self.start_context)
            m.d.comb += [slice_write.data[name].eq(value) for name, value in begin_slice(begins.payload).items()]
            m.d.comb += [pieces.count.eq(1), pieces.bytes.eq(begins.payload.bytes)]
        return m
