"""Output port of a switch: chooses among the inputs, packet by packet."""

from amaranth import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.interface import LinkSignature, beat
from rtl.kit.round_robin import RoundRobin
from rtl.kit.skid import SkidBuffer
from rtl.link.link_rx import N_VCS
from rtl.link.link_tx import LinkTx
from rtl.switch.input_port import LaneSignature


class OutputPort(wiring.Component):
    """Sends the packets that are meant for it, round robin over the inputs, for each virtual channel on its own.

    The choice is made ahead: when a packet ends and others wait, the next flit is of another input, without a gap;
    when nobody else waits, the input that was served last keeps the output and its next packet finds the way open. A
    packet is never interrupted by another of its channel.

    Timing: two registers between ``i`` and ``link``; one cycle more for an input that does not have the output yet. One
    flit per cycle.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    buffer_flits : int
        Flits that the receiver behind the link holds for each virtual channel.
    radix : int
        Number of inputs.
    number : int
        Number of this output, the value of `port` that means it.

    Members
    -------
    i : array of `radix` arrays of 2 ``In(LaneSignature(data_width))``
        The lanes of all input ports. `ready` is low while the lane's packet is for another output, or must wait.
    link : ``Out(LinkSignature(data_width))``
        The link.
    """

    def __init__(self, *, data_width: int, buffer_flits: int, radix: int, number: int):
        self.data_width = data_width
        self.buffer_flits = buffer_flits
        self.radix = radix
        self.number = number
        super().__init__({
            "i": In(LaneSignature(data_width)).array(radix, N_VCS),
            "link": Out(LinkSignature(data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.tx = tx = LinkTx(data_width=self.data_width, buffer_flits=self.buffer_flits)
        connect(m, tx.link, flipped(self.link))

        for vc in range(N_VCS):
            lanes = [self.i[port][vc] for port in range(self.radix)]
            m.submodules[f"turn_{vc}"] = turn = RoundRobin(n=self.radix)
            m.submodules[f"stage_{vc}"] = stage = SkidBuffer(shape=beat(self.data_width))
            connect(m, stage.o, tx.i[vc])

            # Who has the output. An owner whose packet is for us keeps it up to the last beat of that packet.
            owner = Signal(range(self.radix), name=f"owner_{vc}")
            wants = Signal(self.radix, name=f"wants_{vc}")
            in_use, ending = Signal(name=f"in_use_{vc}"), Signal(name=f"ending_{vc}")
            for port, lane in enumerate(lanes):
                m.d.comb += [
                    wants[port].eq(lane.routed & (lane.port == self.number)),
                    # The owner does not take part: at its last beat its next packet's way is not known yet.
                    turn.requests[port].eq(wants[port] & (owner != port)),
                    lane.ready.eq(stage.i.ready & wants[port] & (owner == port)),
                ]
            m.d.comb += [
                in_use.eq(wants.bit_select(owner, 1)),
                stage.i.valid.eq(in_use & Array(lane.valid for lane in lanes)[owner]),
                stage.i.payload.eq(Array(lane.beat for lane in lanes)[owner]),
                ending.eq(stage.i.valid & stage.i.ready & stage.i.payload.last),
                turn.advance.eq(ending | ~in_use),
            ]
            with m.If(turn.advance & turn.grant.any()):
                m.d.sync += owner.eq(turn.index)

        return m
