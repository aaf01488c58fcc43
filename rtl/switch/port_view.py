"""Figures of the port of a switch that software looks at."""

from amaranth import Array, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.register import REGISTER_BITS
from firmware_models.abi.registers import SWITCH_PAGE
from rtl.abi import fields
from rtl.interface import PLAIN_LINK, LinkState
from rtl.link.link_rx import N_VCS
from rtl.switch.route_table import PORT_BITS
from rtl.switch.sizes import SwitchSizes


class PortView(wiring.Component):
    """Shows the registers one port of many.

    Timing: figures are a cycle late, for the choice is wide.

    Parameters
    ----------
    sizes : SwitchSizes
        Sizes.

    Members
    -------
    port : ``In(6)``
        The port. One that is not there must not be chosen.
    credits, depth, peak : arrays of `radix` x 2 ``In(range(buffer_flits + 1))``
        Of each port and channel: credits of its output; flits in the buffer of its input, now and at most.
    link : array of `radix` ``In(LinkState)``
        Of each port. Registers show an ordinary link if nothing is connected.
    given_up : array of `radix` ``In(2)``, port_given_up : ``Out(2)``
        Of each port, for each channel: its output is given up; of the port.
    port_credits, port_depth, port_depth_peak, port_link : ``Out``
        Registers of the port, by the names of :data:`~firmware_models.abi.registers.SWITCH_PAGE`.
    """

    def __init__(self, *, sizes: SwitchSizes):
        self.sizes = sizes
        level = range(sizes.buffer_flits + 1)
        super().__init__({
            "port": In(PORT_BITS),
            "credits": In(level).array(sizes.radix, N_VCS), "depth": In(level).array(sizes.radix, N_VCS),
            "peak": In(level).array(sizes.radix, N_VCS),
            "link": In(LinkState, init=PLAIN_LINK).array(sizes.radix),
            "given_up": In(N_VCS).array(sizes.radix), "port_given_up": Out(N_VCS),
            "port_credits": Out(REGISTER_BITS), "port_depth": Out(REGISTER_BITS),
            "port_depth_peak": Out(REGISTER_BITS),
            "port_link": Out(LinkState, init=PLAIN_LINK),
        })

    def elaborate(self, platform):
        m = Module()
        for name, values in (("credits", self.credits), ("depth", self.depth), ("depth_peak", self.peak)):
            shown = fields(SWITCH_PAGE[f"port_{name}"], getattr(self, f"port_{name}"))
            for vc in range(N_VCS):
                m.d.sync += shown[f"channel_{vc}"].eq(Array(value[vc] for value in values)[self.port])
        m.d.sync += [
            self.port_link.eq(Array(self.link)[self.port]), self.port_given_up.eq(Array(self.given_up)[self.port]),
        ]
        return m
