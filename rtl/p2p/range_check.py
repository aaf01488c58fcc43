"""Range of an operation of several fragments, which is allowed or refused as a whole."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.abi import P2pRange
from rtl.interface import ADDRESS_BITS

BYTES_BITS = formats.P2P_RANGE["left"].width
"""Bits of a number of bytes: an operation has less than 2**32."""


class RangeCheck(wiring.Component):
    """Computes the range of an operation from a fragment's, and checks that the fragment lies within it.

    The fragment's bytes are `bytes` from `addr` on, its operation's from `before` in front of `addr` to `left` behind
    it. If `fits` and not `below`, then ``[addr, addr + bytes)`` lies in ``[whole_addr, whole_addr + whole_bytes)``, and
    both addresses are equally far from a flit's boundary. So who is answered that the window holds the whole may touch
    the fragment's bytes. The end of the whole may lie beyond the top of the address space: the window check, whose
    sums have a bit more, refuses it then.

    Timing: outputs are registers, one cycle after `enable`.

    Parameters
    ----------
    flit_bytes : int
        Bytes of a flit, a power of two.
    address_bits, bytes_bits : int
        Bits of an address and of a number of bytes. A proof makes them small.

    Members
    -------
    addr, bytes, part, range : ``In``
        A fragment; whether its packet is one of several of its operation, of which each has some data; the range of
        its operation.
    enable : ``In(1)``
        Loads the outputs.
    whole_addr, whole_bytes : ``Out``
        Range of the operation.
    fits : ``Out(1)``
        The range is proper, and holds the fragment.
    below : ``Out(1)``
        It begins below address 0.
    """

    def __init__(self, *, flit_bytes: int, address_bits: int = ADDRESS_BITS, bytes_bits: int = BYTES_BITS):
        self.flit_bytes, self.address_bits, self.bytes_bits = flit_bytes, address_bits, bytes_bits
        super().__init__({
            "addr": In(address_bits), "bytes": In(bytes_bits), "part": In(1), "range": In(P2pRange), "enable": In(1),
            "whole_addr": Out(address_bits), "whole_bytes": Out(bytes_bits), "fits": Out(1), "below": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        before, left = (self.range[name][:self.bytes_bits] for name in ("before", "left"))
        # One bit more than the operands: the borrow, and the carry.
        first, total = Signal(self.address_bits + 1), Signal(self.bytes_bits + 1)
        m.d.comb += [first.eq(self.addr - before), total.eq(before + left)]
        faults = Cat(
            self.bytes > left, total[-1], before[:(self.flit_bytes - 1).bit_length()].any(),
            self.part & (self.bytes == 0),
        )
        with m.If(self.enable):
            m.d.sync += [
                Cat(self.whole_addr, self.below).eq(first), self.whole_bytes.eq(total), self.fits.eq(~faults.any()),
            ]
        return m
