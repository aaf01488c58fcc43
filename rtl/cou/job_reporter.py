"""Tells the job table what no longer keeps a job at this unit.

Architecture: ``docs/jobs.md``.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from rtl.buffer.layouts import Departure
from rtl.credit.credit_table import credit_rest
from rtl.interface import JobReport, JobReportKind
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.queue import stream_queue
from rtl.kit.register import StreamRegister

_job = data.StructLayout({"job_id": formats.JOB_BITS})
_ended = data.StructLayout({"job_id": formats.JOB_BITS, "pulses": formats.PULSE_BITS})
_ENDINGS = 4


class JobReporter(wiring.Component):
    """Reports to the job table what no longer keeps a job at this offload unit: packets that have left the buffer, and
    operations that have ended.

    An outstanding shared credit keeps a job here as a packet does, so a consumed packet is worth 0, 1 or 2 reports.

    When an operation ends, the credit table is asked for outstanding credits of its job. Its answers, and its later
    reports that the last one has returned, are passed on in order: a late "credits are outstanding" could otherwise
    keep a job here for ever.

    Members
    -------
    i_departure : ``In(stream.Signature(Departure))``
        A packet has left the buffer; `count` reports are due. With `duplicate` it is one, of another kind.
    i_unused : ``In(stream.Signature({job_id}))``
        A shared credit has returned without a packet: one report is due, RETURNED.
    i_ended : ``In(stream.Signature({job_id, pulses}))``
        An operation has ended.
    o_end : ``Out(stream.Signature({job_id}))``, i_rest : ``In(stream.Signature({job_id, ended, owing}))``
        Credit table.
    o : ``Out(stream.Signature(JobReport))``
        Reports.
    """

    def __init__(self):
        super().__init__({
            "i_departure": In(stream.Signature(Departure)),
            "i_unused": In(stream.Signature(_job)),
            "i_ended": In(stream.Signature(_ended)),
            "o_end": Out(stream.Signature(_job)),
            "i_rest": In(stream.Signature(credit_rest())),
            "o": Out(stream.Signature(JobReport)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = StreamArbiter(shape=JobReport, n=3, full_rate=False)
        m.submodules.pulses = pulses = stream_queue(shape=formats.PULSE_BITS, depth=_ENDINGS)
        connect(m, arbiter.o, flipped(self.o))

        # The number of pulses waits here while the credit table is asked.
        ended = self.i_ended
        m.d.comb += [
            self.o_end.valid.eq(ended.valid & pulses.i.ready), self.o_end.payload.job_id.eq(ended.payload.job_id),
            pulses.i.valid.eq(ended.valid & self.o_end.ready), pulses.i.payload.eq(ended.payload.pulses),
            ended.ready.eq(self.o_end.ready & pulses.i.ready),
        ]

        # The answer of the credit table is registered, so its handshake depends on no other report.
        m.submodules.rests = rests = StreamRegister(shape=JobReport)
        connect(m, rests.o, arbiter.i[1])
        departed, rest, unused = arbiter.i[0], rests.i, arbiter.i[2]
        count, again = self.i_departure.payload.count, Signal()
        m.d.comb += [
            departed.valid.eq(self.i_departure.valid & (count != 0)),
            self.i_departure.ready.eq((count == 0) | (departed.ready & ((count == 1) | again))),
            unused.valid.eq(self.i_unused.valid), self.i_unused.ready.eq(unused.ready),
        ]
        with m.If(departed.valid & departed.ready):
            m.d.sync += again.eq((count == 2) & ~again)
        kind = Mux(
            self.i_departure.payload.duplicate,
            Mux(self.i_departure.payload.shared, JobReportKind.SHARED_DUPLICATE, JobReportKind.DUPLICATE),
            JobReportKind.PACKET_LEFT,
        )
        for port, job_id, what in (
            (departed, self.i_departure.payload.job_id, kind),
            (unused, self.i_unused.payload.job_id, JobReportKind.RETURNED),
        ):
            m.d.comb += [
                port.payload.kind.eq(what), port.payload.job_id.eq(job_id),
                port.payload.owing.eq(0), port.payload.pulses.eq(0),
            ]
        m.d.comb += [
            rest.valid.eq(self.i_rest.valid), self.i_rest.ready.eq(rest.ready),
            rest.payload.job_id.eq(self.i_rest.payload.job_id), rest.payload.owing.eq(self.i_rest.payload.owing),
            pulses.o.ready.eq(rest.valid & rest.ready & self.i_rest.payload.ended),
        ]
        with m.If(self.i_rest.payload.ended):
            m.d.comb += [rest.payload.kind.eq(JobReportKind.ENDED), rest.payload.pulses.eq(pulses.o.payload)]
        with m.Else():
            m.d.comb += [rest.payload.kind.eq(JobReportKind.SETTLED), rest.payload.pulses.eq(0)]


        return m
