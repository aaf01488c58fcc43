"""Jobs that software has closed, and reasons to look for what is left of them.

Architecture: ``docs/jobs.md``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.buffer.layouts import Arrival, arrival_layout
from rtl.cou.shapes import CouShapes
from rtl.interface import JobClosing


class ReasonsSignature(wiring.Signature):
    """Reasons to look through operations and packets, seen from whoever looks.

    A reason that comes up in the cycle in which a look begins is one for the next look.

    Members
    -------
    operations, packets : ``In(1)``
        There is a reason to look through all of them.
    takes_operations, takes_packets : ``Out(1)``
        A look through all of them begins.
    passes_over : ``Out(1)``
        A packet of a closed job is left to its operation: when one ends, packets are to be looked through again.
    job_id : ``Out``, is_closed : ``In(1)``
        A job; a cycle later, a flag that it is closed.
    """

    def __init__(self):
        super().__init__({
            "operations": In(1), "packets": In(1), "takes_operations": Out(1), "takes_packets": Out(1),
            "passes_over": Out(1), "job_id": Out(formats.JOB_BITS), "is_closed": In(1),
        })


class ClosedJobs(wiring.Component):
    """Remembers which jobs are closed, and notes what happens to them.

    Operations are to be looked through after one has begun, packets after a job has been closed, after a packet of one
    has arrived, after an operation is over that packets were left to, after an operation has begun to wait, and after a
    packet of the job of one that waits has arrived.

    Timing: after a reset all jobs are open after as many cycles as there are JobIDs.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    n_jobs : int
        Operations of the unit, from 1 to as many as `shapes` can number.

    Members
    -------
    order : ``In(stream.Signature(JobClosing))``
        A job is closed, or open again: never twice the same. Always taken, from when all jobs are open on.
    holds : ``In(array of holds)``
        Operations that there are.
    i_arrival : ``In(stream.Signature({key, slot, what}))``
        Packets that come in; always taken.
    reasons : ``In(ReasonsSignature())``
        Reasons to look.
    """

    def __init__(self, *, shapes: CouShapes, n_jobs: int):
        shapes.check(n_jobs=n_jobs)
        self.shapes, self.n_jobs = shapes, n_jobs
        super().__init__({
            "order": In(stream.Signature(JobClosing)),
            "holds": In(data.ArrayLayout(shapes.holds, n_jobs)),
            "i_arrival": In(stream.Signature(arrival_layout(shapes.packet, shapes.formats))),
            "reasons": In(ReasonsSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        n_jobs, reasons, order = self.n_jobs, self.reasons, self.order
        m.submodules.closed = closed = memory.Memory(
            shape=1, depth=1 << formats.JOB_BITS, init=[], attrs={"ram_style": "block"},
        )
        write = closed.write_port()
        of_job, of_arrival = closed.read_port(), closed.read_port(transparent_for=[write])
        count, swept, sweep = Signal(formats.JOB_BITS + 1), Signal(), Signal(formats.JOB_BITS)
        m.d.comb += [
            order.ready.eq(1), write.en.eq(order.valid | ~swept), write.addr.eq(sweep), write.data.eq(0),
            of_job.addr.eq(reasons.job_id), reasons.is_closed.eq(of_job.data),
        ]
        with m.If(swept):
            m.d.comb += [write.addr.eq(order.payload.job_id), write.data.eq(order.payload.closed)]
        with m.Else():
            m.d.sync += [sweep.eq(sweep + 1), swept.eq(sweep.all())]
        closes = order.valid & order.payload.closed
        with m.If(order.valid):
            m.d.sync += count.eq(Mux(order.payload.closed, count + 1, count - 1))

        arrival, arrives = self.i_arrival.payload, self.i_arrival.valid
        arrived, arrived_job, waits = Signal(), Signal(formats.JOB_BITS), Signal(n_jobs)
        m.d.comb += [
            self.i_arrival.ready.eq(1), of_arrival.addr.eq(arrival.key.job_id), of_arrival.en.eq(arrives),
            waits.eq(Cat(self.holds[j].waits for j in range(n_jobs))),
        ]
        m.d.sync += arrived.eq(arrives & (arrival.what == Arrival.THERE) & ((count != 0) | waits.any()))
        with m.If(arrives):
            m.d.sync += arrived_job.eq(arrival.key.job_id)
        # An operation may be let in before its job is closed and begin later.
        live, live_before = Signal(n_jobs), Signal(n_jobs)
        m.d.comb += live.eq(Cat(self.holds[j].live for j in range(n_jobs)))
        waited_for = Cat(waits[j] & (self.holds[j].job_id == arrived_job) for j in range(n_jobs)).any()
        waited, passed_over = Signal(n_jobs), Signal()
        m.d.sync += [live_before.eq(live), waited.eq(waits)]
        begun, over = (live & ~live_before).any() & (count != 0), (live_before & ~live).any() & passed_over
        concerned = Signal()
        m.d.sync += [
            concerned.eq(arrived & (of_arrival.data | waited_for)),
            passed_over.eq((passed_over & ~reasons.takes_packets) | reasons.passes_over),
            reasons.operations.eq((reasons.operations & ~reasons.takes_operations) | closes | begun),
            reasons.packets.eq(
                (reasons.packets & ~reasons.takes_packets) | closes | over | (waits & ~waited).any() | concerned
            ),
        ]
        return m
