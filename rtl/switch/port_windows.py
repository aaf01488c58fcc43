"""Windows of time in which the link of an output has to take something."""

from amaranth import Array, Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.registers import SWITCH_PAGE
from rtl.switch.route_table import PORT_BITS

WINDOW_BITS = SWITCH_PAGE["port_give_up"]["log2_cycles"].width


class PortWindows(wiring.Component):
    """Keeps the window of each port, and ends it every so many cycles; after reset no port has one.

    Windows of the same length end at the same time at all ports. They begin when some output has no room, so that time
    moves nothing in a switch at rest.

    Timing: a written window counts, and is shown, from the next cycle but one on.

    Parameters
    ----------
    radix : int
        Ports.

    Members
    -------
    port : ``In(6)``
        The port that is written and shown. One that is not there must not be chosen.
    set : ``In(1)``, log2_cycles : ``In``
        The window of `port` is written in this cycle: it takes two to this power of cycles; 0: there is none.
    shown : ``Out``
        That of `port`, in the cycle after.
    waits : ``In(radix)``
        Outputs that have no room.
    ended : ``Out(radix)``
        Event, of each port: its window ends.
    """

    def __init__(self, *, radix: int):
        self.radix = radix
        super().__init__({
            "port": In(PORT_BITS), "set": In(1), "log2_cycles": In(WINDOW_BITS), "shown": Out(WINDOW_BITS),
            "waits": In(radix), "ended": Out(radix),
        })

    def elaborate(self, platform):
        m = Module()
        windows = Array(Signal(WINDOW_BITS, name=f"window_{number}") for number in range(self.radix))
        cycles = Signal((1 << WINDOW_BITS) - 1)
        # Bit n: a window of 2**n cycles ends.
        ends = Signal(1 << WINDOW_BITS)
        m.d.sync += [
            self.shown.eq(windows[self.port]),
            ends.eq(Cat(Const(0, 1), *(cycles[:n].all() for n in range(1, 1 << WINDOW_BITS)))),
            *(self.ended[number].eq(ends.bit_select(window, 1)) for number, window in enumerate(windows)),
        ]
        # Written only where it changes: the simulator takes a register that never keeps its value for a timer.
        with m.If(self.waits.any()):
            m.d.sync += cycles.eq(cycles + 1)
        with m.Elif(cycles.any()):
            m.d.sync += cycles.eq(0)
        with m.If(self.set):
            m.d.sync += windows[self.port].eq(self.log2_cycles)
        return m
