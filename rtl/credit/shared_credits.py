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
        ``most_wanted``: how many slots there are.

    Members
    -------
    spent, want : Signal
        A request is answered with a shared credit; its packet asks for one.
    granted, keep : Signal
        One comes with credits that return; it stays here.
    flush, flushing, flushed_job, step, next_step : Signal
        One returns unused; the slots are looked through for the job whose operation has ended, one after the other.
    full, spot : Signal
        Slots that are in use; a free one.
    reserved, asked : Signal
        Slots that are taken, of ``most_wanted``; packets that have asked and have no answer yet.
    answered, written_off : Value, Signal
        One of these is answered; so many will not be.
    kept : ReadPort
        The slot that is looked at.
    """

    def __init__(self, formats: FormatSet, sizes: CreditSizes):
        slot_bits, counts = index_bits(sizes.most_wanted), range(sizes.most_wanted + 1)
        self.spent, self.want, self.granted, self.keep, self.flush, self.next_step, self.flushing = (
            Signal(name=name) for name in ("spent", "want", "granted", "keep", "flush", "next_step", "flushing")
        )
        self.full = Signal(sizes.most_wanted, name="full")
        self.flushed_job = Signal(formats.job_bits, name="flushed_job")
        self.spot, self.step = Signal(slot_bits, name="spot"), Signal(slot_bits, name="step")
        self.reserved, self.wanted, self.written_off = (
            Signal(counts, name=name) for name in ("reserved", "wanted", "written_off")
        )
        self.answered: Any = None
        self.kept: Any = None


def shared_credits(m: Module, table: Any, t: Any, *, shares: bool) -> SharedCredits:
    """Shared credits that are here, and those that wait to return; none without a pool (`shares`).

    `table` has the streams, `t` what the memories of the table show.
    """
    formats, most_wanted = table.formats, table.sizes.most_wanted
    shared, shape = SharedCredits(formats, table.sizes), credit_notice(formats)
    if not shares:
        return shared
    spent, want, granted, keep, flush = shared.spent, shared.want, shared.granted, shared.keep, shared.flush
    giving, reserved = table.i_return.payload, shared.reserved
    m.submodules.unused = unused = stream_queue(shape=shape, depth=most_wanted)
    connect(m, unused.o, flipped(table.o_unused))
    m.submodules.kept = kept = memory.Memory(shape=shape, depth=most_wanted, init=[])
    keep_port, shared.kept = kept.write_port(), kept.read_port(domain="comb")
    # Packets that ask and have no answer yet, shared credits that are here, and those that wait to return: there
    # is room in the queue for each, and a packet may ask if some is left.
    wanted = shared.wanted
    answered = giving.want & (t.sum_out.wanted != 0) & table.i_return.ready
    shared.answered = answered
    notice = Signal(shape)
    m.d.comb += [
        granted.eq(giving.loan & answered), unused.i.valid.eq((granted & ~keep) | flush),
        notice.job_id.eq(giving.job_id), notice.peer.eq(giving.peer), notice.loan.eq(1),
        notice.dest_id.eq(giving.source_id), notice.dest_vp.eq(giving.source_vp),
        notice.source_vp.eq(giving.dest_vp),
        unused.i.payload.eq(Mux(flush, shared.kept.data, notice)),
        shared.kept.addr.eq(shared.step), keep_port.addr.eq(shared.spot), keep_port.data.eq(notice),
        keep_port.en.eq(granted & keep),
    ]
    m.d.sync += [
        wanted.eq(wanted + want - answered - shared.written_off),
        reserved.eq(
            reserved + want - (answered & ~granted) - spent - (table.o_unused.valid & table.o_unused.ready)
            - shared.written_off
        ),
    ]
    for k in reversed(range(most_wanted)):
        with m.If(~shared.full[k]):
            m.d.comb += shared.spot.eq(k)
    # Those of one peer are alike, so one slot stands for them.
    with m.If(granted & keep & (t.stored.n_shared == 0)):
        m.d.sync += shared.full.bit_select(shared.spot, 1).eq(1)
    with m.If(spent & (t.stored.n_shared == 1)):
        m.d.sync += shared.full.bit_select(t.stored.slot, 1).eq(0)
    with m.If(flush & (t.stored.n_shared == 1)):
        m.d.sync += shared.full.bit_select(shared.step, 1).eq(0)
    # At the end of a job's operation one slot after the other is looked at.
    with m.If(shared.next_step):
        m.d.sync += [shared.step.eq(shared.step + 1), shared.flushing.eq(shared.step != most_wanted - 1)]
    return shared
