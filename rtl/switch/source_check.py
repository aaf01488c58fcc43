"""Check of the source of packets that come in at a port of a switch."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.switch.port_sources import PortSource
from rtl.switch.sizes import SwitchSizes

_SOURCE = formats.PACKET_HEADER.offset("source_id")


class SourceCheck(wiring.Component):
    """Says of each packet where it goes, once: to its outputs, or nowhere if it is not of the source that is let in.

    One that ends before its source is not of that source either. Whoever gets a packet that goes nowhere treats it as
    a multicast without ports, so both are discarded in one way.

    Timing: without a check a packet is judged in the cycle after its destination was on the link, in which the tables
    answer; with one where the source stands in the next flit, in the cycle in which that flit is on the link: where
    flits follow each other, at the same time.

    Parameters
    ----------
    sizes : SwitchSizes
        Sizes.

    Members
    -------
    here : ``In(1)``, flit : ``In(flit(data_width))``
        A flit is on the link, and that flit.
    flit_index : ``In``
        Its number in its packet, at most `dest_flit` + 1.
    multicast : ``In(1)``, ports : ``In(radix)``
        Of the packet that comes: it is one; its outputs, in the cycle after its destination.
    source : ``In(PortSource)``
        The source that is let in, if it is checked.
    o : ``Out(stream.Signature({multicast, ports}, always_ready=True))``
        Packets, each judged. Forged ones are multicasts without ports.
    forged : ``Out(1)``
        Pulse, with `o`: this one is not of the source that is let in.
    """

    def __init__(self, *, sizes: SwitchSizes):
        self.sizes = sizes
        super().__init__({
            "here": In(1), "flit": In(sizes.flit), "flit_index": In(range(sizes.dest_flit + 2)), "multicast": In(1),
            "ports": In(sizes.radix), "source": In(PortSource),
            "o": Out(stream.Signature(
                data.StructLayout({"multicast": 1, "ports": sizes.radix}), always_ready=True,
            )),
            "forged": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        sizes, check = self.sizes, self.source.check
        dest_given, at_dest, other, judged = Signal(), Signal(), Signal(), Signal()
        waits, ended, kept = Signal(), Signal(), Signal(sizes.radix)
        m.d.comb += [
            at_dest.eq(self.here & (self.flit_index == sizes.dest_flit)),
            other.eq(self.flit.data[_SOURCE % sizes.data_width:][:formats.NODE_BITS] != self.source.node_id),
        ]
        m.d.sync += dest_given.eq(at_dest)
        if sizes.source_flit == sizes.dest_flit:
            differs = Signal()
            m.d.sync += differs.eq(other)
            m.d.comb += [judged.eq(1), self.forged.eq(dest_given & check & differs)]
        else:
            # The tables answer once, and the source may come later than the flit behind the destination.
            with m.If(at_dest):
                m.d.sync += ended.eq(self.flit.last)
            with m.If(dest_given):
                m.d.sync += kept.eq(self.ports)
            m.d.sync += waits.eq((dest_given | waits) & ~judged)
            m.d.comb += [
                judged.eq(~check | ended | self.here),
                self.forged.eq((dest_given | waits) & judged & check & (ended | other)),
            ]
        m.d.comb += [
            self.o.valid.eq((dest_given | waits) & judged), self.o.payload.multicast.eq(self.multicast | self.forged),
            self.o.payload.ports.eq(Mux(self.forged, 0, Mux(waits, kept, self.ports))),
        ]
        return m
