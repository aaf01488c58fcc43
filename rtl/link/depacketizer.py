"""From the flits of a link to packets inside of the NIC."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
from rtl.interface import PacketSignature, beat
from rtl.kit.fifo import StreamFifo
from rtl.kit.memory import BlockMemory
from rtl.kit.quiescence import any_moves
from rtl.link.packetizer import header_flits

HEADERS = 4
"""Checked headers that can wait; more than two keep a link full of packets without payload moving."""


class Depacketizer(wiring.Component):
    """Checks packets and passes on the good ones; the others leave no trace but a count.

    A packet is malformed if its version or type is unknown, its length exceeds the mtu, or its number of flits
    does not fit its length; a multicast, if it is no COLLECTIVE packet or its MLID is below 0xC000. A well-formed
    one with another destination than this node is dropped as well, unless it is multicast (membership in the group
    decides about that).

    Every packet is stored until its last flit has been seen, and committed or rolled back then: the number of
    flits is known only at the end, and a beat once passed on could not be taken back. The price is the time of
    the payload's flits, which whoever needs a packet whole, as the packet buffer does, would wait for anyway.
    The memory holds two packets of mtu bytes, so one is passed on while the next one comes in.

    Timing: a header comes out one cycle after the last flit of its packet. No idle cycle between packets. No
    combinational path between ``i`` and ``o``.

    Parameters
    ----------
    data_width : int
        Bits of a flit: 64, 128, 256 or 512.
    mtu : int
        Largest payload in bytes; a power of two, at least 64.

    Members
    -------
    i : ``In(stream.Signature(beat(data_width)))``
        Flits.
    node_id : ``In(24)``
        NodeID of this node.
    o : ``Out(PacketSignature(data_width))``
        Good packets.
    received : ``Out(1)``
        Pulse: the last flit of a packet came, good or not.
    malformed : ``Out(1)``
        Pulse with ``received``: the packet was dropped as malformed.
    wrong_node : ``Out(1)``
        Pulse with ``received``: the packet was well-formed but for another node, and dropped.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, *, data_width: int, mtu: int):
        self.header_flits = header_flits(data_width)
        if mtu < 64 or mtu & (mtu - 1):
            raise ValueError(f"mtu must be a power of two and at least 64, not {mtu!r}")
        self.data_width = data_width
        self.mtu = mtu
        super().__init__({
            "moves": Out(1),
            "i": In(stream.Signature(beat(data_width))),
            "node_id": In(formats.NODE_BITS),
            "o": Out(PacketSignature(data_width)),
            "received": Out(1),
            "malformed": Out(1),
            "wrong_node": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        depth = 2 * (8 * self.mtu // self.data_width)

        m.submodules.headers = headers = StreamFifo(shape=PacketHeader, depth=HEADERS)
        m.submodules.store = store = BlockMemory(shape=self.data_width, depth=depth, apart=True)

        # Beats from `committed` on belong to the packet that comes in. How many there are of both kinds is counted too,
        # so that whether there is room is a register and not a subtraction on the way to the link's credits.
        stored, committed, taken = Signal(range(depth)), Signal(range(depth)), Signal(range(depth))
        level, kept_level, full = Signal(range(depth + 1)), Signal(range(depth + 1)), Signal()

        good, drops = Signal(), Signal()
        self._receive(m, headers, store, full=full, stored=stored, good=good, drops=drops)
        with m.If(good):
            m.d.sync += committed.eq(stored + store.write_enable)
        with m.Elif(drops):
            m.d.sync += stored.eq(committed)
        # A packet is dropped when something has come, so when there was room: none is missing afterwards.
        m.d.sync += [
            level.eq(Mux(drops, kept_level, level + store.write_enable) - store.read_enable),
            kept_level.eq(Mux(good, level + store.write_enable, kept_level) - store.read_enable),
            full.eq(~drops & ~store.read_enable & ((level == depth) | (level == depth - 1) & store.write_enable)),
        ]
        self._pass_on(m, headers, store, taken=taken, some=kept_level != 0)

        m.d.sync += self.moves.eq(any_moves(headers.moves, self.o.payload.valid & self.o.payload.ready))

        return m

    def _beats(self, length):
        """Flits of a payload."""
        flit_bytes = self.data_width // 8
        return (length + (flit_bytes - 1)) >> (flit_bytes.bit_length() - 1)

    def _receive(
        self, m: Module, headers: StreamFifo, store: BlockMemory, *, full: Signal, stored: Signal, good: Signal,
        drops: Signal,
    ) -> None:
        """Stores a packet from `stored` on while it comes in, and judges it: `good` or not when its last flit comes."""
        # Its header's flits are kept; what it says of the packet is found out when its last one comes.
        take, in_header, judge = Signal(), Signal(), Signal()
        index = Signal(range(self.header_flits + 1))
        is_last_part = index == self.header_flits - 1
        parts = [Signal(self.data_width, name=f"part_{k}") for k in range(self.header_flits)]
        early = Signal(PacketHeader)
        bad, foreign = Signal(), Signal()
        # Beats that are still to come; `incomplete` if there are any.
        remaining, incomplete = Signal(range(8 * self.mtu // self.data_width + 1)), Signal()
        m.d.comb += in_header.eq(index < self.header_flits)
        now_bad = (
            (early.version != formats.PACKET_VERSION) | (early.type > max(PacketType)) | (early.length > self.mtu)
            | (early.multicast & ((early.type != PacketType.COLLECTIVE) | (early.mlid < formats.FIRST_MLID)))
        )
        now_foreign = (early.dest_id != self.node_id) & ~early.multicast

        # Payload: beats beyond the length are not stored, so a packet never needs more room than its mtu.
        m.d.comb += [
            take.eq(self.i.valid & self.i.ready),
            store.write_address.eq(stored), store.write_data.eq(self.i.payload.data),
            store.write_enable.eq(take & ~in_header & incomplete & ~bad & ~foreign),
        ]
        closes, verdict_bad, verdict_foreign = Signal(), Signal(), Signal()
        # What is checked looks at the parts themselves: at most widths all of it has come before the last one.
        kept = Signal(PacketHeader)
        m.d.comb += [
            judge.eq(take & in_header & is_last_part),
            early.eq(Cat(*parts[:-1], self.i.payload.data)), self.i.ready.eq(headers.i.ready & ~full),
            closes.eq(take & self.i.payload.last), headers.i.payload.eq(Mux(in_header, early, kept)),
        ]
        with m.If(in_header):
            m.d.comb += [
                verdict_bad.eq(~is_last_part | (early.length != 0) | now_bad), verdict_foreign.eq(now_foreign),
            ]
        with m.Else():
            m.d.comb += [verdict_bad.eq((remaining != 1) | bad), verdict_foreign.eq(foreign)]
        with m.If(judge):
            m.d.sync += kept.eq(early)

        with m.If(take):
            with m.If(in_header):
                m.d.sync += index.eq(index + 1)
                for k, part in enumerate(parts):
                    with m.If(index == k):
                        m.d.sync += part.eq(self.i.payload.data)
            with m.Elif(incomplete):
                m.d.sync += [remaining.eq(remaining - 1), incomplete.eq(remaining != 1)]
            with m.Else():
                m.d.sync += bad.eq(1)
            with m.If(store.write_enable):
                m.d.sync += stored.eq(stored + 1)
            with m.If(self.i.payload.last):
                m.d.sync += index.eq(0)
        with m.If(judge):
            m.d.sync += [
                bad.eq(now_bad), foreign.eq(now_foreign), remaining.eq(self._beats(early.length)),
                incomplete.eq(early.length != 0),
            ]

        m.d.comb += [
            good.eq(closes & ~verdict_bad & ~verdict_foreign), drops.eq(closes & ~good), headers.i.valid.eq(good),
        ]
        m.d.sync += [
            self.received.eq(closes), self.malformed.eq(closes & verdict_bad),
            self.wrong_node.eq(closes & ~verdict_bad & verdict_foreign),
        ]

    def _pass_on(self, m: Module, headers: StreamFifo, store: BlockMemory, *, taken: Signal, some) -> None:
        """Offers packets; `some`: beats of good ones lie from `taken` on."""
        # The read port's register holds the next beat ahead of its use.
        ahead = Signal()
        m.d.comb += [
            store.read_enable.eq(some & (~ahead | self.o.payload.ready & self.o.payload.valid)),
            store.read_address.eq(taken),
        ]
        with m.If(store.read_enable):
            m.d.sync += [taken.eq(taken + 1), ahead.eq(1)]
        with m.Elif(self.o.payload.valid & self.o.payload.ready):
            m.d.sync += ahead.eq(0)

        left = Signal(range(8 * self.mtu // self.data_width + 1))
        m.d.comb += [
            self.o.header.payload.eq(headers.o.payload),
            self.o.payload.payload.data.eq(store.read_data),
            self.o.payload.payload.last.eq(left == 1),
        ]
        with m.If(left == 0):
            m.d.comb += [
                self.o.header.valid.eq(headers.o.valid),
                headers.o.ready.eq(self.o.header.ready),
            ]
            with m.If(headers.o.valid & self.o.header.ready):
                m.d.sync += left.eq(self._beats(headers.o.payload.length))
        with m.Else():
            m.d.comb += self.o.payload.valid.eq(ahead)
            with m.If(self.o.payload.valid & self.o.payload.ready):
                m.d.sync += left.eq(left - 1)
