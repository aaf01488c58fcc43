"""Answers to the packets that this node has sent."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import PacketType
from rtl.interface import PacketSignature
from rtl.p2p.records import TrackerCommand


class AnswerReceiver(wiring.Component):
    """Turns ACK packets into commands for the tracker; other packets have no business here and are dropped.

    Waits for nothing but the tracker, so that the channel of the answers always drains.

    Timing: combinational, no latency.

    Parameters
    ----------
    data_width : int
        Bits of a flit.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets of virtual channel 1.
    o : ``Out(stream.Signature(TrackerCommand))``
        Answers.
    unknown : ``Out(1)``
        Pulse: a packet that is no ACK was dropped.
    """

    def __init__(self, *, data_width: int):
        super().__init__({
            "i": In(PacketSignature(data_width)),
            "o": Out(stream.Signature(TrackerCommand)),
            "unknown": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        header, payload = self.i.header, self.i.payload
        in_payload = Signal()
        is_ack = header.payload.type == PacketType.ACK
        m.d.comb += [
            self.o.valid.eq(header.valid & is_ack & ~in_payload),
            self.o.payload.number.eq(header.payload.tag),
            self.o.payload.status.eq(header.payload.status),
            self.o.payload.detail.eq(header.payload.addr),
            header.ready.eq(~in_payload & (self.o.ready | ~is_ack)),
            payload.ready.eq(in_payload),
        ]
        with m.If(header.valid & header.ready):
            m.d.sync += in_payload.eq(header.payload.length != 0)
        with m.Elif(payload.valid & payload.ready & payload.payload.last):
            m.d.sync += in_payload.eq(0)
        m.d.sync += self.unknown.eq(header.valid & header.ready & ~is_ack)
        return m
