"""Cuts a transfer into bursts that the bus allows."""

from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.dma.axi4 import check_burst
from rtl.interface import ADDRESS_BITS, check_address_bits

Request = data.StructLayout({"addr": ADDRESS_BITS, "bytes": 32})


class BurstSplitter(wiring.Component):
    """Turns each request into bursts of whole beats that end at multiples of the burst size.

    The burst size is a power of two and divides a page of 4 KiB, so no burst crosses one, and the length of the
    next burst is a subtraction of low address bits. A request that is not aligned to the burst size may take one burst
    more than needed.

    Timing: ``o.valid``, ``o.payload`` and ``i.ready`` are registers. Two cycles of latency; one burst in two cycles,
    as many as an arbiter of several splitters takes.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    max_burst_beats : int
        Longest burst: a power of two from 1 to 256.
    address_bits : int
        Bits of an address, 32 to 64; further bits of a request are ignored.

    Members
    -------
    i : ``In(stream.Signature(Request))``
        Requests: `bytes`, at least 1, at any `addr`.
    o : ``Out(stream.Signature({addr, beats, last, head, tail}))``
        Bursts of the beats that hold these bytes, in order of address. `last` marks the last one of a request; `head`
        is how many bytes of the burst's first beat lie before the request, `tail` the offset in the last
        beat behind the request's last byte, 0 if the beat ends with it.
    """

    def __init__(self, *, data_width: int, max_burst_beats: int, address_bits: int = ADDRESS_BITS):
        self.burst_beats = check_burst(data_width=data_width, max_burst_beats=max_burst_beats)
        self.data_width = data_width
        self.address_bits = check_address_bits(address_bits)
        self.log2_flit = (data_width // 8).bit_length() - 1
        self.burst = data.StructLayout({
            "addr": address_bits,
            "beats": range(self.burst_beats + 1),
            "last": 1,
            "head": self.log2_flit,
            "tail": self.log2_flit,
        })
        super().__init__({
            "i": In(stream.Signature(Request)),
            "o": Out(stream.Signature(self.burst)),
        })

    def elaborate(self, platform):
        m = Module()
        log2_burst = self.burst_beats.bit_length() - 1
        split = self.log2_flit + log2_burst

        # The address, cut at the burst boundary, and the beats that are still to be asked for.
        busy = Signal()
        block = Signal(self.address_bits - split)
        offset = Signal(log2_burst)
        left = Signal(unsigned(32 - self.log2_flit + 1))
        head, tail = Signal(self.log2_flit), Signal(self.log2_flit)

        # A burst is cut in the cycle after the one before it has gone, into a register: who chooses between the bursts
        # of several requests is no part of the arithmetic's path, and decides only whether that register is empty.
        request = self.i.payload
        burst, offered, valid, cut = Signal(self.burst), Signal(self.burst), Signal(), Signal()
        free = ~valid
        m.d.comb += [
            self.i.ready.eq(~busy), cut.eq(busy & free), self.o.payload.eq(offered), self.o.valid.eq(valid),
        ]
        with m.If(free):
            m.d.sync += [offered.eq(burst), valid.eq(busy)]
        with m.Elif(self.o.ready):
            m.d.sync += valid.eq(0)

        room = Signal(range(self.burst_beats + 1))
        is_last = Signal()
        m.d.comb += [
            room.eq(self.burst_beats - offset),
            # `left` is no more than `room`, without waiting for that difference, nor for a wide comparison.
            is_last.eq(~left[log2_burst + 1:].any() & ((left[:log2_burst + 1] + offset) <= self.burst_beats)),
            burst.addr.eq(Cat(Const(0, self.log2_flit), offset, block)),
            burst.beats.eq(Mux(is_last, left, room)),
            burst.last.eq(is_last),
            burst.head.eq(head),
            burst.tail.eq(tail),
        ]

        with m.If(cut):
            m.d.sync += [
                block.eq(block + 1),
                offset.eq(0),
                head.eq(0),
                left.eq(left - room),
                busy.eq(~is_last),
            ]
        with m.If(self.i.valid & ~busy):
            # From the first beat's first byte to the last beat's last one: two sums behind each other, not three.
            skipped, end = request.addr[:self.log2_flit], Signal(self.log2_flit)
            covered = Signal(33)
            m.d.comb += [
                end.eq(request.bytes[:self.log2_flit] + skipped),
                covered.eq(request.bytes + (skipped + ((1 << self.log2_flit) - 1))),
            ]
            m.d.sync += [
                busy.eq(1),
                Cat(offset, block).eq(request.addr[self.log2_flit:]),
                left.eq(covered >> self.log2_flit),
                head.eq(request.addr[:self.log2_flit]),
                tail.eq(end),
            ]


        return m
