"""Switches joined to a tree of two levels."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.config import Config
from rtl.interface import LinkSignature
from rtl.kit.axi_lite import AxiLiteSignature
from rtl.switch.control import ADDRESS_BITS
from rtl.switch.switch import Switch

N_LEAVES = 2


class SwitchTree(wiring.Component):
    """Two leaf switches under a root. The last port of a leaf goes up; port *n* of the root goes down to leaf *n*.

    Terminals: those of leaf 0, of leaf 1, then the other ports of the root.

    Parameters
    ----------
    config : Config
        Of all switches.

    Members
    -------
    rx, tx : arrays of ``LinkSignature``
        Links of the terminals.
    s_axil_0, s_axil_1, s_axil_2 : ``In(AxiLiteSignature)``
        Registers of leaf 0, leaf 1 and the root.
    """

    def __init__(self, config: Config):
        self.config = config
        radix = config.switch.radix
        self.places = [
            *((leaf, port) for leaf in range(N_LEAVES) for port in range(radix - 1)),
            *((N_LEAVES, port) for port in range(N_LEAVES, radix)),
        ]
        link = LinkSignature(config.datapath.data_width)
        super().__init__({
            "rx": In(link).array(len(self.places)), "tx": Out(link).array(len(self.places)),
            **{f"s_axil_{number}": In(AxiLiteSignature(address_bits=ADDRESS_BITS)) for number in range(N_LEAVES + 1)},
        })

    def elaborate(self, platform):
        m = Module()
        switches = [Switch(self.config) for _ in range(N_LEAVES + 1)]
        for number, switch in enumerate(switches):
            m.submodules[f"switch_{number}"] = switch
            connect(m, flipped(getattr(self, f"s_axil_{number}")), switch.s_axil)
        root, up = switches[-1], self.config.switch.radix - 1
        for number, leaf in enumerate(switches[:-1]):
            connect(m, leaf.tx[up], root.rx[number])
            connect(m, root.tx[number], leaf.rx[up])
        for terminal, (switch, port) in enumerate(self.places):
            connect(m, flipped(self.rx[terminal]), switches[switch].rx[port])
            connect(m, switches[switch].tx[port], flipped(self.tx[terminal]))
        return m
