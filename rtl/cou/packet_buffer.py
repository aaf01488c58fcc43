"""Packet buffer: collective packets until the trigger consumes them.

Architecture: ``docs/packet_buffer.md``; NIC paper, section 1.3.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.config import Config
from rtl.abi import HashKey, PacketHeader
from rtl.cou.command import index_bits
from rtl.cou.hash_table import HashTable, answer_layout, tag_layout
from rtl.cou.packet_reader import PacketReader
from rtl.cou.packet_slots import SlotPool
from rtl.interface import PacketSignature, beat


class PacketBuffer(wiring.Component):
    """Stores packets under their keys: headers and payloads in slots, the keys in a hash table.

    All ports work at the same time. What a consumer may rely on:

    - A packet is found by every look-up that is taken in the cycle of its arrival event or later, until it is freed.
    - So a look-up that was taken in cycle t and missed will see the event, if the packet comes, in a cycle after t. A
      consumer that compares events with its key from the cycle after the look-up was taken loses none. It may get both
      a hit and an event; they name the same slot.
    - A look-up that is taken after the packet's free does not find it.
    - A packet whose key is there already is dropped and counted; the one that is there stays as it is.
    - With all slots in use the next packet waits at ``i``; everything else goes on.

    Timing: the event comes in the cycle after the last beat, or 2 cycles after the header if that is later, plus a
    cycle for each further entry that the table had to read. Look-ups: see :class:`~rtl.cou.hash_table.HashTable`.
    Headers and the first beat of a payload come in the cycle after they were asked for.

    Parameters
    ----------
    config : Config
        ``cou.buffer_bytes`` and ``datapath``; the table has twice as many entries as there are slots.

    Members
    -------
    i : ``In(PacketSignature(data_width))``
        Packets of type COLLECTIVE, with `length` not above the mtu.
    o_arrival : ``Out(stream.Signature({key, slot}))``
        An event for each packet once it is there entirely.
    lookup : ``In(stream.Signature(HashKey))``
        Keys to be found.
    o_lookup : ``Out(stream.Signature({hit, slot}))``
        An answer for each, in order; `slot` means something only with `hit`.
    i_meta : ``In(stream.Signature({slot}))``
        Slots whose header is wanted.
    o_meta : ``Out(stream.Signature(PacketHeader))``
        The headers, in order.
    i_read : ``In(stream.Signature({slot, length}))``
        Payloads wanted, their first `length` bytes.
    o_read : ``Out(stream.Signature(beat(data_width)))``
        Their beats, the last one of each marked; none if `length` was 0.
    free : ``In(stream.Signature({key, slot}))``
        Packets that are done with, as look-up or event named them. Others are ignored.
    inserted : ``Out(1)``
        Pulse: a packet was stored.
    duplicate : ``Out(1)``
        Pulse: a packet was dropped because its key was there.
    level, peak : ``Out(range(buffer_slots + 1))``
        Slots in use, and the most since reset.
    full : ``Out(1)``
        No slot is free.
    insert_steps, max_insert_steps : ``Out``
        With `inserted`, the table entries that this insertion read; and the most since reset.
    """

    def __init__(self, config: Config):
        self.config = config
        self.n_slots = n_slots = config.buffer_slots
        self.slot_bits = slot_bits = index_bits(n_slots)
        self.n_entries = 2 * n_slots
        width = config.datapath.data_width
        tag = tag_layout(slot_bits)
        super().__init__({
            "i": In(PacketSignature(width)),
            "o_arrival": Out(stream.Signature(tag)),
            "lookup": In(stream.Signature(HashKey)),
            "o_lookup": Out(stream.Signature(answer_layout(slot_bits))),
            "i_meta": In(stream.Signature(data.StructLayout({"slot": slot_bits}))),
            "o_meta": Out(stream.Signature(PacketHeader)),
            "i_read": In(stream.Signature(data.StructLayout({"slot": slot_bits, "length": 13}))),
            "o_read": Out(stream.Signature(beat(width))),
            "free": In(stream.Signature(tag)),
            "inserted": Out(1), "duplicate": Out(1), "full": Out(1),
            "level": Out(range(n_slots + 1)), "peak": Out(range(n_slots + 1)),
            "insert_steps": Out(range(self.n_entries + 1)), "max_insert_steps": Out(range(self.n_entries + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        datapath = self.config.datapath
        tag_shape = tag_layout(self.slot_bits)

        m.submodules.table = table = HashTable(n_entries=self.n_entries, slot_bits=self.slot_bits)
        m.submodules.pool = pool = SlotPool(n_slots=self.n_slots)
        m.submodules.reader = reader = PacketReader(
            data_width=datapath.data_width, mtu=datapath.mtu, slot_bits=self.slot_bits
        )
        m.submodules.headers = headers = memory.Memory(shape=PacketHeader, depth=self.n_slots, init=[])
        m.submodules.payloads = payloads = memory.Memory(
            shape=datapath.data_width, depth=self.n_slots << reader.beat_bits, init=[]
        )
        connect(m, flipped(self.lookup), table.lookup)
        connect(m, table.o_lookup, flipped(self.o_lookup))
        connect(m, flipped(self.free), table.remove)
        connect(m, flipped(self.i_read), reader.i)
        connect(m, reader.o, flipped(self.o_read))
        m.d.comb += [
            pool.i.valid.eq(table.removed), pool.i.payload.eq(table.removed_slot),
            self.level.eq(pool.level), self.peak.eq(pool.peak), self.full.eq(pool.level == self.n_slots),
            self.max_insert_steps.eq(table.max_steps),
        ]

        # The packet that is coming in, one at a time: its tag goes into the table while its payload is still on its
        # way, and is hidden from look-ups until all of it is there.
        tag, arriving = Signal(tag_shape), Signal(tag_shape)
        busy, waiting, placed, dropped, stored = (
            Signal(name=name) for name in ("busy", "waiting", "placed", "dropped", "stored")
        )
        header = self.i.header
        accept = Signal()
        m.d.comb += [
            arriving.key.job_id.eq(header.payload.job_id), arriving.key.node_id.eq(header.payload.dest_id),
            arriving.key.vp.eq(header.payload.dest_vp), arriving.key.seq_id.eq(header.payload.seq_id),
            arriving.key.pulse.eq(header.payload.pulse), arriving.key.fragment.eq(header.payload.fragment),
            arriving.slot.eq(pool.o.payload),
            header.ready.eq(~busy & pool.o.valid), accept.eq(header.valid & header.ready),
            table.insert.valid.eq(accept | waiting), table.insert.payload.eq(Mux(waiting, tag, arriving)),
            table.hidden.eq(busy), table.hidden_slot.eq(tag.slot),
            # A duplicate leaves its slot to the next packet.
            pool.o.ready.eq(table.done & ~table.duplicate),
        ]
        with m.If(accept):
            m.d.sync += [
                tag.eq(arriving), busy.eq(1), placed.eq(0), dropped.eq(0), stored.eq(header.payload.length == 0),
            ]
        with m.If(table.insert.valid):
            m.d.sync += waiting.eq(~table.insert.ready)
        with m.If(table.done):
            m.d.sync += [placed.eq(1), dropped.eq(table.duplicate), self.insert_steps.eq(table.steps)]

        # Header and payload go straight to their slot. The beat number stays within the slot whatever comes.
        payload = self.i.payload
        index = Signal(reader.beat_bits)
        header_write, payload_write = headers.write_port(), payloads.write_port()
        take = Signal()
        m.d.comb += [
            header_write.addr.eq(arriving.slot), header_write.data.eq(header.payload), header_write.en.eq(accept),
            payload.ready.eq(busy & ~stored), take.eq(payload.valid & payload.ready),
            payload_write.addr.eq(Cat(index, tag.slot)), payload_write.data.eq(payload.payload.data),
            payload_write.en.eq(take),
        ]
        with m.If(take):
            m.d.sync += [index.eq(index + 1), stored.eq(payload.payload.last)]
        with m.If(accept):
            m.d.sync += index.eq(0)

        # The event comes when tag and payload are both there; a look-up in the same cycle finds the packet.
        with m.If(self.o_arrival.ready):
            m.d.sync += self.o_arrival.valid.eq(0)
        m.d.sync += [self.inserted.eq(0), self.duplicate.eq(0)]
        complete = (placed | table.done) & (stored | (take & payload.payload.last))
        with m.If(busy & complete & (~self.o_arrival.valid | self.o_arrival.ready)):
            drop = Mux(placed, dropped, table.duplicate)
            m.d.sync += [
                busy.eq(0), self.o_arrival.valid.eq(~drop), self.o_arrival.payload.eq(tag),
                self.inserted.eq(~drop), self.duplicate.eq(drop),
            ]

        # Headers and payloads on demand; the output registers of the memories hold what is offered.
        header_read, payload_read = headers.read_port(), payloads.read_port()
        m.d.comb += [
            self.i_meta.ready.eq(~self.o_meta.valid | self.o_meta.ready),
            header_read.addr.eq(self.i_meta.payload.slot), header_read.en.eq(self.i_meta.valid & self.i_meta.ready),
            self.o_meta.payload.eq(header_read.data),
            payload_read.addr.eq(reader.address), payload_read.en.eq(reader.enable),
            reader.read_data.eq(payload_read.data),
        ]
        with m.If(self.i_meta.ready):
            m.d.sync += self.o_meta.valid.eq(self.i_meta.valid)
        return m
