"""Answers to the packets that this node has sent."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
from rtl.interface import PacketSignature


class AnswerReceiver(wiring.Component):
    """Passes on the headers of ACK packets, and GET_DATA packets; others are dropped, and so is a payload of an ACK.

    Waits for nothing but those who check the ACKs and whoever writes the data of GETs, so that the channel of the
    answers always drains.

    Timing: combinational, no latency.

    Parameters
    ----------
    data_width : int
        Bits of a flit.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets of virtual channel 1.
    o : ``Out(stream.Signature(PacketHeader))``
        ACK packets.
    o_data : ``Out(PacketSignature(data_width))``
        GET_DATA packets.
    unknown : ``Out(1)``
        Pulse: a packet that is neither was dropped.
    """

    def __init__(self, *, data_width: int):
        super().__init__({
            "i": In(PacketSignature(data_width)),
            "o": Out(stream.Signature(PacketHeader)),
            "o_data": Out(PacketSignature(data_width)),
            "unknown": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        header, payload = self.i.header, self.i.payload
        in_payload = Signal()
        onward = self.o_data
        to_landing = Signal()
        is_ack = header.payload.type == PacketType.ACK
        is_data = header.payload.type == PacketType.GET_DATA
        m.d.comb += [
            self.o.valid.eq(header.valid & is_ack & ~in_payload),
            self.o.payload.eq(header.payload),
            onward.header.valid.eq(header.valid & is_data & ~in_payload),
            onward.header.payload.eq(header.payload),
            onward.payload.valid.eq(payload.valid & in_payload & to_landing),
            onward.payload.payload.eq(payload.payload),
            header.ready.eq(~in_payload & Mux(is_ack, self.o.ready, onward.header.ready | ~is_data)),
            payload.ready.eq(in_payload & (onward.payload.ready | ~to_landing)),
        ]
        with m.If(header.valid & header.ready):
            m.d.sync += [in_payload.eq(header.payload.length != 0), to_landing.eq(is_data)]
        with m.Elif(payload.valid & payload.ready & payload.payload.last):
            m.d.sync += in_payload.eq(0)
        m.d.sync += self.unknown.eq(header.valid & header.ready & ~is_ack & ~is_data)
        return m
