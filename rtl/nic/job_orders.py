"""Orders of software about jobs, on their way to the job table and to the offload units."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.cou.unit_signature import JobOrdersSignature
from rtl.interface import UNIT_BITS, JobClosing, JobOrder, JobStanding, JobWriteOff
from rtl.kit.register import StreamRegister


class JobOrders(wiring.Component):
    """Lets one order at a time into the job table, and tells the units what its answer says about them.

    A unit hears of it two cycles after the job table has answered: sooner than of anything that follows from it. A unit
    takes some cycles to write off; until then there is no other order.

    Members
    -------
    i : ``In(stream.Signature(JobOrder))``
        Orders from the registers.
    order : ``Out(stream.Signature(JobOrder))``
        The same, to the job table.
    i_standing, o_standing : ``In(stream.Signature(JobStanding))``, ``Out(stream.Signature(JobStanding))``
        The job table's answers, which are passed on to the registers.
    unused_known : array of ``In(1)``
        From the job table: it knows a shared credit that a unit has reported as RETURNED.
    units : array of ``Out(JobOrdersSignature())``
        The offload units.
    """

    def __init__(self, *, n_units: int):
        self.n_units = n_units
        super().__init__({
            "i": In(stream.Signature(JobOrder)), "order": Out(stream.Signature(JobOrder)),
            "i_standing": In(stream.Signature(JobStanding)), "o_standing": Out(stream.Signature(JobStanding)),
            "unused_known": In(1).array(n_units), "units": Out(JobOrdersSignature()).array(n_units),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.waiting = waiting = StreamRegister(shape=JobOrder)
        connect(m, flipped(self.i), waiting.i)
        order, stands, written_off = self.order, self.i_standing, Signal()
        m.d.comb += [
            order.valid.eq(waiting.o.valid & ~written_off), order.payload.eq(waiting.o.payload),
            waiting.o.ready.eq(order.ready & ~written_off),
            self.o_standing.valid.eq(stands.valid), self.o_standing.payload.eq(stands.payload),
            stands.ready.eq(self.o_standing.ready),
        ]
        is_changed, closing = Signal(), Signal(JobClosing)
        answered = stands.valid & stands.ready
        m.d.sync += [
            is_changed.eq(answered & stands.payload.changed),
            closing.job_id.eq(stands.payload.job_id), closing.closed.eq(stands.payload.closed),
        ]
        lost, its_unit = Signal(JobWriteOff), Signal(UNIT_BITS)
        with m.If(answered & stands.payload.written_off):
            m.d.sync += [
                written_off.eq(1), its_unit.eq(stands.payload.unit), lost.job_id.eq(stands.payload.job_id),
                lost.lost.eq(stands.payload.lost),
            ]
        for index, unit in enumerate(self.units):
            m.d.comb += [
                unit.closing.valid.eq(is_changed), unit.closing.payload.eq(closing),
                unit.write_off.valid.eq(written_off & (its_unit == index)), unit.write_off.payload.eq(lost),
                unit.unused_known.eq(self.unused_known[index]),
            ]
            with m.If(unit.write_off.valid & unit.write_off.ready):
                m.d.sync += written_off.eq(0)
        return m
