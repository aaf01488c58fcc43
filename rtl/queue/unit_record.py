"""Record of the unit that the scheduler is serving."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, P2pOp, Status
from rtl.abi import DescriptorControl
from rtl.interface import STATUS_BITS, CompletionEvent
from rtl.queue.records import INDEX_BITS

RULES = 7
"""Number of rules that the descriptors of a sequence must observe: the bits of `broken`."""


class UnitRecord(wiring.Component):
    """Keeps fields of the first descriptor of a unit, and compares later ones with them: do they continue its sequence?

    Timing: `broken` and `overlong` depend on `desc` and `inside` combinationally; everything else is registered.

    Parameters
    ----------
    sequence_depth : int
        Descriptors of the longest sequence.

    Members
    -------
    desc : ``In(DescriptorControl)``, vp : ``In(11)``
        The current descriptor, and the VP of its queue.
    inside : ``In(1)``
        A sequence has begun: `desc` is to be one of its later members.
    begin : ``In(1)``
        `desc` is the first of a unit.
    advance : ``In(1)``
        `desc` has been dealt with.
    refuse : ``In(1)``, status : ``In``
        The unit ends with this status; `desc` is at fault. Counting begins again, for what is skipped. This takes two
        cycles, in which there is no `begin` nor `advance`.
    job_id : ``Out(8)``
        Job of the first descriptor.
    broken : ``Out(RULES)``
        `desc` may not stand where it stands.
    overlong : ``Out(1)``
        As many descriptors as the longest sequence has have been dealt with.
    event : ``Out(CompletionEvent)``
        The completion of a unit that was refused, two cycles after that.
    """

    def __init__(self, *, sequence_depth: int):
        if not 1 <= sequence_depth < 1 << INDEX_BITS:
            raise ValueError(f"sequence_depth must be 1 to {(1 << INDEX_BITS) - 1}, not {sequence_depth!r}")
        self.sequence_depth = sequence_depth
        super().__init__({
            "desc": In(DescriptorControl),
            "vp": In(formats.VP_BITS),
            "inside": In(1),
            "begin": In(1),
            "advance": In(1),
            "refuse": In(1),
            "status": In(STATUS_BITS),
            "job_id": Out(formats.JOB_BITS),
            "broken": Out(RULES),
            "overlong": Out(1),
            "event": Out(CompletionEvent),
        })

    def elaborate(self, platform):
        m = Module()
        desc, event = self.desc, self.event
        length, pulse_bytes, cp_count, block_count = Signal(32), Signal(16), Signal(16), Signal(16)
        index, first, uncut = Signal(range(self.sequence_depth + 1)), Signal(), Signal()

        with m.If(self.inside):
            m.d.comb += self.broken.eq(Cat(
                desc.ch | ~desc.c, desc.job_id != self.job_id, desc.length != length,
                desc.pulse_bytes != pulse_bytes, desc.cp_count < cp_count, self.overlong,
                # 0 and 1 mean the same.
                (desc.block_count[1:] != block_count[1:]) | ((desc.block_count[0] != block_count[0]) & ~uncut),
            ))
        with m.Else():
            m.d.comb += self.broken.eq(desc.c & ~desc.ch)

        with m.If(self.begin):
            m.d.sync += [
                index.eq(0), self.overlong.eq(0), first.eq(1),
                self.job_id.eq(desc.job_id),
                length.eq(desc.length),
                pulse_bytes.eq(desc.pulse_bytes),
                cp_count.eq(desc.cp_count),
                block_count.eq(desc.block_count), uncut.eq(desc.block_count[1:] == 0),
                event.vp.eq(self.vp),
                event.job_id.eq(desc.job_id),
                event.bytes.eq(desc.length),
                event.tag.eq(desc.tag),
            ]
            with m.If(desc.c):
                m.d.sync += event.kind.eq(CplKind.COLLECTIVE)
            with m.Elif(desc.p2p_op == P2pOp.SEND):
                m.d.sync += event.kind.eq(CplKind.SEND)
            with m.Elif(desc.p2p_op == P2pOp.PUT):
                m.d.sync += event.kind.eq(CplKind.PUT)
            with m.Else():
                m.d.sync += event.kind.eq(CplKind.GET)
        with m.If(self.advance):
            m.d.sync += [
                index.eq(index + 1), self.overlong.eq(index == self.sequence_depth - 1), first.eq(0),
                cp_count.eq(desc.cp_count),
            ]
        # That a unit is refused, and why, is known late in a cycle.
        refused, status = Signal(), Signal(STATUS_BITS)
        m.d.sync += refused.eq(self.refuse)
        with m.If(self.refuse):
            m.d.sync += status.eq(self.status)
        with m.If(refused):
            m.d.sync += [event.status.eq(status), event.detail.eq(index), index.eq(0), self.overlong.eq(0)]
            # A first descriptor that says nothing reliable does not say what kind of operation this was, either.
            unreadable = status == Status.MEMORY_ERROR
            with m.If(first & ((status == Status.BAD_DESCRIPTOR) | unreadable)):
                m.d.sync += event.kind.eq(CplKind.DESCRIPTOR)
            with m.If(first & unreadable):
                m.d.sync += [event.job_id.eq(0), event.bytes.eq(0), event.tag.eq(0)]
        return m
