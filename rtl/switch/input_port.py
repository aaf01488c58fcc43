"""Input port of a switch: buffers and queues per virtual channel, and the packet that each channel sends."""

from amaranth import Module, Mux, ResetSignal, Signal
from amaranth.hdl import Assert
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.interface import LinkSignature, flit
from rtl.kit.quiescence import any_moves
from rtl.kit.round_robin import RoundRobin
from rtl.link.link_rx import N_VCS
from rtl.switch.channel_queues import ChannelQueues
from rtl.switch.channel_store import ChannelStore
from rtl.switch.route_table import PORT_BITS
from rtl.switch.sizes import SwitchSizes

_offset = formats.PACKET_HEADER.offset


class CandidateSignature(wiring.Signature):
    """What one channel of an input port offers to the matching, and what it may start.

    Members
    -------
    waiting, waiting_short
        Outputs for which a packet for one port waits; whether that packet is short.
    mc_ports, mc_short, mc_complete
        Ports that the first multicast needs copies for; whether it is short, and wholly stored.
    busy, at_last, ending
        A packet is being sent; it is at its last flit, which is there; that flit leaves in this cycle.
    holds
        Outputs that it is being sent to.
    start, start_mc
        Outputs of the packet that follows: one, or a part of `mc_ports`. Only if not busy, or ending.
    """

    def __init__(self, radix: int):
        super().__init__({
            "waiting": Out(radix), "waiting_short": Out(radix),
            "mc_ports": Out(radix), "mc_short": Out(1), "mc_complete": Out(1),
            "busy": Out(1), "at_last": Out(1), "ending": Out(1), "holds": Out(radix),
            "start": In(radix), "start_mc": In(radix),
        })


class CrossingSignature(wiring.Signature):
    """Flits from an input port to the outputs of which `ports` has the bits."""

    def __init__(self, data_width: int, radix: int):
        super().__init__({"ports": Out(radix), "flit": Out(flit(data_width))})


class InputPort(wiring.Component):
    """Stores what comes over a link, queues packets by their outputs, sends one flit a cycle to one or more of them.

    The way of a packet is looked up while it is being stored. A packet may begin to leave while it comes in, but
    a multicast only if all copies that it still needs leave together: otherwise its flits would stay in the buffer, and
    the rest of the packet might find no room while it holds outputs that others wait for.

    Packets that end before their destination, and multicasts without a port (unknown MLID, or no port but that which
    they came by), are discarded. The credit of a flit goes back when its last copy has been read.

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
    lookup : ``Out(Signature({node_id: Out, port: In}))``
        Port of the unicast table, which answers in the cycle after.
    mft : ``Out(Signature({mlid: Out, ports: In}))``
        Port of the multicast table, likewise.
    candidate : array of 2 ``Out(CandidateSignature)``
        Towards the matching of each channel.
    accepts : array of 2 ``In(radix)``
        Outputs that take a flit of this channel in this cycle.
    sends : array of 2 ``Out(radix)``
        Outputs to which a flit of this channel goes. Channel 1 passes channel 0.
    o : ``Out(CrossingSignature)``
        That flit, in the cycle after.
    discarded : ``Out(2)``
        Multicasts without ports that are discarded in this cycle.
    malformed : ``Out(1)``
        A packet without destination has been discarded.
    depth, peak : arrays of 2 ``Out``
        Flits in the buffer of each channel, now and at most since reset.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, *, sizes: SwitchSizes, number: int):
        if not isinstance(number, int) or not 0 <= number < sizes.radix:
            raise ValueError(f"number must be from 0 to {sizes.radix - 1}, not {number!r}")
        self.sizes = sizes
        self.number = number
        radix = sizes.radix
        super().__init__({
            "moves": Out(1),
            "link": In(LinkSignature(sizes.data_width)),
            "lookup": Out(wiring.Signature({
                "enable": Out(1), "node_id": Out(formats.NODE_BITS), "port": In(PORT_BITS),
            })),
            "mft": Out(wiring.Signature({"enable": Out(1), "mlid": Out(formats.MLID_BITS), "ports": In(radix)})),
            "candidate": Out(CandidateSignature(radix)).array(N_VCS),
            "accepts": In(radix).array(N_VCS),
            "sends": Out(radix).array(N_VCS),
            "o": Out(CrossingSignature(sizes.data_width, radix)),
            "discarded": Out(2),
            "malformed": Out(1),
            "depth": Out(range(sizes.buffer_flits + 1)).array(N_VCS),
            "peak": Out(range(sizes.buffer_flits + 1)).array(N_VCS),
        })

    def elaborate(self, platform):
        m = Module()
        sizes, radix = self.sizes, self.sizes.radix
        dest_flit = sizes.dest_flit
        base = dest_flit * sizes.data_width
        incoming = self.link.flit
        arrived = Signal()
        m.d.comb += [
            self.link.ready.eq(1),
            arrived.eq(self.link.valid), self.lookup.enable.eq(arrived), self.mft.enable.eq(arrived),
            self.lookup.node_id.eq(incoming.data[_offset("dest_id") - base:][:formats.NODE_BITS]),
            self.mft.mlid.eq(incoming.data[_offset("mlid") - base:][:formats.MLID_BITS]),
        ]
        m.submodules.turn = turn = RoundRobin(n=N_VCS)
        m.d.comb += turn.advance.eq(1)

        lost = [Signal(name=f"lost_{vc}") for vc in range(N_VCS)]
        reading = [Signal(name=f"reading_{vc}") for vc in range(N_VCS)]
        occupied = []
        dropped = [Signal(name=f"dropped_{vc}") for vc in range(N_VCS)]
        stores = []
        for vc in range(N_VCS):
            store = ChannelStore(
                data_width=sizes.data_width, granule_flits=sizes.granule_flits, n_granules=sizes.n_granules,
            )
            queues = ChannelQueues(radix=radix, n_names=sizes.n_granules)
            m.submodules[f"store_{vc}"], m.submodules[f"queues_{vc}"] = store, queues
            stores.append(store)
            candidate = self.candidate[vc]

            # Coming in. Of a packet is kept: its name, and what the first flit says of it.
            here = Signal(name=f"here_{vc}")
            place = Signal(range(dest_flit + 2), name=f"place_{vc}")
            inside = Signal(name=f"inside_{vc}")
            name = Signal(range(sizes.n_granules), name=f"name_{vc}")
            short, multicast = Signal(name=f"short_{vc}"), Signal(name=f"multicast_{vc}")
            asked = Signal(name=f"asked_{vc}")
            m.d.comb += [
                here.eq(arrived & (incoming.vc == vc)),
                lost[vc].eq(here & incoming.last & (place < dest_flit)),
                store.write.eq(here & ~lost[vc]),
                store.write_data.eq(incoming.data),
                store.write_last.eq(incoming.last),
            ]
            assert dest_flit <= 1, "a packet without destination is one flit, which is not stored"
            with m.If(here):
                m.d.sync += [
                    place.eq(Mux(incoming.last, 0, Mux(place == dest_flit + 1, place, place + 1))),
                    inside.eq(~incoming.last),
                ]
                with m.If(place == 0):
                    m.d.sync += [
                        name.eq(store.granule),
                        short.eq(incoming.data[_offset("length"):][:13] <= formats.PAYLOAD_BYTES),
                        multicast.eq(incoming.data[_offset("multicast")]),
                    ]
            m.d.sync += asked.eq(here & (place == dest_flit))

            # The tables have answered: into its queue. A multicast does not go back to where it came from.
            m.d.comb += [
                queues.push.eq(asked),
                queues.push_name.eq(name),
                queues.push_short.eq(short),
                queues.push_multicast.eq(multicast),
                queues.push_ports.eq(Mux(multicast, self.mft.ports & ~(1 << self.number), 1 << self.lookup.port)),
            ]

            # A multicast without ports is read to nowhere, before anything else.
            nowhere = Signal(name=f"nowhere_{vc}")
            drop = Signal(name=f"drop_{vc}")
            m.d.comb += [
                nowhere.eq(queues.mc_waits & ~queues.mc_ports.any()),
                candidate.waiting.eq(Mux(nowhere, 0, queues.waiting)),
                candidate.waiting_short.eq(queues.waiting_short),
                candidate.mc_ports.eq(Mux(queues.mc_waits, queues.mc_ports, 0)),
                candidate.mc_short.eq(queues.mc_short),
                candidate.mc_complete.eq(~(inside & (name == queues.mc_name))),
            ]

            # The packet that leaves.
            busy, whole = Signal(name=f"busy_{vc}"), Signal(name=f"whole_{vc}")
            holds = Signal(radix, name=f"holds_{vc}")
            occupied += [busy, asked]
            start = Signal(name=f"start_{vc}")
            m.d.comb += [
                candidate.busy.eq(busy),
                candidate.holds.eq(holds),
                candidate.at_last.eq(busy & store.last),
                candidate.ending.eq(reading[vc] & store.last),
                drop.eq(nowhere & (~busy | candidate.ending)),
                queues.take.eq(candidate.start),
                queues.take_mc.eq(candidate.start_mc.any() | drop),
                queues.take_mc_ports.eq(candidate.start_mc),
                start.eq(candidate.start.any() | candidate.start_mc.any() | drop),
                store.start.eq(start),
                store.start_at.eq(queues.taken_name),
                store.read.eq(reading[vc]),
                store.free.eq(whole),
                dropped[vc].eq(drop),
            ]
            with m.If(start):
                m.d.sync += [
                    busy.eq(1), whole.eq(queues.taken_whole), holds.eq(candidate.start | candidate.start_mc),
                ]
            with m.Elif(candidate.ending):
                m.d.sync += [busy.eq(0), holds.eq(0)]
            able = busy & store.available & ~(holds & ~self.accepts[vc]).any()
            m.d.comb += [
                reading[vc].eq(able if vc == N_VCS - 1 else able & ~reading[N_VCS - 1]),
                self.sends[vc].eq(Mux(reading[vc], holds, 0)),
            ]

            m.d.sync += self.depth[vc].eq(self.depth[vc] + store.write - (reading[vc] & whole))
            with m.If(self.depth[vc] > self.peak[vc]):
                m.d.sync += self.peak[vc].eq(self.depth[vc])

            # Credits that are owed, less the one that goes now.
            owed = Signal(range(sizes.buffer_flits + 1), name=f"owed_{vc}")
            freed = reading[vc] & whole
            m.d.comb += turn.requests[vc].eq(freed | lost[vc] | (owed != 0))
            m.d.sync += [
                owed.eq(owed + freed + lost[vc] - turn.grant[vc]),
                Assert(
                    ResetSignal() | (owed + freed + lost[vc] <= sizes.buffer_flits),
                    "switch: more credits are owed than there are\n",
                ),
            ]

        credit_valid, credit_vc = Signal(), Signal()
        m.d.sync += [credit_valid.eq(turn.requests.any()), credit_vc.eq(turn.grant[1])]
        m.d.comb += [self.link.credit_valid.eq(credit_valid), self.link.credit_vc.eq(credit_vc)]

        # Towards the outputs: the memory answers in the cycle after.
        ports, vc_of, last = Signal(radix), Signal(), Signal()
        m.d.sync += [
            ports.eq(self.sends[0] | self.sends[1]),
            vc_of.eq(reading[1]),
            last.eq(Mux(reading[1], stores[1].last, stores[0].last)),
        ]
        m.d.comb += [
            self.discarded.eq(dropped[0] + dropped[1]),
            self.malformed.eq(lost[0] | lost[1]),
            self.o.ports.eq(ports),
            self.o.flit.data.eq(Mux(vc_of, stores[1].data, stores[0].data)),
            self.o.flit.last.eq(last),
            self.o.flit.vc.eq(vc_of),
        ]
        m.d.sync += self.moves.eq(any_moves(*occupied, credit_valid))
        return m
