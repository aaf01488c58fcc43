"""CRC of frames, a byte a cycle."""

from itertools import pairwise

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.board import CRC_INIT, CRC_POLYNOMIAL


class Crc16(wiring.Component):
    """CRC-16 as ``firmware_models.abi.board.crc16`` computes it.

    Members
    -------
    clear : ``In(1)``
        Starts over.
    enable, byte : ``In(1)``, ``In(8)``
        A byte to be taken in; counts unless ``clear``.
    value : ``Out(16)``
        CRC of the bytes taken so far.
    """

    clear: In(1)
    enable: In(1)
    byte: In(8)
    value: Out(16, init=CRC_INIT)

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        # A signal for each bit taken in: one expression would grow with the power of their number.
        steps = [Signal(16, name=f"step_{bit}") for bit in range(9)]
        m.d.comb += steps[0].eq(self.value ^ Cat(Const(0, 8), self.byte))
        for before, after in pairwise(steps):
            shifted = Cat(Const(0, 1), before[:15])
            m.d.comb += after.eq(shifted ^ Mux(before[15], CRC_POLYNOMIAL, 0))
        with m.If(self.clear):
            m.d.sync += self.value.eq(CRC_INIT)
        with m.Elif(self.enable):
            m.d.sync += self.value.eq(steps[-1])
        return m
