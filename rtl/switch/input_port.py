"""Input port of a switch: buffers per virtual channel, and where each packet goes."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from rtl.interface import LinkSignature, beat
from rtl.kit.fifo import StreamFifo
from rtl.link.link_rx import N_VCS, LinkRx
from rtl.switch.route_table import PORT_BITS

_dest_offset = formats.PACKET_HEADER.offset("dest_id")


class LaneSignature(wiring.Signature):
    """What one virtual channel of an input port offers to the outputs.

    ``beat`` is a stream with `valid` and `ready`; while its head belongs to a packet whose way is known, `routed` is
    high and `port` says to which output the packet goes, from the first beat until the last one has been transferred.
    """

    def __init__(self, data_width: int):
        super().__init__({
            "valid": Out(1), "ready": In(1), "beat": Out(beat(data_width)), "routed": Out(1), "port": Out(PORT_BITS),
        })


class InputPort(wiring.Component):
    """Receives packets and looks up their outputs while they are being stored.

    The destination is read from the flits as they come in, in parallel with the buffer. A packet that ends before the
    flit that holds it is no packet of ours: it goes to the default port, whose NIC counts it as malformed. The channels
    share nothing but the link.

    Timing: with the destination in its first flit, a packet is offered two cycles after that flit was on the link;
    one flit later where the destination stands in the second (64 bits).

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    buffer_flits : int
        Flits held for each virtual channel.

    Members
    -------
    link : ``In(LinkSignature(data_width))``
        The link.
    lookup : ``Out(Signature({node_id: Out, port: In}))``
        Port of the unicast table, which answers in the cycle after.
    default_port : ``In(6)``
        Where packets without a destination go.
    o : array of 2 ``Out(LaneSignature(data_width))``
        Packets of virtual channel 0 and 1.
    """

    def __init__(self, *, data_width: int, buffer_flits: int):
        self.data_width = data_width
        self.buffer_flits = buffer_flits
        super().__init__({
            "link": In(LinkSignature(data_width)),
            "lookup": Out(wiring.Signature({"node_id": Out(formats.NODE_BITS), "port": In(PORT_BITS)})),
            "default_port": In(PORT_BITS),
            "o": Out(LaneSignature(data_width)).array(N_VCS),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.rx = rx = LinkRx(data_width=self.data_width, buffer_flits=self.buffer_flits)
        connect(m, flipped(self.link), rx.link)

        # The flit of the header that holds the destination, and where in that flit.
        dest_flit, dest_bit = divmod(_dest_offset, self.data_width)
        flit = self.link.flit
        arrived = Signal()
        m.d.comb += [
            arrived.eq(self.link.valid & self.link.ready),
            self.lookup.node_id.eq(flit.data[dest_bit:dest_bit + formats.NODE_BITS]),
        ]

        for vc in range(N_VCS):
            # One way per packet, at most as many as flits. Known in the cycle after its flit came.
            ways = StreamFifo(shape=PORT_BITS, depth=self.buffer_flits)
            m.submodules[f"ways_{vc}"] = ways

            # Place of the flit in its packet; stops counting once the destination has been seen.
            place = Signal(range(dest_flit + 2), name=f"place_{vc}")
            here, asked, short = (Signal(name=f"{name}_{vc}") for name in ("here", "asked", "short"))
            m.d.comb += here.eq(arrived & (flit.vc == vc))
            with m.If(here):
                m.d.sync += place.eq(Mux(flit.last, 0, Mux(place == dest_flit + 1, place, place + 1)))
            m.d.sync += [
                asked.eq(here & ((place == dest_flit) | (flit.last & (place < dest_flit)))),
                short.eq(place < dest_flit),
            ]
            m.d.comb += [
                ways.i.valid.eq(asked),
                ways.i.payload.eq(Mux(short, self.default_port, self.lookup.port)),
            ]

            lane, stored = self.o[vc], rx.o[vc]
            m.d.comb += [
                lane.valid.eq(stored.valid & ways.o.valid),
                lane.beat.eq(stored.payload),
                lane.routed.eq(ways.o.valid),
                lane.port.eq(ways.o.payload),
                stored.ready.eq(lane.ready & ways.o.valid),
                ways.o.ready.eq(lane.valid & lane.ready & stored.payload.last),
            ]

        return m
