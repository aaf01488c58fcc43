# amaranth: UnusedElaboratable=no
"""Input port of a switch: two channels behind one link, and the one flit that they send in a cycle."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from rtl.interface import LinkSignature
from rtl.kit.library import shared
from rtl.kit.round_robin import RoundRobin
from rtl.link.link_rx import N_VCS
from rtl.switch.input_channel import CandidateSignature, InputChannel
from rtl.switch.multicast_table import MulticastLookupSignature
from rtl.switch.port_sources import PortSource
from rtl.switch.port_statistics import Traffic
from rtl.switch.route_table import RouteLookupSignature
from rtl.switch.sizes import SwitchSizes

_offset = formats.PACKET_HEADER.offset


class CrossingSignature(wiring.Signature):
    """Flits from an input port to the outputs of which `ports` has the bits."""

    def __init__(self, sizes: SwitchSizes):
        super().__init__({"ports": Out(sizes.radix), "flit": Out(sizes.flit)})


class InputPort(wiring.Component):
    """Stores packets from a link, queues them by their outputs, sends a flit a cycle and reader to one or more outputs.

    The outputs of a packet are looked up while it is being stored. A packet may begin to leave while it comes in, but
    a multicast only if all copies that it still needs leave together: otherwise its flits would stay in the buffer, and
    the rest of the packet might find no room while it holds outputs that others wait for.

    Packets that end before their destination, and multicasts without a port (unknown MLID, or no port but that which
    they came by), are discarded. The credit of a flit returns when its last copy has been read.

    Timing: with the destination in its first flit a packet is offered two cycles after that flit was on the link; one
    flit later where the destination stands in the second (64 bits). ``o`` is a register after ``sends``.

    Parameters
    ----------
    sizes : SwitchSizes
        Sizes.
    number : int
        Number of this port.

    Members
    -------
    link : ``In(LinkSignature)``
        The link.
    lookup : ``Out(RouteLookupSignature())``, mft : ``Out(MulticastLookupSignature(radix))``
        Unicast table; multicast table.
    source : ``In(PortSource)``
        Whose packets are let in.
    candidate : array of 2 ``Out(CandidateSignature)``
        Towards the matching of each channel.
    accepts : array of 2 ``In(radix)``
        Outputs that take a flit of this channel in this cycle.
    sends : array of 2 x readers ``Out(radix)``
        Outputs to which a flit of this channel goes. Channel 1 passes channel 0 at each reader.
    o : array of readers ``Out(CrossingSignature)``
        That flit, in the cycle after.
    discarded : ``Out(2)``
        Multicasts without ports that are discarded in this cycle.
    malformed : ``Out(1)``
        A packet without destination has been discarded.
    forged : ``Out(1)``
        A packet of another source than `source` is discarded.
    received : ``Out(Traffic)``
        What comes over the link in this cycle.
    depth, peak : arrays of 2 ``Out``
        Flits in the buffer of each channel, now and at most since reset.
    """

    def __init__(self, *, sizes: SwitchSizes, number: int):
        if not isinstance(number, int) or not 0 <= number < sizes.radix:
            raise ValueError(f"number must be from 0 to {sizes.radix - 1}, not {number!r}")
        self.sizes = sizes
        self.number = number
        radix = sizes.radix
        super().__init__({
            "link": In(LinkSignature(sizes.data_width, marked=sizes.marked)),
            "lookup": Out(RouteLookupSignature()), "mft": Out(MulticastLookupSignature(radix)),
            "source": In(PortSource),
            "candidate": Out(CandidateSignature(radix)).array(N_VCS),
            "accepts": In(radix).array(N_VCS),
            "sends": Out(radix).array(N_VCS, sizes.readers),
            "o": Out(CrossingSignature(sizes)).array(sizes.readers),
            "discarded": Out(2),
            "malformed": Out(1),
            "forged": Out(1),
            "received": Out(Traffic),
            "depth": Out(range(sizes.buffer_flits + 1)).array(N_VCS),
            "peak": Out(range(sizes.buffer_flits + 1)).array(N_VCS),
        })

    def elaborate(self, platform):
        m = Module()
        sizes = self.sizes
        base = sizes.dest_flit * sizes.data_width
        incoming = self.link.flit
        arrived = Signal()
        m.d.comb += [
            self.link.ready.eq(1), self.received.flit.eq(arrived), self.received.packet.eq(arrived & incoming.last),
            arrived.eq(self.link.valid), self.lookup.enable.eq(arrived), self.mft.enable.eq(arrived),
            self.lookup.node_id.eq(incoming.data[_offset("dest_id") - base:][:formats.NODE_BITS]),
            self.mft.mlid.eq(incoming.data[_offset("mlid") - base:][:formats.MLID_BITS]),
        ]

        channels = [InputChannel(sizes=sizes) for _ in range(N_VCS)]
        for vc, channel in enumerate(channels):
            m.submodules[f"channel_{vc}"] = shared(f"conic_input_channel_{vc}", channel, platform)
            connect(m, channel.candidate, flipped(self.candidate[vc]))
            m.d.comb += [
                channel.here.eq(arrived & (incoming.vc == vc)), channel.flit.eq(incoming),
                # A multicast does not go back to where it came from.
                channel.port.eq(self.lookup.port), channel.mft_ports.eq(self.mft.ports & ~(1 << self.number)),
                channel.source.eq(self.source),
                channel.accepts.eq(self.accepts[vc]),
                *(seen.eq(reader.ports) for seen, reader in zip(self.sends[vc], channel.o, strict=True)),
                self.depth[vc].eq(channel.depth), self.peak[vc].eq(channel.peak),
            ]
        low, high = channels
        m.d.comb += [
            *(last.passed.eq(first.reading) for last, first in zip(low.o, high.o, strict=True)),
            self.discarded.eq(low.dropped + high.dropped), self.malformed.eq(low.lost | high.lost),
            self.forged.eq(low.forged | high.forged),
        ]

        # One credit a cycle returns, of both channels in turn.
        m.submodules.turn = turn = RoundRobin(n=N_VCS)
        m.d.comb += [
            turn.advance.eq(1),
            *(turn.requests[vc].eq(channel.owes) for vc, channel in enumerate(channels)),
            *(channel.paid.eq(turn.grant[vc]) for vc, channel in enumerate(channels)),
        ]
        credit_valid, credit_vc = Signal(), Signal()
        m.d.sync += [credit_valid.eq(turn.requests.any()), credit_vc.eq(turn.grant[1])]
        m.d.comb += [self.link.credit_valid.eq(credit_valid), self.link.credit_vc.eq(credit_vc)]

        # Towards the outputs: the memory answers in the cycle after.
        for number, (crossing, slow, fast) in enumerate(zip(self.o, low.o, high.o, strict=True)):
            ports, vc_of, last = (
                Signal(shape, name=f"{name}_{number}")
                for name, shape in (("ports", sizes.radix), ("vc_of", 1), ("last", 1))
            )
            m.d.sync += [
                ports.eq(slow.ports | fast.ports),
                vc_of.eq(fast.reading),
                last.eq(Mux(fast.reading, fast.last, slow.last)),
            ]
            m.d.comb += [
                crossing.ports.eq(ports),
                crossing.flit.data.eq(Mux(vc_of, fast.data, slow.data)),
                crossing.flit.last.eq(last),
                crossing.flit.vc.eq(vc_of),
            ]
            if sizes.marked:
                m.d.comb += crossing.flit.bad.eq(last & Mux(vc_of, fast.bad, slow.bad))
        return m
