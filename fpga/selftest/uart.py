"""Serial port: 8 data bits, no parity, one stop bit."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

MIN_DIVISOR = 4
"""Fewest clock cycles of a bit: the receiver samples in the middle of it."""


def check_divisor(divisor: int) -> None:
    """Raises ``ValueError`` if a bit cannot be that many cycles."""
    if not isinstance(divisor, int) or divisor < MIN_DIVISOR:
        raise ValueError(f"divisor must be an integer of at least {MIN_DIVISOR}, not {divisor!r}")


class UartReceiver(wiring.Component):
    """Turns a serial line into bytes.

    A byte whose stop bit is 0 is dropped. There is no way to hold up the other side: a byte that comes while the one
    before is still there takes its place, and ``overrun`` says so.

    Parameters
    ----------
    divisor : int
        Clock cycles of a bit, at least 4.

    Members
    -------
    rx : ``In(1)``
        The line, synchronised to the clock. 1 while idle.
    o : ``Out(stream.Signature(8))``
        Bytes.
    overrun : ``Out(1)``
        In a cycle in which a byte is lost.
    """

    def __init__(self, *, divisor: int):
        check_divisor(divisor)
        self.divisor = divisor
        super().__init__({"rx": In(1, init=1), "o": Out(stream.Signature(8)), "overrun": Out(1)})

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        timer, bits, byte = Signal(range(2 * self.divisor)), Signal(range(9)), Signal(8)

        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.FSM(name="uart_receiver"):
            with m.State("IDLE"), m.If(~self.rx):
                m.d.sync += [timer.eq(self.divisor // 2 - 1), bits.eq(8)]
                m.next = "START"
            with m.State("START"), m.If(timer == 0):
                # In the middle of the start bit: what was a glitch is over by now.
                m.d.sync += timer.eq(self.divisor - 1)
                with m.If(self.rx):
                    m.next = "IDLE"
                with m.Else():
                    m.next = "DATA"
            with m.State("DATA"), m.If(timer == 0):
                m.d.sync += [timer.eq(self.divisor - 1), byte.eq(Cat(byte[1:], self.rx)), bits.eq(bits - 1)]
                with m.If(bits == 1):
                    m.next = "STOP"
            with m.State("STOP"), m.If(timer == 0):
                with m.If(self.rx):
                    m.d.sync += [self.o.payload.eq(byte), self.o.valid.eq(1)]
                    m.d.comb += self.overrun.eq(self.o.valid & ~self.o.ready)
                m.next = "LINE"
            # A line that is held at 0 is no row of start bits.
            with m.State("LINE"), m.If(self.rx):
                m.next = "IDLE"
        return m


class UartTransmitter(wiring.Component):
    """Turns bytes into a serial line.

    Parameters
    ----------
    divisor : int
        Clock cycles of a bit, at least 4.

    Members
    -------
    i : ``In(stream.Signature(8))``
        Bytes.
    tx : ``Out(1)``
        The line, from a register. 1 while idle.
    """

    def __init__(self, *, divisor: int):
        check_divisor(divisor)
        self.divisor = divisor
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        # Stop bit, byte, start bit; ones follow, so that the line stays 1.
        frame, left, timer = Signal(10, init=(1 << 10) - 1), Signal(range(11)), Signal(range(self.divisor))
        m.d.comb += [self.i.ready.eq(left == 0)]
        m.d.sync += self.tx.eq(frame[0])
        with m.If(left == 0), m.If(self.i.valid):
            m.d.sync += [frame.eq(Cat(Const(0, 1), self.i.payload, Const(1, 1))), left.eq(10)]
            m.d.sync += timer.eq(self.divisor - 1)
        with m.Elif(timer == 0):
            m.d.sync += [frame.eq(Cat(frame[1:], Const(1, 1))), left.eq(left - 1), timer.eq(self.divisor - 1)]
        with m.Else():
            m.d.sync += timer.eq(timer - 1)
        return m
