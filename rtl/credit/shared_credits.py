"""Shared credits at the sender: those that peers have granted, and how many packets have asked for one.

Architecture: ``docs/decisions/0010-loans-come-with-credits.md``.
"""

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import memory
from amaranth.lib.wiring import connect, flipped

from firmware_models.abi.formats import FormatSet
from rtl.credit.credit_sizes import CreditSizes
from rtl.credit.layouts import credit_notice
from rtl.kit.index import index_bits
from rtl.kit.queue import stream_queue


class SharedCredits:
    """Registers and wires of the shared credits that are here, in a slot for each peer.

    Parameters
    ----------
    formats : FormatSet
        For JobIDs.
    sizes : CreditSizes
        ``most_asked``: places.

    Members
    -------
    loan, want : Signal
        A request is answered with a shared credit; its packet asks for one.
    granted, keep : Signal
        One comes with credits that return; it stays here.
    flush, flushing, flushed_job, step, next_step : Signal
        One returns unused; the slots are looked through for the job whose operation has ended, one after the other.
    full, spot : Signal
        Slots that are in use; a free one.
    reserved, asked : Signal
        Places that are taken, of ``most_asked``; packets that have asked and have no answer yet.
    answered, written_off : Value, Signal
        One of these is answered; so many will not be.
    kept : ReadPort
        The slot that is looked at.
    """

    def __init__(self, formats: FormatSet, sizes: CreditSizes):
        slot_bits, places = index_bits(sizes.most_asked), range(sizes.most_asked + 1)
        self.loan, self.want, self.granted, self.keep, self.flush, self.next_step, self.flushing = (
            Signal(name=name) for name in ("loan", "want", "granted", "keep", "flush", "next_step", "flushing")
        )
        self.full = Signal(sizes.most_asked, name="full")
        self.flushed_job = Signal(formats.job_bits, name="flushed_job")
        self.spot, self.step = Signal(slot_bits, name="spot"), Signal(slot_bits, name="step")
        self.reserved, self.asked, self.written_off = (
            Signal(places, name=name) for name in ("reserved", "asked", "written_off")
        )
        self.answered: Any = None
        self.kept: Any = None


def shared_credits(m: Module, table: Any, t: Any, *, shares: bool) -> SharedCredits:
    """Shared credits that are here, and those that wait to return; none without a pool (`shares`).

    `table` has the streams, `t` what the memories of the table show.
    """
    formats, most_asked = table.config.formats, table.sizes.most_asked
    loans, shape = SharedCredits(formats, table.sizes), credit_notice(formats)
    if not shares:
        return loans
    loan, want, granted, keep, flush = loans.loan, loans.want, loans.granted, loans.keep, loans.flush
    giving, reserved = table.i_return.payload, loans.reserved
    m.submodules.unused = unused = stream_queue(shape=shape, depth=most_asked)
    connect(m, unused.o, flipped(table.o_unused))
    m.submodules.kept = kept = memory.Memory(shape=shape, depth=most_asked, init=[])
    keep_port, loans.kept = kept.write_port(), kept.read_port(domain="comb")
    # Packets that ask and have no answer yet, shared credits that are here, and those that wait to return: there
    # is room in the queue for each, and a packet may ask if some is left.
    asked = loans.asked
    answered = giving.want & (t.sum_out.asked != 0) & table.i_return.ready
    loans.answered = answered
    notice = Signal(shape)
    m.d.comb += [
        granted.eq(giving.loan & answered), unused.i.valid.eq((granted & ~keep) | flush),
        notice.job_id.eq(giving.job_id), notice.peer.eq(giving.peer), notice.loan.eq(1),
        notice.dest_id.eq(giving.source_id), notice.dest_vp.eq(giving.source_vp),
        notice.source_vp.eq(giving.dest_vp),
        unused.i.payload.eq(Mux(flush, loans.kept.data, notice)),
        loans.kept.addr.eq(loans.step), keep_port.addr.eq(loans.spot), keep_port.data.eq(notice),
        keep_port.en.eq(granted & keep),
    ]
    m.d.sync += [
        asked.eq(asked + want - answered - loans.written_off),
        reserved.eq(
            reserved + want - (answered & ~granted) - loan - (table.o_unused.valid & table.o_unused.ready)
            - loans.written_off
        ),
    ]
    for k in reversed(range(most_asked)):
        with m.If(~loans.full[k]):
            m.d.comb += loans.spot.eq(k)
    # Those of one peer are alike, so one slot stands for them.
    with m.If(granted & keep & (t.stored.loans == 0)):
        m.d.sync += loans.full.bit_select(loans.spot, 1).eq(1)
    with m.If(loan & (t.stored.loans == 1)):
        m.d.sync += loans.full.bit_select(t.stored.slot, 1).eq(0)
    with m.If(flush & (t.stored.loans == 1)):
        m.d.sync += loans.full.bit_select(loans.step, 1).eq(0)
    # At the end of a job's operation one slot after the other is looked at.
    with m.If(loans.next_step):
        m.d.sync += [loans.step.eq(loans.step + 1), loans.flushing.eq(loans.step != most_asked - 1)]
    return loans
