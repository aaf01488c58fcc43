"""One virtual channel of an input port: arriving flits, their outputs, and the packet that is being sent."""

from amaranth import Cat, Module, Mux, ResetSignal, Signal
from amaranth.hdl import Assert
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.switch.channel_queues import ChannelQueues
from rtl.switch.channel_store import ChannelStore
from rtl.switch.choice import union
from rtl.switch.port_sources import PortSource
from rtl.switch.route_table import PORT_BITS
from rtl.switch.sizes import SwitchSizes
from rtl.switch.source_check import SourceCheck

_offset = formats.PACKET_HEADER.offset


class CandidateSignature(wiring.Signature):
    """One channel's candidates for the matching, and the grant.

    Members
    -------
    waiting, waiting_short
        Outputs for which a packet for one port waits; whether that packet is short.
    mc_ports, mc_short, mc_complete
        Ports that the first multicast needs copies for; whether it is short, and wholly stored.
    busy, at_last, ending
        The reader that is next sends a packet; it is at its last flit, which is there; that flit leaves in this cycle.
    holds
        Outputs that packets are being sent to.
    keeps, kept
        Those of `holds` whose packet is not at its last flit; whose packet goes on, for its last flit does not leave in
        this cycle.
    start, start_mc
        Outputs of the packet that follows: one, or a part of `mc_ports`. Only if not busy, or ending.
    """

    def __init__(self, radix: int):
        super().__init__({
            "waiting": Out(radix), "waiting_short": Out(radix),
            "mc_ports": Out(radix), "mc_short": Out(1), "mc_complete": Out(1),
            "busy": Out(1), "at_last": Out(1), "ending": Out(1), "holds": Out(radix),
            "keeps": Out(radix), "kept": Out(radix),
            "start": In(radix), "start_mc": In(radix),
        })


class PassageSignature(wiring.Signature):
    """Flits that leave a channel through one of its readers.

    Members
    -------
    passed : ``In(1)``
        The other channel's flit goes first in this cycle.
    ports : ``Out(radix)``
        Outputs to which a flit goes.
    reading, last : ``Out(1)``
        One goes; it is the last one of its packet.
    data, bad : ``Out``
        Its data, in the cycle after; with marked flits: it has a mark.
    """

    def __init__(self, sizes: SwitchSizes):
        super().__init__({
            "passed": In(1), "ports": Out(sizes.radix), "reading": Out(1), "last": Out(1),
            "data": Out(sizes.data_width), **({"bad": Out(1)} if sizes.marked else {}),
        })


class InputChannel(wiring.Component):
    """Stores the flits of its channel, queues packets by their outputs, sends those that were started, counts credits.

    Each reader sends a packet, so while one is busy with an output another one serves the next that is free. Next is
    the first reader that sends nothing or is at its last flit. Multicasts are the first one's: copies of a packet never
    leave beside each other, so who takes the last one may free what it reads.

    The way of a packet is looked up while it is being stored: the tables answer in the cycle after the flit with the
    destination, whatever other flits come. Packets that end before it are lost, multicasts without ports dropped.
    A packet whose source is not the one that is let in becomes a multicast without ports; so does one that ends before
    its source. Where the source stands in the flit behind the destination a packet is queued in the cycle in which that
    flit is on the link, so that the check costs no time.

    Timing: with the destination in its first flit a packet is offered two cycles after that flit; one flit later where
    the destination stands in the second (64 bits). ``data`` is that of the cycle before.

    Parameters
    ----------
    sizes : SwitchSizes
        Sizes.

    Members
    -------
    here : ``In(1)``, flit : ``In(flit(data_width))``
        A flit of this channel is on the link, and that flit.
    port, mft_ports : ``In``
        What the tables say to the flit of the cycle before: port of a unicast, ports of a multicast but that which it
        came by.
    source : ``In(PortSource)``
        Whose packets are let in.
    candidate : ``Out(CandidateSignature)``
        Towards the matching.
    accepts : ``In(radix)``
        Outputs that take a flit of this channel in this cycle.
    o : array of readers ``Out(PassageSignature(sizes))``
        Flits that leave.
    owes : ``Out(1)``, paid : ``In(1)``
        A credit is to return; one does.
    dropped, lost, forged : ``Out(1)``
        A multicast without ports, a packet without destination has been discarded; one of another source is going to
        be, and is `dropped` then.
    depth, peak : ``Out``
        Flits in the buffer, now and at most since reset.
    """

    def __init__(self, *, sizes: SwitchSizes):
        self.sizes = sizes
        radix = sizes.radix
        super().__init__({
            "here": In(1), "flit": In(sizes.flit), "port": In(PORT_BITS), "mft_ports": In(radix),
            "source": In(PortSource),
            "candidate": Out(CandidateSignature(radix)), "accepts": In(radix),
            "o": Out(PassageSignature(sizes)).array(sizes.readers),
            "owes": Out(1), "paid": In(1), "dropped": Out(1), "lost": Out(1),
            "forged": Out(1),
            "depth": Out(range(sizes.buffer_flits + 1)), "peak": Out(range(sizes.buffer_flits + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        sizes, candidate = self.sizes, self.candidate
        m.submodules.store = store = ChannelStore(
            data_width=sizes.data_width + sizes.marked, granule_flits=sizes.granule_flits,
            n_granules=sizes.n_granules, n_readers=sizes.readers,
        )
        m.submodules.queues = queues = ChannelQueues(radix=sizes.radix, n_names=sizes.n_granules)
        name, inside = self._receive(m, store, queues)

        # A multicast without ports is read to nowhere, before anything else.
        nowhere = Signal()
        freed, following = self._send(m, store, queues, nowhere)
        m.d.comb += [
            nowhere.eq(queues.mc_waits & ~queues.mc_ports.any()),
            candidate.waiting.eq(Mux(nowhere, 0, queues.waiting)),
            candidate.waiting_short.eq(queues.waiting_short),
            candidate.mc_ports.eq(Mux(queues.mc_waits & (following == 0), queues.mc_ports, 0)),
            candidate.mc_short.eq(queues.mc_short),
            candidate.mc_complete.eq(~(inside & (name == queues.mc_name))),
        ]
        self._count(m, written=store.write, freed=freed)
        return m

    def _receive(self, m: Module, store: ChannelStore, queues: ChannelQueues):
        """Stores arriving flits, and queues their packet once the tables have answered.

        Returns the name of the arriving packet, and a flag: its last flit is still to come.
        """
        sizes, here, incoming = self.sizes, self.here, self.flit
        dest_flit = sizes.dest_flit
        # Of a packet is kept: its name, and what the first flit says of it.
        flit_index, inside = Signal(range(dest_flit + 2)), Signal()
        name = Signal(range(sizes.n_granules))
        short, multicast = Signal(), Signal()
        m.d.comb += [
            self.lost.eq(here & incoming.last & (flit_index < dest_flit)),
            store.write.eq(here & ~self.lost),
            store.write_data.eq(Cat(incoming.data, incoming.bad) if sizes.marked else incoming.data),
            store.write_last.eq(incoming.last),
        ]
        assert dest_flit <= 1, "a packet without destination is one flit, which is not stored"
        with m.If(here):
            m.d.sync += [
                flit_index.eq(Mux(incoming.last, 0, Mux(flit_index == dest_flit + 1, flit_index, flit_index + 1))),
                inside.eq(~incoming.last),
            ]
            with m.If(flit_index == 0):
                m.d.sync += [
                    name.eq(store.granule),
                    short.eq(incoming.data[_offset("length"):][:formats.LENGTH_BITS] <= formats.PAYLOAD_BYTES),
                    multicast.eq(incoming.data[_offset("multicast")]),
                ]
        m.submodules.check = check = SourceCheck(sizes=sizes)
        m.d.comb += [
            check.here.eq(here), check.flit.eq(incoming), check.flit_index.eq(flit_index),
            check.multicast.eq(multicast), check.ports.eq(Mux(multicast, self.mft_ports, 1 << self.port)),
            check.source.eq(self.source), self.forged.eq(check.forged),
            queues.push.valid.eq(check.o.valid), queues.push.payload.name.eq(name),
            queues.push.payload.short.eq(short), queues.push.payload.multicast.eq(check.o.payload.multicast),
            queues.push.payload.ports.eq(check.o.payload.ports),
        ]
        return name, inside

    def _send(
        self, m: Module, store: ChannelStore, queues: ChannelQueues, nowhere: Signal
    ) -> tuple[Signal, Signal]:
        """Reads the packets that were started, each for all of its outputs at once, or the next one to `nowhere`.

        Returns how many flits have gone for good, and the reader that is next.
        """
        candidate, radix, n = self.candidate, self.sizes.radix, self.sizes.readers
        busy, whole, last, ends = Signal(n), Signal(n), Signal(n), Signal(n)
        following, reading = Signal(range(n)), Cat(passage.reading for passage in self.o)
        holds = [Signal(radix, name=f"holds_{number}") for number in range(n)]
        drop, start = Signal(), Signal()
        m.d.comb += [last.eq(Cat(reader.last for reader in store.readers)), ends.eq(reading & last)]
        for number in reversed(range(n)):
            with m.If(~busy[number] | last[number]):
                m.d.comb += following.eq(number)
        m.d.comb += [
            candidate.busy.eq(busy.bit_select(following, 1)),
            candidate.at_last.eq((busy & last).bit_select(following, 1)),
            candidate.ending.eq(ends.bit_select(following, 1)),
            candidate.holds.eq(union(holds)),
            candidate.keeps.eq(union([Mux(last[number], 0, held) for number, held in enumerate(holds)])),
            candidate.kept.eq(union([Mux(ends[number], 0, held) for number, held in enumerate(holds)])),
            drop.eq(nowhere & (~candidate.busy | candidate.ending)),
            queues.take.eq(candidate.start),
            queues.take_mc.eq(candidate.start_mc.any() | drop),
            queues.take_mc_ports.eq(candidate.start_mc),
            start.eq(candidate.start.any() | candidate.start_mc.any() | drop),
            self.dropped.eq(drop), *(passage.last.eq(last[number]) for number, passage in enumerate(self.o)),
        ]
        for number, (reader, passage) in enumerate(zip(store.readers, self.o, strict=True)):
            begins = Signal(name=f"begins_{number}")
            m.d.comb += [
                begins.eq(start & (following == number)),
                reader.start.eq(begins), reader.start_at.eq(queues.taken_name),
                reader.read.eq(passage.reading), reader.free.eq(whole[number]),
                passage.data.eq(reader.data[:self.sizes.data_width] if self.sizes.marked else reader.data),
                passage.reading.eq(
                    busy[number] & reader.available & ~(holds[number] & ~self.accepts).any() & ~passage.passed
                ),
                passage.ports.eq(Mux(passage.reading, holds[number], 0)),
            ]
            if self.sizes.marked:
                m.d.comb += passage.bad.eq(reader.data[-1])
            with m.If(begins):
                m.d.sync += [
                    busy[number].eq(1), whole[number].eq(queues.taken_whole),
                    holds[number].eq(candidate.start | candidate.start_mc),
                ]
            with m.Elif(ends[number]):
                m.d.sync += [busy[number].eq(0), holds[number].eq(0)]
        freed = Signal(range(n + 1))
        m.d.comb += freed.eq(sum((reading & whole)[number] for number in range(n)))
        return freed, following

    def _count(self, m: Module, *, written, freed) -> None:
        """Counts flits in the buffer, and credits to be returned, less the one that returns now."""
        m.d.sync += self.depth.eq(self.depth + written - freed)
        with m.If(self.depth > self.peak):
            m.d.sync += self.peak.eq(self.depth)

        owed = Signal(range(self.sizes.buffer_flits + 1))
        m.d.comb += self.owes.eq((freed != 0) | self.lost | (owed != 0))
        m.d.sync += [
            owed.eq(owed + freed + self.lost - self.paid),
            Assert(
                ResetSignal() | (owed + freed + self.lost <= self.sizes.buffer_flits),
                "switch: more credits are owed than there are\n",
            ),
        ]
