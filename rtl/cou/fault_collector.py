"""Errors of an offload unit's parts on their way to the operation table."""

from collections.abc import Sequence

from amaranth import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.cou.shapes import CouShapes
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.register import StreamRegister


class FaultCollector(wiring.Component):
    """Merges streams of errors, and knows of each that is on its way: an operation does not end meanwhile.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.
    registered : sequence of bool
        For each stream, if it has a register of its own here; one whose items wait at their source needs none.

    Members
    -------
    i : array of ``In(stream.Signature(fault))``
        Errors of the parts.
    o : ``Out(stream.Signature(fault))``
        All of them.
    pending : ``Out(1)``
        One is offered, or stands here.
    """

    def __init__(self, *, shapes: CouShapes, registered: Sequence[bool]):
        self.shapes, self.registered = shapes, registered
        super().__init__({
            "i": In(stream.Signature(shapes.fault)).array(len(registered)), "o": Out(stream.Signature(shapes.fault)),
            "pending": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge = merge = StreamArbiter(
            shape=self.shapes.fault, n=len(self.registered), full_rate=False, chooses_ahead=True
        )
        for number, (source, sink, is_registered) in enumerate(zip(self.i, merge.i, self.registered, strict=True)):
            if not is_registered:
                connect(m, flipped(source), sink)
                continue
            m.submodules[f"stage_{number}"] = stage = StreamRegister(shape=self.shapes.fault, guarded=False)
            connect(m, flipped(source), stage.i)
            connect(m, stage.o, sink)
        connect(m, merge.o, flipped(self.o))
        m.d.comb += self.pending.eq(Cat(
            merge.o.valid, *(source.valid for source in self.i), *(sink.valid for sink in merge.i),
        ).any())
        return m
