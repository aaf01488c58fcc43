"""Sources of the packets that the ports of a switch let in."""

from amaranth import Array, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.registers import SWITCH_PAGE
from rtl.switch.route_table import PORT_BITS

PortSource = data.StructLayout({
    field.name: field.width for field in SWITCH_PAGE["port_source"].format.fields if not field.is_reserved
})
"""Source of a port's packets; with `check` others are discarded."""


class PortSources(wiring.Component):
    """Keeps the source of each port; no port is checked after reset.

    Timing: a written source counts, and is shown, from the next cycle but one on.

    Parameters
    ----------
    radix : int
        Ports.

    Members
    -------
    port : ``In(6)``
        The port that is written and shown. One that is not there must not be chosen.
    set : ``In(1)``, source : ``In(PortSource)``
        The source of `port` is written in this cycle.
    shown : ``Out(PortSource)``
        That of `port`, in the cycle after.
    o : array of `radix` ``Out(PortSource)``
        Of every port.
    """

    def __init__(self, *, radix: int):
        super().__init__({
            "port": In(PORT_BITS), "set": In(1), "source": In(PortSource), "shown": Out(PortSource),
            "o": Out(PortSource).array(radix),
        })

    def elaborate(self, platform):
        m = Module()
        for number, kept in enumerate(self.o):
            with m.If(self.set & (self.port == number)):
                m.d.sync += kept.eq(self.source)
        m.d.sync += self.shown.eq(Array(self.o)[self.port])
        return m
