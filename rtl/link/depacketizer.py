"""From the flits of a link to packets inside of the NIC."""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import memory, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.abi import PacketHeader
from rtl.interface import PacketSignature, beat, header_flits
from rtl.kit.memory import BlockMemory

HEADERS = 4
"""Headers that can be held, a power of two; more than two keep a link full of packets without payload moving."""


@dataclass(frozen=True, kw_only=True)
class HeaderQueue:
    """Headers that wait to be passed on, and the entry for the one that comes in.

    Parameters
    ----------
    part : Signal
        Number of the part of a header that is written next.
    put : Signal
        It is written in this cycle.
    header, there : Signal
        The oldest header, if there is one.
    room : Signal
        There is an entry for one that comes in.
    """

    part: Signal
    put: Signal
    header: View
    there: Signal
    room: Signal


@dataclass(frozen=True, kw_only=True)
class PayloadRing:
    """Beats of payload that are stored.

    Parameters
    ----------
    memory : BlockMemory
        Where they stand.
    stored, committed, taken : Signal
        Place of the next beat that comes in; of the packet that it belongs to; of the next beat that goes.
    full : Signal
        There is no room for a beat.
    occupied : Signal
        Beats of good packets lie from `taken` on.
    """

    memory: BlockMemory
    stored: Signal
    committed: Signal
    taken: Signal
    full: Signal
    occupied: Signal


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Verdict on a packet in the cycle in which its last flit comes: one of both is high then.

    Parameters
    ----------
    good, drops : Signal
        It is passed on; it leaves no trace.
    """

    good: Signal
    drops: Signal


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Findings about the packet that comes in.

    Parameters
    ----------
    bad, foreign : Signal
        It is malformed; it is for another node. Registers.
    header_alone, header_foreign : Value
        If it ends with the last part of its header, it is well-formed; it is foreign.
    """

    bad: Signal
    foreign: Signal
    header_alone: Value
    header_foreign: Value


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
    marked : bool
        If true, flits mark a packet as `bad`, as behind a reliable link: it then comes once more.

    Members
    -------
    i : ``In(stream.Signature(beat(data_width, marked=marked)))``
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
    bad : ``Out(1)``
        If `marked`: pulse, instead of ``received``, of a packet that was dropped because of its mark.
    """

    def __init__(self, *, data_width: int, mtu: int, marked: bool = False):
        self.header_flits = header_flits(data_width)
        if mtu < 64 or mtu & (mtu - 1):
            raise ValueError(f"mtu must be a power of two and at least 64, not {mtu!r}")
        self.data_width = data_width
        self.mtu = mtu
        self.marked = marked
        super().__init__({
            "i": In(stream.Signature(beat(data_width, marked=marked))),
            "node_id": In(formats.NODE_BITS),
            "o": Out(PacketSignature(data_width)),
            "received": Out(1),
            "malformed": Out(1),
            "wrong_node": Out(1),
            **({"bad": Out(1)} if marked else {}),
        })

    def elaborate(self, platform):
        m = Module()
        depth = 2 * (8 * self.mtu // self.data_width)

        m.submodules.store = store = BlockMemory(shape=self.data_width, depth=depth, apart=True)
        stored, committed, taken = Signal(range(depth)), Signal(range(depth)), Signal(range(depth))
        full, occupied = Signal(), Signal()
        ring = PayloadRing(memory=store, stored=stored, committed=committed, taken=taken, full=full, occupied=occupied)
        good, drops, header_taken = Signal(), Signal(), Signal()
        verdict = Verdict(good=good, drops=drops)
        waiting = self._keep_headers(m, good=good, header_taken=header_taken)
        self._receive(m, waiting, ring, verdict)
        self._count_beats(m, ring, verdict)
        self._pass_on(m, waiting, ring, header_taken)
        return m

    def _beats(self, length):
        """Flits of a payload."""
        flit_bytes = self.data_width // 8
        return (length + (flit_bytes - 1)) >> (flit_bytes.bit_length() - 1)

    def _keep_headers(self, m: Module, *, good: Signal, header_taken: Signal) -> HeaderQueue:
        """Headers that wait, and the entry for the one that comes in, which counts once its packet is `good`.

        Flits are written as they come, so nothing else holds a header, and what is found out about it at the end moves
        a pointer only. The oldest header leaves when one `header_taken`.
        """
        writing, reading, count = Signal(range(HEADERS)), Signal(range(HEADERS)), Signal(range(HEADERS + 1))
        waiting = HeaderQueue(
            part=Signal(range(self.header_flits + 1), name="part"), put=Signal(name="put"),
            header=Signal(PacketHeader, name="header"), there=Signal(name="there"), room=Signal(init=1, name="room"),
        )
        width = min(self.data_width, formats.PACKET_HEADER.width)
        parts = []
        for k in range(self.header_flits):
            m.submodules[f"part_{k}"] = part = memory.Memory(shape=width, depth=HEADERS, init=[])
            put, get = part.write_port(), part.read_port(domain="comb")
            m.d.comb += [
                put.en.eq(waiting.put & (waiting.part == k)), put.addr.eq(writing),
                put.data.eq(self.i.payload.data), get.addr.eq(reading),
            ]
            # All parts but the last one are there a cycle before the header may be, so they are shown by registers;
            # then a header is not `there` in the cycle after the one before has gone.
            shown = Signal(width, name=f"shown_{k}") if k < self.header_flits - 1 else get.data
            if k < self.header_flits - 1:
                m.d.sync += shown.eq(get.data)
            parts.append(shown)
        m.d.comb += waiting.header.eq(Cat(parts))
        with m.If(good):
            m.d.sync += writing.eq(writing + 1)
        with m.If(header_taken):
            m.d.sync += reading.eq(reading + 1)
        m.d.sync += [
            count.eq(count + good - header_taken),
            waiting.there.eq(good | Mux(header_taken, count != 1, waiting.there)) if self.header_flits == 1
            else waiting.there.eq(~header_taken & (good | (count != 0))),
            waiting.room.eq(header_taken | ~((count == HEADERS) | (count == HEADERS - 1) & good)),
        ]
        return waiting

    def _receive(self, m: Module, waiting: HeaderQueue, ring: PayloadRing, verdict: Verdict) -> None:
        """Stores a packet while it comes in, and gives the verdict when its last flit comes."""
        store, stored, good, drops = ring.memory, ring.stored, verdict.good, verdict.drops
        take, closes, in_header = Signal(), Signal(), Signal(init=1)
        # Beats that are still to come, by what the first part of the header says; if there are any, if it is one.
        remaining, more, one_more = Signal(range(8 * self.mtu // self.data_width + 1)), Signal(), Signal()
        seen = self._look(m, take & in_header, waiting.part, more)
        is_last_part = waiting.part == self.header_flits - 1

        # Payload: beats beyond the length are not stored, so a packet never needs more room than its mtu.
        m.d.comb += [
            self.i.ready.eq(waiting.room & ~ring.full), take.eq(self.i.valid & self.i.ready),
            closes.eq(take & self.i.payload.last), waiting.put.eq(take & in_header),
            store.write_address.eq(stored), store.write_data.eq(self.i.payload.data),
            store.write_enable.eq(take & ~in_header & more & ~seen.bad & ~seen.foreign),
        ]
        with m.If(store.write_enable):
            m.d.sync += stored.eq(stored + 1)
        beats = self._beats(self._field("length"))
        with m.If(take):
            with m.If(in_header):
                m.d.sync += [waiting.part.eq(waiting.part + 1), in_header.eq(~is_last_part)]
                with m.If(waiting.part == 0):
                    m.d.sync += [remaining.eq(beats), more.eq(beats != 0), one_more.eq(beats == 1)]
            with m.Elif(more):
                m.d.sync += [remaining.eq(remaining - 1), more.eq(~one_more), one_more.eq(remaining == 2)]
            with m.Else():
                m.d.sync += seen.bad.eq(1)
            with m.If(self.i.payload.last):
                m.d.sync += [waiting.part.eq(0), in_header.eq(1)]

        well_formed, foreign = Signal(), Signal()
        with m.If(in_header):
            m.d.comb += [well_formed.eq(is_last_part & seen.header_alone), foreign.eq(seen.header_foreign)]
        with m.Else():
            m.d.comb += [well_formed.eq(one_more & ~seen.bad), foreign.eq(seen.foreign)]
        # A marked packet is not even looked at: it may be damaged anywhere.
        whole: Value = closes
        if self.marked:
            whole = closes & ~self.i.payload.bad
            m.d.sync += self.bad.eq(closes & self.i.payload.bad)
        m.d.comb += [good.eq(whole & well_formed & ~foreign), drops.eq(closes & ~good)]
        m.d.sync += [
            self.received.eq(whole), self.malformed.eq(whole & ~well_formed),
            self.wrong_node.eq(whole & well_formed & foreign),
        ]

    def _field(self, name: str) -> Value:
        """A field of the header, in the cycle in which the part comes that holds it."""
        field = PacketHeader[name]
        return self.i.payload.data[field.offset % self.data_width:][:field.width]

    def _look(self, m: Module, flit_taken: Value, part: Signal, more: Signal) -> Findings:
        """Looks at each part of a header when it `flit_taken`, and keeps what is found.

        What is found out has been before the last part comes, where there are several.
        """
        field = self._field
        bad, foreign, multicast = Signal(), Signal(), Signal()
        is_collective = field("type") == PacketType.COLLECTIVE
        now_bad = (
            (field("version") != formats.PACKET_VERSION) | (field("type") > max(PacketType))
            | (field("length") > self.mtu) | (field("multicast") & ~is_collective)
        )
        # Addresses come with the first part, or are the second one.
        together = PacketHeader["dest_id"].offset < self.data_width
        is_multicast = field("multicast") if together else multicast
        now_foreign = (field("dest_id") != self.node_id) & ~is_multicast
        no_group = is_multicast & (field("mlid") < formats.FIRST_MLID)
        with m.If(flit_taken & (part == 0)):
            m.d.sync += [bad.eq(now_bad | (no_group if together else 0)), multicast.eq(field("multicast"))]
            if together:
                m.d.sync += foreign.eq(now_foreign)
        if not together:
            with m.If(flit_taken & (part == 1)):
                m.d.sync += [bad.eq(bad | no_group), foreign.eq(now_foreign)]

        if self.header_flits == 1:
            return Findings(
                bad=bad, foreign=foreign, header_foreign=now_foreign,
                header_alone=~now_bad & ~no_group & (field("length") == 0),
            )
        return Findings(bad=bad, foreign=foreign, header_foreign=foreign, header_alone=~bad & ~more)

    @staticmethod
    def _count_beats(m: Module, ring: PayloadRing, verdict: Verdict) -> None:
        """Commits or rolls back what has come of a packet, and counts the beats that are stored.

        Beats from `committed` on belong to the packet that comes in. How many there are of both kinds is counted too,
        so that whether there is room is a register and not a subtraction on the way to the link's credits.
        """
        store, good, drops = ring.memory, verdict.good, verdict.drops
        depth = store.depth
        with m.If(good):
            m.d.sync += ring.committed.eq(ring.stored + store.write_enable)
        with m.Elif(drops):
            m.d.sync += ring.stored.eq(ring.committed)
        # A packet is dropped when something has come, so when there was room: none is missing afterwards. Its beats are
        # counted for a cycle more, in which none can come. That a beat comes is known late: sums do not wait for it.
        # `occupied` beats of good packets are there: a register, found without the sums.
        level, kept_level = Signal(range(depth + 1)), Signal(range(depth + 1))
        dropped, after, left_over = Signal(), Signal.like(level), Signal.like(level)
        none, one = level == 0, level == 1
        none_kept, one_kept = kept_level == 0, kept_level == 1
        m.d.comb += [
            after.eq(Mux(
                store.write_enable == store.read_enable, level, level + Mux(store.read_enable, -1, 1)
            )),
            left_over.eq(kept_level - store.read_enable),
        ]
        m.d.sync += [
            dropped.eq(drops), level.eq(Mux(dropped, left_over, after)),
            kept_level.eq(Mux(good & ~dropped, after, left_over)),
            ring.occupied.eq(Mux(
                good & ~dropped, store.write_enable | ~(none | one & store.read_enable),
                ~(none_kept | one_kept & store.read_enable),
            )),
            ring.full.eq(
                ~drops & ~dropped & ~store.read_enable
                & ((level == depth) | (level == depth - 1) & store.write_enable)
            ),
        ]

    def _pass_on(self, m: Module, waiting: HeaderQueue, ring: PayloadRing, header_taken: Signal) -> None:
        """Offers packets; a header `header_taken`."""
        store, taken = ring.memory, ring.taken
        # The read port's register holds the next beat ahead of its use.
        ahead = Signal()
        m.d.comb += [
            store.read_enable.eq(ring.occupied & (~ahead | self.o.payload.ready & self.o.payload.valid)),
            store.read_address.eq(taken),
        ]
        with m.If(store.read_enable):
            m.d.sync += [taken.eq(taken + 1), ahead.eq(1)]
        with m.Elif(self.o.payload.valid & self.o.payload.ready):
            m.d.sync += ahead.eq(0)

        # Beats that are left of a payload; whether any are, and whether it is one, are registers of their own.
        left, in_payload, one_left = Signal(range(8 * self.mtu // self.data_width + 1)), Signal(), Signal()
        beats = self._beats(waiting.header.length)
        m.d.comb += [
            self.o.header.payload.eq(waiting.header), self.o.header.valid.eq(waiting.there & ~in_payload),
            header_taken.eq(self.o.header.valid & self.o.header.ready),
            self.o.payload.payload.data.eq(store.read_data), self.o.payload.payload.last.eq(one_left),
            self.o.payload.valid.eq(ahead & in_payload),
        ]
        with m.If(header_taken):
            m.d.sync += [left.eq(beats), in_payload.eq(beats != 0), one_left.eq(beats == 1)]
        with m.Elif(self.o.payload.valid & self.o.payload.ready):
            m.d.sync += [left.eq(left - 1), in_payload.eq(~one_left), one_left.eq(left == 2)]
