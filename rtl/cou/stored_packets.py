"""The packets in the buffer, shared by the trigger and by whoever drops packets."""

from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.buffer.packet_signatures import StoredPacketsSignature
from rtl.cou.shapes import CouShapes


class StoredPackets(wiring.Component):
    """Passes on to the buffer the requests of two users, of which the closer asks only while the trigger stands still.

    Answers and arrivals go to both: each knows whether it has asked, and takes what is not its own at once.

    Timing: combinational.

    Parameters
    ----------
    shapes : CouShapes
        Of the unit.

    Members
    -------
    trigger, closer : ``In(StoredPacketsSignature)``
        Users.
    hold : ``In(1)``
        The trigger is to stand still. Headers are the closer's then: one that is to stand still asks for none any more.
    buffer : ``Out(StoredPacketsSignature)``
        Packet buffer.
    """

    def __init__(self, *, shapes: CouShapes):
        self.shapes = shapes
        packets = StoredPacketsSignature(shapes.packet, shapes.hash, shapes.formats)
        super().__init__({
            "trigger": In(packets), "closer": In(packets), "hold": In(1), "buffer": Out(packets),
        })

    def elaborate(self, platform):
        m = Module()
        trigger, closer, buffer = self.trigger, self.closer, self.buffer
        asks, answer = buffer.lookup.request, buffer.lookup.answer
        first, second = closer.lookup.request, trigger.lookup.request
        m.d.comb += [
            buffer.header.enable.eq(trigger.header.enable | closer.header.enable),
            buffer.header.slot.eq(Mux(self.hold, closer.header.slot, trigger.header.slot)),
            asks.payload.eq(Mux(first.valid, first.payload, second.payload)), asks.valid.eq(first.valid | second.valid),
            first.ready.eq(asks.ready), second.ready.eq(~first.valid & asks.ready),
            answer.ready.eq(trigger.lookup.answer.ready), buffer.arrival.ready.eq(1),
        ]
        if self.shapes.hash:
            m.d.comb += buffer.lookup.hash.eq(Mux(first.valid, closer.lookup.hash, trigger.lookup.hash))
        for user in (trigger, closer):
            m.d.comb += [
                user.header.header.eq(buffer.header.header),
                user.lookup.answer.payload.eq(answer.payload), user.lookup.answer.valid.eq(answer.valid),
                user.arrival.payload.eq(buffer.arrival.payload), user.arrival.valid.eq(buffer.arrival.valid),
            ]
        return m
