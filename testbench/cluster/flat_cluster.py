# amaranth: UnusedElaboratable=no
"""NICs and a switch as one design, wired port to port."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import registers
from firmware_models.config import Config
from rtl.dma.axi4 import Axi4Signature
from rtl.kit.axi_lite import AxiLiteSignature
from rtl.kit.library import shared
from rtl.nic.nic import Nic
from rtl.switch.control import ADDRESS_BITS
from rtl.switch.switch import Switch


class FlatCluster(wiring.Component):
    """`n_nodes` NICs on one switch, node n at port n; cables are registers.

    Parameters
    ----------
    config : Config
        Of NICs and switch; ``switch.radix`` is at least `n_nodes`.
    n_nodes : int
        NICs.
    latency : int
        Registers of each cable in each direction, at least 1.

    Members
    -------
    s_axil : array of `n_nodes` ``In(AxiLiteSignature)``, m_axi : array of `n_nodes` ``Out(Axi4Signature)``
        Registers and host memories of the NICs.
    switch_axil : ``In(AxiLiteSignature)``
        Registers of the switch.
    """

    def __init__(self, config: Config, *, n_nodes: int, latency: int):
        if not 1 <= n_nodes <= config.switch.radix:
            raise ValueError(f"n_nodes must be 1 to {config.switch.radix} (switch.radix), not {n_nodes!r}")
        if latency < 1:
            raise ValueError(f"latency must be at least 1, not {latency!r}")
        self.config, self.n_nodes, self.latency = config, n_nodes, latency
        super().__init__({
            "s_axil": In(AxiLiteSignature(address_bits=registers.ADDRESS_BITS)).array(n_nodes),
            "m_axi": Out(Axi4Signature(data_width=config.datapath.data_width, id_width=1)).array(n_nodes),
            "switch_axil": In(AxiLiteSignature(address_bits=ADDRESS_BITS)),
        })

    def elaborate(self, platform):
        m = Module()
        switch = Switch(self.config)
        m.submodules.switch = switch
        connect(m, flipped(self.switch_axil), switch.s_axil)
        for node in range(self.n_nodes):
            nic = Nic(self.config)
            m.submodules[f"nic_{node}"] = shared("conic_flat_nic", nic, platform)
            connect(m, flipped(self.s_axil[node]), nic.s_axil)
            connect(m, nic.m_axi, flipped(self.m_axi[node]))
            self._lane(m, nic.tx, switch.rx[node])
            self._lane(m, switch.tx[node], nic.rx)
        for port in range(self.n_nodes, self.config.switch.radix):
            m.d.comb += switch.tx[port].ready.eq(1)
        return m

    def _lane(self, m, sender, receiver):
        """One direction of a cable."""
        m.d.comb += [
            sender.ready.eq(1),
            receiver.valid.eq(self._delayed(m, sender.valid)),
            receiver.flit.as_value().eq(self._delayed(m, sender.flit.as_value())),
            sender.credit_valid.eq(self._delayed(m, receiver.credit_valid)),
            sender.credit_vc.eq(self._delayed(m, receiver.credit_vc)),
        ]

    def _delayed(self, m, value):
        for _ in range(self.latency):
            later = Signal(len(value))
            m.d.sync += later.eq(value)
            value = later
        return value
