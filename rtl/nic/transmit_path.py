"""The way of packets from the units to the link, on one virtual channel."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.abi import PacketHeader
from rtl.interface import PacketSignature, beat
from rtl.kit.arbiter import PacketArbiter
from rtl.kit.stage import PacketStage
from rtl.link.packetizer import Packetizer


class TransmitPath(wiring.Component):
    """Lets the units' packets out in turn, as frames.

    Timing: two cycles to the first flit.

    Members
    -------
    i : array of ``In(PacketSignature(data_width))``
        Packets of the units.
    o : ``Out(stream.Signature(beat(data_width)))``
        Flits of frames.
    offered : ``Out(1)``, header : ``Out(PacketHeader)``
        The header that is on offer to the packetizer, for those who count what leaves.
    sent : ``Out(1)``
        Pulse: the last flit of a packet has left, a cycle late.
    """

    def __init__(self, *, data_width: int, n_units: int):
        self.data_width, self.n_units = data_width, n_units
        super().__init__({
            "i": In(PacketSignature(data_width)).array(n_units), "o": Out(stream.Signature(beat(data_width))),
            "offered": Out(1), "header": Out(PacketHeader), "sent": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = PacketArbiter(data_width=self.data_width, n=self.n_units, chooses_ahead=True)
        m.submodules.stage = stage = PacketStage(data_width=self.data_width)
        m.submodules.packetizer = packetizer = Packetizer(data_width=self.data_width)
        for source, sink in zip(self.i, arbiter.i, strict=True):
            connect(m, flipped(source), sink)
        connect(m, arbiter.o, stage.i)
        connect(m, stage.o, packetizer.i)
        connect(m, packetizer.o, flipped(self.o))
        passed, is_last = Signal(), Signal()
        m.d.sync += [passed.eq(self.o.valid & self.o.ready), is_last.eq(self.o.payload.last)]
        m.d.comb += [
            self.offered.eq(stage.o.header.valid), self.header.eq(stage.o.header.payload),
            self.sent.eq(passed & is_last),
        ]
        return m
