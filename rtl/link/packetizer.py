"""From packets inside of the NIC to the flits of a link."""

from amaranth import Array, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import PacketSignature, beat, header_flits


class Packetizer(wiring.Component):
    """Serialises packets: header flits first, then the payload's, the last flit of the packet marked.

    A packet without payload ends with its header. Packets follow each other without an idle cycle.

    Timing: combinational, no latency; the last flit of a header leaves in the cycle in which the header is taken.

    Parameters
    ----------
    data_width : int
        Bits of a flit: 64, 128, 256 or 512.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets.
    o : ``Out(stream.Signature(beat(data_width)))``
        Their flits.
    """

    def __init__(self, *, data_width: int):
        self.header_flits = header_flits(data_width)
        self.data_width = data_width
        super().__init__({
            "i": In(PacketSignature(data_width)),
            "o": Out(stream.Signature(beat(data_width))),
        })

    def elaborate(self, platform):
        m = Module()
        header, payload = self.i.header, self.i.payload

        # Only the number of the header flit and which half of the packet is under way are remembered.
        bits = header.payload.as_value()
        parts = Array(bits[k * self.data_width:(k + 1) * self.data_width] for k in range(self.header_flits))
        index = Signal(range(self.header_flits))
        is_last_part = index == self.header_flits - 1
        in_payload = Signal()

        with m.If(~in_payload):
            m.d.comb += [
                self.o.valid.eq(header.valid),
                self.o.payload.data.eq(parts[index]),
                self.o.payload.last.eq(is_last_part & (header.payload.length == 0)),
                header.ready.eq(self.o.ready & is_last_part),
            ]
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += index.eq(index + 1)
                with m.If(is_last_part):
                    m.d.sync += [
                        index.eq(0),
                        in_payload.eq(header.payload.length != 0),
                    ]
        with m.Else():
            m.d.comb += [
                self.o.valid.eq(payload.valid),
                self.o.payload.eq(payload.payload),
                payload.ready.eq(self.o.ready),
            ]
            with m.If(payload.valid & payload.ready & payload.payload.last):
                m.d.sync += in_payload.eq(0)

        return m
