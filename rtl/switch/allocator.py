# amaranth: UnusedElaboratable=no
"""Choice of the packets that start and of the flits that cross, for both channels of a switch."""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.kit.library import shared
from rtl.link.link_rx import N_VCS
from rtl.switch.choice import union
from rtl.switch.input_channel import CandidateSignature
from rtl.switch.matching import Matching
from rtl.switch.sizes import SwitchSizes


class Allocator(wiring.Component):
    """Starts packets by a :class:`~rtl.switch.matching.Matching` of each channel, and shares outputs among channels.

    A flit of channel 1 passes one of channel 0 where both are for the same output.

    Timing: `accepts`, `sent` and `holds` are combinational, `stalled` is a register.

    Parameters
    ----------
    sizes : SwitchSizes
        Sizes.

    Members
    -------
    candidate : array of 2 x `radix` ``In(CandidateSignature)``
        The inputs, for each channel.
    sends : array of 2 x `radix` x readers ``In(radix)``
        Outputs to which each reader of an input sends a flit in this cycle.
    takes, room, room_short : array of 2 ``In(radix)``
        Outputs that take a flit; that have room for any packet; for a short one.
    accepts : array of 2 ``Out(radix)``
        Outputs that take a flit of a channel, as far as the other channel leaves them to it.
    sent : array of `radix` ``Out(2)``
        For each output: channels of which a flit is sent there.
    holds : array of `radix` ``Out(2)``
        For each output: channels of which a packet is being sent there.
    stalled : array of 2 ``Out(radix)``
        Outputs that send nothing while a packet waits for their credits.
    """

    def __init__(self, *, sizes: SwitchSizes):
        self.sizes = sizes
        radix = sizes.radix
        super().__init__({
            "candidate": In(CandidateSignature(radix)).array(N_VCS, radix),
            "sends": In(radix).array(N_VCS, radix, sizes.readers),
            "takes": In(radix).array(N_VCS), "room": In(radix).array(N_VCS), "room_short": In(radix).array(N_VCS),
            "accepts": Out(radix).array(N_VCS), "sent": Out(N_VCS).array(radix), "holds": Out(N_VCS).array(radix),
            "stalled": Out(radix).array(N_VCS),
        })

    def elaborate(self, platform):
        m = Module()
        sent = [union([sends for source in self.sends[vc] for sends in source]) for vc in range(N_VCS)]
        held = [union([source.holds for source in self.candidate[vc]]) for vc in range(N_VCS)]
        m.d.comb += [
            *(output.eq(Cat(channel[port] for channel in held)) for port, output in enumerate(self.holds)),
            *(output.eq(Cat(channel[port] for channel in sent)) for port, output in enumerate(self.sent)),
        ]
        for vc in range(N_VCS):
            matching = Matching(sizes=self.sizes)
            m.submodules[f"matching_{vc}"] = shared("conic_matching", matching, platform)
            for source, candidate in zip(self.candidate[vc], matching.candidate, strict=True):
                connect(m, flipped(source), candidate)
            m.d.comb += [
                matching.room.eq(self.room[vc]), matching.room_short.eq(self.room_short[vc]),
                self.stalled[vc].eq(matching.stalled),
                self.accepts[vc].eq(self.takes[vc] & (-1 if vc == N_VCS - 1 else ~sent[N_VCS - 1])),
            ]
        return m
