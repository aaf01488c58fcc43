"""The way of packets out of the buffer: consumed ones, and dropped ones."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.buffer.layouts import key_hash
from rtl.cou.packet_signature import DropSignature, LeavingSignature
from rtl.cou.shapes import CouShapes
from rtl.credit.pool_signature import ConsumptionSignature
from rtl.kit.register import StreamRegister


class PacketExit(wiring.Component):
    """Merges the packets that are consumed and those that are dropped: a dropped one leaves as consumed ones do, when
    none of those does.

    Timing: a slot is freed a cycle after it was handed over; all else is combinational.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.

    Members
    -------
    lane : ``In(LeavingSignature)``
        The path that consumes packets.
    drops : ``In(DropSignature)``
        Whoever drops packets.
    free : ``Out(stream.Signature(exit))``
        To the packet buffer.
    credit : ``Out(stream.Signature(credit_notice))``
        Credits to return.
    pool : ``Out(ConsumptionSignature())``
        Shared credits.
    """

    def __init__(self, *, shapes: CouShapes):
        self.shapes = shapes
        super().__init__({
            "lane": In(LeavingSignature(shapes)), "drops": In(DropSignature(shapes)),
            "free": Out(stream.Signature(shapes.exit)),
            "credit": Out(stream.Signature(shapes.notice)),
            "pool": Out(ConsumptionSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        lane, drops, pool = self.lane, self.drops, self.pool
        m.submodules.turn = turn = StreamRegister(shape=self.shapes.exit)
        leaving = Signal(self.shapes.free)
        for consumed, dropped, sink, item in (
            (lane.free, drops.free, turn.i, leaving),
            (lane.credit, drops.credit, self.credit, self.credit.payload),
        ):
            m.d.comb += [
                sink.valid.eq(consumed.valid | dropped.valid), consumed.ready.eq(sink.ready),
                dropped.ready.eq(sink.ready & ~consumed.valid),
                item.eq(Mux(consumed.valid, consumed.payload, dropped.payload)),
            ]
        m.d.comb += [
            turn.i.payload.free.eq(leaving), turn.i.payload.hash.eq(key_hash(leaving.key, self.shapes.hash)),
            self.free.valid.eq(turn.o.valid), self.free.payload.eq(turn.o.payload), turn.o.ready.eq(self.free.ready),
            drops.freeing.eq(lane.freeing | turn.o.valid), drops.freed.valid.eq(turn.o.valid & turn.o.ready),
            drops.freed.payload.slot.eq(turn.o.payload.free.slot), lane.barred.eq(drops.bars),
            pool.consumed.eq(Mux(drops.pool.taken, drops.pool.consumed, lane.pool.consumed)),
            pool.taken.eq(lane.pool.taken | drops.pool.taken),
            drops.pool.n_left.eq(pool.n_left), drops.pool.granted.eq(0),
            lane.pool.n_left.eq(pool.n_left), lane.pool.granted.eq(pool.granted),
        ]
        return m
