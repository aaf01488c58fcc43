# amaranth: UnusedElaboratable=no
"""Packet buffer: collective packets until the trigger consumes them.

Architecture: ``docs/packet_buffer.md``; NIC paper, section 1.3.
"""


from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import FaultMemory
from firmware_models.abi.registers import CONTROL_PAGE
from firmware_models.config import Config
from firmware_models.config.tree import BUFFER_STASH
from rtl.abi import HashKey, PacketHeader, register_layout
from rtl.buffer.buffer_statistics import BufferStatistics, statistics_layout
from rtl.buffer.buffer_steps import Arrivals, BufferParts, Departures
from rtl.buffer.cuckoo_table import CuckooTable
from rtl.buffer.guarded_memory import GuardedMemory
from rtl.buffer.layouts import (
    Arrival,
    Departure,
    exit_layout,
    hash_bits,
    key_fields,
    key_hash,
    on_shared_credit,
    tag_entries,
)
from rtl.buffer.linear_table import LinearTable
from rtl.buffer.packet_reader import PacketReader
from rtl.buffer.packet_signatures import StoredPacketsSignature
from rtl.buffer.packet_slots import SlotPool
from rtl.buffer.tag_table import answer_layout, tag_layout
from rtl.interface import PacketSignature, beat
from rtl.kit.index import index_bits
from rtl.kit.queue import stream_queue
from rtl.kit.register import StreamRegister

FaultOrder = register_layout(CONTROL_PAGE["buffer_fault"])
"""Test input: the next write of `memory` has `errors` wrong bits, from `first_bit` on."""


def tag_table(config: Config, *, hashed: bool = False) -> CuckooTable | LinearTable:
    """The tag table that the configuration asks for."""
    n_entries = tag_entries(config)
    slot_bits = index_bits(config.buffer_slots)
    if config.cou.buffer_mode == "linear":
        return LinearTable(n_entries=n_entries, slot_bits=slot_bits, ecc=config.cou.ecc, hashed=hashed)
    ways = min(4, n_entries // 8)
    return CuckooTable(
        n_entries=n_entries, slot_bits=slot_bits, banks=4, ways=ways, stash=BUFFER_STASH, ecc=config.cou.ecc
    )


class PacketBuffer(wiring.Component):
    """Stores packets under their keys: headers and payloads in slots, the keys in a hash table.

    All ports work at the same time. What a consumer may rely on:

    - A packet is found by every look-up that is taken in the cycle of its event THERE or later, until it is freed.
    - So a look-up that was taken in cycle t and missed will see the event, if the packet comes, in a cycle after t. A
      consumer that compares events with its key from the cycle after the look-up was taken loses none. It may get both
      a hit and an event; they name the same slot.
    - An event COMING stands before it, in the cycle of the header, which can be read from the next one on. A packet
      that is dropped ends with DROPPED instead, two cycles later at the earliest: the slot is used anew.
    - A look-up that is taken after the packet's free does not find it.
    - Events may come before the payload: what is read then waits for beats that are still to come. They do come,
      since whoever sends a packet here has it whole.
    - What is read of a header in a slot that is free means nothing.
    - A packet whose key is there already is dropped and counted; the one that is there stays as it is.
    - With ``config.buffer_packets`` packets in it, or no room for a tag, the next packet waits at ``i``; everything
      else goes on.
    - With ``cou.ecc``, single errors of the memories are corrected; slots and headers survive double ones. A packet
      whose tag has a double error is found by the key in its header, and the answer has `error` set; a damaged
      beat raises `read_error`.

    Timing (cuckoo): its tag is there 6 cycles after the header; packets follow each other without a gap if they have a
    beat. Look-ups: see the tables, and with ``cou.ecc`` a cycle more. Headers and the first beat of a payload come
    in the cycle after they were asked for.

    Parameters
    ----------
    config : Config
        ``cou.buffer_bytes``, ``cou.buffer_mode``, ``cou.ecc`` and ``datapath``.
    hashed : bool
        If true, look-ups and frees bring the hashes of their keys, unless the table has hashes of its own.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets of type COLLECTIVE, with `length` not above the mtu.
    packets : ``In(StoredPacketsSignature)``
        Packets that are there, for those who decide on them.
    i_read : ``In(stream.Signature({slot, length}))``
        Payloads wanted, their first `length` bytes.
    o_read : ``Out(stream.Signature(beat(data_width)))``
        Their beats, the last one of each marked; none if `length` was 0.
    free : ``In(stream.Signature(exit_layout))``
        Packets that have been read, as look-up or event named them. Others are ignored. If not `hashed`, `hash` is.
    o_departure : ``Out(stream.Signature(Departure))``
        One for each packet that has left: freed (`count` is its `n_left`), or dropped as a duplicate (1). Frees and
        drops wait for it.
    inserted : ``Out(1)``
        Pulse: a packet was stored.
    duplicate : ``Out(1)``
        Pulse: a packet was dropped because its key was there.
    read_error : ``Out(1)``
        With a beat on ``o_read``: it has an error that could not be corrected.
    unlent : ``In``
        Shared credits that are not granted, for the statistics.
    statistics : ``Out``
        See :class:`~rtl.buffer.buffer_statistics.BufferStatistics`.
    fault, arm : ``In(FaultOrder)``, ``In(1)``
        Test input: `arm` orders a fault. Without ``cou.ecc`` it has no effect.
    """

    def __init__(self, config: Config, *, hashed: bool = False):
        self.config = config
        # A table that has hashes of its own takes none.
        self.hash_bits = hash_bits(config)
        self.hashed = hashed and self.hash_bits > 0
        self.n_slots = n_slots = config.buffer_slots
        self.slot_bits = slot_bits = index_bits(n_slots)
        self.level_bits = slot_bits + 1
        width = config.datapath.data_width
        super().__init__({
            "i": In(PacketSignature(width)),
            "packets": In(StoredPacketsSignature(slot_bits, self.hash_bits if hashed else 0, config.formats)),
            "i_read": In(stream.Signature(data.StructLayout({"slot": slot_bits, "length": formats.LENGTH_BITS}))),
            "o_read": Out(stream.Signature(beat(width))), "read_error": Out(1),
            "free": In(stream.Signature(exit_layout(slot_bits, self.hash_bits, config.formats))),
            "o_departure": Out(stream.Signature(Departure)),
            "inserted": Out(1), "duplicate": Out(1),
            "unlent": In(self.level_bits), "statistics": Out(statistics_layout(self.level_bits)),
            "fault": In(FaultOrder), "arm": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        datapath, ecc = self.config.datapath, self.config.cou.ecc
        tag_shape = tag_layout(self.slot_bits)

        m.submodules.table = table = tag_table(self.config, hashed=self.hashed)
        m.submodules.pool = pool = SlotPool(n_slots=self.config.buffer_packets)
        m.submodules.reader = reader = PacketReader(
            data_width=datapath.data_width, mtu=datapath.mtu, slot_bits=self.slot_bits
        )
        m.submodules.headers = headers = GuardedMemory(
            width=PacketHeader.size, depth=self.n_slots, ecc=ecc, copies=2, careless=True
        )
        m.submodules.payloads = payloads = GuardedMemory(
            width=datapath.data_width, depth=self.n_slots << reader.beat_bits, ecc=ecc
        )
        parts = BufferParts(table=table, pool=pool, headers=headers, payloads=payloads, reader=reader)
        m.submodules.departed = departed = stream_queue(shape=Departure, depth=4)
        drops = Signal()
        connect(m, departed.o, flipped(self.o_departure))
        m.d.comb += [
            table.remove.valid.eq(self.free.valid & departed.i.ready & ~drops),
            table.remove.payload.key.eq(self.free.payload.free.key),
            table.remove.payload.slot.eq(self.free.payload.free.slot),
            self.free.ready.eq(table.remove.ready & departed.i.ready & ~drops),
        ]
        connect(m, flipped(self.i_read), reader.i)
        connect(m, reader.o, flipped(self.o_read))

        # Packets come in one after the other. A tag goes to the table with its header.
        kept_shape = data.StructLayout({"tag": tag_shape, "shared": 1})
        m.submodules.entered = entered = stream_queue(shape=kept_shape, depth=8)
        m.submodules.outcome = outcome = stream_queue(shape=1, depth=8)
        m.submodules.entering = entering = StreamRegister(
            shape=data.StructLayout({"kept": kept_shape, "hash": self.hash_bits})
        )
        arriving, accepted, receiving, slot = Signal(tag_shape), Signal(), Signal(), Signal(self.slot_bits)
        header, payload = self.i.header, self.i.payload
        accept, offered, free, take, tells = (
            Signal(name=name) for name in ("accept", "offered", "may_enter", "take", "tells")
        )
        m.d.comb += [
            *(arriving.key[name].eq(value) for name, value in key_fields(header.payload).items()),
            arriving.slot.eq(pool.o.payload),
            free.eq(~receiving & pool.o.valid & entered.i.ready & ~tells), offered.eq(header.valid & free),
            entering.i.valid.eq(offered), entering.i.payload.kept.tag.eq(arriving),
            entering.i.payload.kept.shared.eq(on_shared_credit(header.payload)),
            entering.i.payload.hash.eq(key_hash(arriving.key, self.hash_bits)),
            table.insert.valid.eq(entering.o.valid), entering.o.ready.eq(table.insert.ready),
            table.insert.payload.eq(entering.o.payload.kept.tag), accept.eq(header.valid & (free & entering.i.ready)),
            header.ready.eq(accept),
            # None is taken right after another one. So what that one is taken from changes in the cycle after, and its
            # tag is noted as it goes to the table: there was room when it was taken.
            pool.o.ready.eq(accepted),
            entered.i.valid.eq(entering.o.valid & table.insert.ready), entered.i.payload.eq(entering.o.payload.kept),
            outcome.i.valid.eq(table.done), outcome.i.payload.eq(table.duplicate),
        ]
        if isinstance(table, LinearTable) and self.hashed:
            m.d.comb += [
                table.hashes.insert.eq(entering.o.payload.hash), table.hashes.remove.eq(self.free.payload.hash),
                table.hashes.lookup.eq(self.packets.lookup.hash),
            ]
        # Header and payload go straight to their slot. The beat number stays within the slot whatever comes.
        index = Signal(reader.beat_bits)
        m.d.comb += [
            headers.write_address.eq(arriving.slot), headers.write_data.eq(header.payload),
            # A slot that is free takes any header that waits.
            headers.write_enable.eq(header.valid & pool.o.valid & ~receiving & ~accepted),
            payload.ready.eq(receiving), take.eq(payload.valid & receiving),
            payloads.write_address.eq(Cat(index, slot)), payloads.write_data.eq(payload.payload.data),
            payloads.write_enable.eq(take),
            # Beats that are read of a packet still coming in are there, or waited for.
            reader.coming.eq(receiving), reader.coming_slot.eq(slot), reader.coming_beat.eq(index),
        ]
        m.d.sync += accepted.eq(accept)
        with m.If(take):
            m.d.sync += [index.eq(index + 1), receiving.eq(~payload.payload.last)]
        with m.If(accept):
            m.d.sync += [index.eq(0), receiving.eq(header.payload.length != 0), slot.eq(arriving.slot)]

        arrivals = Arrivals(arriving=arriving, accept=accept, entered=entered, outcome=outcome, tells=tells)
        self._elaborate_events(m, parts, arrivals, Departures(departed=departed, drops=drops))
        self._elaborate_answers(m, table, accept=accept, arriving=arriving)
        self._elaborate_faults(m, parts, accept)
        self._elaborate_reads(m, parts)
        self._elaborate_statistics(m, parts)
        return m

    def _elaborate_events(self, m: Module, parts: BufferParts, arrivals: Arrivals, departures: Departures) -> None:
        """Announces packets, and drops duplicates.

        A packet has arrived when its tag is there; its payload follows. A duplicate returns its slot instead, when no
        other slot is just returning.
        """
        table, pool, arriving, accept = parts.table, parts.pool, arrivals.arriving, arrivals.accept
        entered, outcome, tells = arrivals.entered, arrivals.outcome, arrivals.tells
        departed, drops = departures.departed, departures.drops
        oldest = entered.o.payload.tag
        dropped = Signal()
        # It is announced as soon as it is taken. The event about one that is there comes first: whether
        # there is one stands in registers, and the next header has some cycles to spare.
        event, reported = self.packets.arrival.payload, Signal(tag_layout(self.slot_bits))
        m.d.comb += [
            # An outcome is that of a packet that entered: it is never alone.
            tells.eq(outcome.o.valid),
            # None is taken beside it, and that one is taken is known late.
            self.packets.arrival.valid.eq(Mux(tells, ~outcome.o.payload | dropped, accept)),
            reported.eq(Mux(tells, oldest, arriving)), event.key.eq(reported.key), event.slot.eq(reported.slot),
            event.what.eq(Mux(tells, Mux(outcome.o.payload, Arrival.DROPPED, Arrival.THERE), Arrival.COMING)),
            dropped.eq(drops & ~table.removed & departed.i.ready),
            departed.i.valid.eq((self.free.valid & table.remove.ready & ~drops) | dropped),
            departed.i.payload.job_id.eq(Mux(drops, oldest.key.job_id, self.free.payload.free.key.job_id)),
            departed.i.payload.count.eq(Mux(drops, 1, self.free.payload.free.n_left)),
            departed.i.payload.duplicate.eq(drops), departed.i.payload.shared.eq(drops & entered.o.payload.shared),
            entered.o.ready.eq(Mux(outcome.o.payload, dropped, tells)),
            outcome.o.ready.eq(entered.o.ready),
            pool.i.valid.eq(table.removed | dropped),
            pool.i.payload.eq(Mux(table.removed, table.removed_slot, oldest.slot)),
        ]
        m.d.sync += [
            drops.eq(tells & outcome.o.payload & ~dropped),
            self.inserted.eq(tells & ~outcome.o.payload), self.duplicate.eq(dropped),
        ]

    def _elaborate_reads(self, m: Module, parts: BufferParts) -> None:
        """Reads headers and payloads on demand; the output registers of the memories hold what was asked for."""
        headers, payloads, reader = parts.headers, parts.payloads, parts.reader
        m.d.comb += [
            headers.read_address.eq(self.packets.header.slot), headers.read_enable.eq(self.packets.header.enable),
            self.packets.header.header.eq(headers.read_data),
            payloads.read_address.eq(reader.address), payloads.read_enable.eq(reader.enable),
            reader.read_data.eq(payloads.read_data), self.read_error.eq(payloads.uncorrectable),
        ]

    def _elaborate_statistics(self, m: Module, parts: BufferParts) -> None:
        """Gathers the statistics."""
        table, pool, headers, payloads = parts.table, parts.pool, parts.headers, parts.payloads
        lookups = Signal()
        m.d.sync += lookups.eq(self.packets.header.enable)
        m.submodules.count = count = BufferStatistics(level_bits=self.level_bits)
        beats = self.o_read.valid & self.o_read.ready
        answered = self.packets.lookup.answer.valid & self.packets.lookup.answer.ready
        m.d.comb += [
            count.level.eq(pool.level), count.peak.eq(pool.peak), count.unlent.eq(self.unlent),
            count.stash.eq(table.figures.stash_level),
            count.settled.eq(table.figures.settled), count.steps.eq(table.figures.steps),
            count.suspended.eq(answered & ~self.packets.lookup.answer.payload.hit),
            count.corrected.eq(table.corrected + (beats & payloads.corrected) + (lookups & headers.corrected)),
            count.uncorrectable.eq(
                table.uncorrectable + (beats & payloads.uncorrectable) + (lookups & headers.uncorrectable)
            ),
            self.statistics.eq(count.o),
        ]

    def _elaborate_answers(
        self, m: Module, table: LinearTable | CuckooTable, *, accept: Signal, arriving: View
    ) -> None:
        """Hands on answers of the table; one with an error is compared with the key in the packet's header."""
        if not self.config.cou.ecc:
            connect(m, flipped(self.packets).lookup.request, table.lookup)
            connect(m, table.o_lookup, flipped(self.packets).lookup.answer)
            return
        # Keys are kept by slot for this, in two copies like the headers, which have no read port to spare.
        m.submodules.keys = keys = GuardedMemory(width=HashKey.size, depth=self.n_slots, ecc=True, copies=2)
        m.submodules.lookups = lookups = stream_queue(
            shape=HashKey, depth=8
        )
        looked, request, answer = table.o_lookup, self.packets.lookup.request, self.packets.lookup.answer
        checking = Signal(answer_layout(self.slot_bits))
        wanted = Signal(HashKey)
        valid, advance = Signal(), Signal()
        # A look-up goes to the table with its key remembered; both or none.
        m.d.comb += [
            table.lookup.valid.eq(request.valid & lookups.i.ready),
            request.ready.eq(table.lookup.ready & lookups.i.ready),
            lookups.i.valid.eq(request.valid & table.lookup.ready), lookups.i.payload.eq(request.payload),
            table.lookup.payload.eq(request.payload),
            keys.write_enable.eq(accept), keys.write_address.eq(arriving.slot), keys.write_data.eq(arriving.key),
            keys.read_enable.eq(advance), keys.read_address.eq(looked.payload.slot),
            advance.eq(~valid | answer.ready), looked.ready.eq(advance),
            lookups.o.ready.eq(looked.valid & advance),
        ]
        with m.If(advance):
            m.d.sync += [valid.eq(looked.valid), checking.eq(looked.payload), wanted.eq(lookups.o.payload)]
        proven = ~checking.error | (keys.read_data == wanted.as_value())
        m.d.comb += [
            answer.valid.eq(valid), answer.payload.slot.eq(checking.slot),
            answer.payload.hit.eq(checking.hit & proven), answer.payload.error.eq(checking.error & proven),
        ]

    def _elaborate_faults(self, m: Module, buffer: BufferParts, accept: Signal) -> None:
        """Keeps an ordered fault until the write that it is to spoil."""
        table, headers, payloads = buffer.table, buffer.headers, buffer.payloads
        order = Signal(FaultOrder)
        spoiled = Signal()
        with m.If(self.arm):
            m.d.sync += order.eq(self.fault)
        with m.Elif(spoiled):
            m.d.sync += order.errors.eq(0)
        parts = {FaultMemory.TAG: table.test, FaultMemory.HEADER: headers, FaultMemory.PAYLOAD: payloads}
        for memory, part in parts.items():
            m.d.comb += [
                part.flip.eq(Mux(order.memory == memory, order.errors, 0) if self.config.cou.ecc else 0),
                part.flip_bit.eq(order.first_bit),
            ]
        with m.Switch(order.memory):
            with m.Case(FaultMemory.TAG):
                m.d.comb += spoiled.eq(table.test.flipped)
            with m.Case(FaultMemory.HEADER):
                m.d.comb += spoiled.eq(accept)
            with m.Case(FaultMemory.PAYLOAD):
                m.d.comb += spoiled.eq(payloads.write_enable)
