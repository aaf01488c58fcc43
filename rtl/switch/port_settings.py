"""Settings of the ports of a switch that software writes."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.link.link_rx import N_VCS
from rtl.switch.port_sources import PortSource
from rtl.switch.port_windows import WINDOW_BITS


class PortSettingsSignature(wiring.Signature):
    """Settings of the port that is selected, seen from the registers.

    Members
    -------
    source_set : ``Out(1)``, source : ``Out(PortSource)``
        Whose packets it lets in is written.
    port_source : ``In(PortSource)``
        That, in the cycle after.
    window_set : ``Out(1)``, log2_cycles : ``Out``
        The window in which its link has to take something is written.
    port_window : ``In``, given_up : ``In(2)``
        That, in the cycle after; channels of which its output is given up.
    """

    def __init__(self):
        super().__init__({
            "source_set": Out(1), "source": Out(PortSource), "port_source": In(PortSource),
            "window_set": Out(1), "log2_cycles": Out(WINDOW_BITS), "port_window": In(WINDOW_BITS),
            "given_up": In(N_VCS),
        })
