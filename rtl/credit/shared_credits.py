"""Shared credits at the sender: those that peers have granted, and how many packets have asked for one.

Architecture: ``docs/decisions/0010-loans-come-with-credits.md``.
"""

from types import SimpleNamespace
from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import memory
from amaranth.lib.wiring import connect, flipped

from firmware_models.abi import formats
from rtl.credit.layouts import CreditNotice
from rtl.kit.fifo import StreamFifo
from rtl.kit.index import index_bits

LOANS_ASKED = 32
"""Most packets of one offload unit that have asked for a shared credit, and shared credits that it holds, together."""

LOANS_KEPT = 3
"""Most shared credits of one job for one peer that are kept. As many credits, of either kind, are to be left to younger
pulses behind a packet; otherwise it asks for one more."""


def shared_credits(m: Module, table: Any, t: SimpleNamespace, *, shares: bool) -> SimpleNamespace:
    """Shared credits that are here, in a slot for each peer, and those that wait to return; none without a pool
    (`shares`).

    `table` has the streams, `t` what the memories of the table show.
    """
    slot_bits = index_bits(LOANS_ASKED)
    loans = SimpleNamespace(
        **{name: Signal(name=name) for name in (
            "loan", "want", "granted", "keep", "flush", "next_step", "flushing",
        )},
        full=Signal(LOANS_ASKED), spot=Signal(slot_bits), step=Signal(slot_bits),
        flushed_job=Signal(formats.JOB_BITS), reserved=Signal(range(LOANS_ASKED + 1)),
    )
    if not shares:
        return loans
    loan, want, granted, keep, flush = loans.loan, loans.want, loans.granted, loans.keep, loans.flush
    giving, reserved = table.i_return.payload, loans.reserved
    m.submodules.unused = unused = StreamFifo(shape=CreditNotice, depth=LOANS_ASKED)
    connect(m, unused.o, flipped(table.o_unused))
    m.submodules.kept = kept = memory.Memory(shape=CreditNotice, depth=LOANS_ASKED, init=[])
    keep_port, loans.kept = kept.write_port(), kept.read_port(domain="comb")
    # Packets that ask and have no answer yet, shared credits that are here, and those that wait to return: there
    # is room in the queue for each, and a packet may ask if some is left.
    loans.asked = asked = Signal(range(LOANS_ASKED + 1))
    answered = giving.want & (t.sum_out.asked != 0) & table.i_return.ready
    loans.answered, loans.written_off = answered, Signal.like(asked, name="written_off")
    notice = Signal(CreditNotice)
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
    for k in reversed(range(LOANS_ASKED)):
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
        m.d.sync += [loans.step.eq(loans.step + 1), loans.flushing.eq(loans.step != LOANS_ASKED - 1)]
    return loans
