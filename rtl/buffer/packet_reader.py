"""Streams payloads out of the packet buffer's memory."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from firmware_models.abi import formats
from rtl.interface import beat


class PacketReader(wiring.Component):
    """Turns requests for payloads into beats.

    Timing: the first beat is offered in the cycle after the request, then one a cycle; requests follow each other
    without a gap. The memory's output register holds the beat that is offered.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    mtu : int
        Bytes of a slot.
    slot_bits : int
        Bits of a slot number.

    Members
    -------
    i : ``In(stream.Signature({slot, length}))``
        Payloads wanted: the first `length` bytes of a slot; none if `length` is 0.
    o : ``Out(stream.Signature(beat(data_width)))``
        Their beats, the last one of each marked.
    coming, coming_slot, coming_beat : ``In``
        A packet that is still being written to this slot, and its next beat: that one and those behind it are not there
        yet, and are waited for.
    address, enable, read_data :
        Read port of a synchronous memory of beats, addressed by slot and beat.
    """

    def __init__(self, *, data_width: int, mtu: int, slot_bits: int):
        self.flit_log2 = bits_for(data_width // 8 - 1)
        self.beat_bits = bits_for(mtu * 8 // data_width - 1) if mtu * 8 > data_width else 0
        self.slot_bits = slot_bits
        super().__init__({
            "i": In(stream.Signature(data.StructLayout({"slot": slot_bits, "length": formats.LENGTH_BITS}))),
            "o": Out(stream.Signature(beat(data_width))),
            "address": Out(slot_bits + self.beat_bits),
            "enable": Out(1),
            "coming": In(1), "coming_slot": In(slot_bits), "coming_beat": In(self.beat_bits),
            "read_data": In(data_width),
        })

    def elaborate(self, platform):
        m = Module()

        n_beats = Signal(formats.LENGTH_BITS)
        m.d.comb += n_beats.eq((self.i.payload.length + ((1 << self.flit_log2) - 1)) >> self.flit_log2)

        # `rest` beats of `slot` have still to be asked for after the one on offer; `idle` if none.
        slot = Signal(self.slot_bits)
        index = Signal(self.beat_bits + 1)
        rest = Signal(formats.LENGTH_BITS)
        idle = Signal(init=1)
        advance, free, begins, continues = Signal(), Signal(), Signal(), Signal()
        last = Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            # The first beat of the next packet is there; the next one of this packet is. Both are compared at once, so
            # that `idle` only chooses.
            begins.eq(~self.coming | (self.coming_slot != self.i.payload.slot) | (self.coming_beat != 0)),
            continues.eq(~self.coming | (self.coming_slot != slot) | (self.coming_beat != index[: self.beat_bits])),
            advance.eq(free & Mux(idle, begins, continues)),
            self.i.ready.eq(idle & free & begins),
            self.enable.eq(advance),
            self.address.eq(
                Mux(idle, Cat(Const(0, self.beat_bits), self.i.payload.slot), Cat(index[: self.beat_bits], slot))
            ),
            self.o.payload.data.eq(self.read_data),
            self.o.payload.last.eq(last),
        ]
        with m.If(advance):
            with m.If(idle):
                first = self.i.valid & (n_beats != 0)
                m.d.sync += [self.o.valid.eq(first), last.eq(n_beats == 1), slot.eq(self.i.payload.slot), index.eq(1)]
                with m.If(first):
                    m.d.sync += [rest.eq(n_beats - 1), idle.eq(n_beats == 1)]
            with m.Else():
                m.d.sync += [
                    self.o.valid.eq(1), last.eq(rest == 1), index.eq(index + 1), rest.eq(rest - 1), idle.eq(rest == 1),
                ]

        with m.Elif(free):
            m.d.sync += self.o.valid.eq(0)


        return m
