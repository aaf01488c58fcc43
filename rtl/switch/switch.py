"""A crossbar switch with credit flow control and a unicast table."""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.config import Config
from rtl.interface import LinkSignature
from rtl.kit.axi_lite import AxiLiteSignature
from rtl.link.link_rx import N_VCS
from rtl.switch.control import ADDRESS_BITS, SwitchControl
from rtl.switch.input_port import InputPort
from rtl.switch.multicast_table import MulticastTable
from rtl.switch.output_port import OutputPort
from rtl.switch.route_table import RouteTable


class Switch(wiring.Component):
    """Forwards packets by their destination's NodeID; nothing is lost, changed, or reordered within a channel.

    The unicast table names the port of each NodeID that it covers; all others go to the default port. A packet goes
    back to the port that it came from only if the table says so. Virtual channels are independent: what holds up
    channel 0 does not hold up channel 1. Inputs are served round robin at each output, packet by packet.

    Composition: an :class:`InputPort` and an :class:`OutputPort` for each port, the :class:`RouteTable` and
    the registers. See ``docs/switch.md``.

    Parameters
    ----------
    config : Config
        The configuration; ``datapath``, ``link`` and ``switch`` are used.

    Members
    -------
    rx : array of `radix` ``In(LinkSignature)``
        Links into the switch.
    tx : array of `radix` ``Out(LinkSignature)``
        Links out of the switch.
    s_axil : ``In(AxiLiteSignature(address_bits=12))``
        Registers (``firmware_models.abi.registers.SWITCH_PAGE``).
    """

    def __init__(self, config: Config):
        self.config = config
        link = LinkSignature(config.datapath.data_width)
        super().__init__({
            "rx": In(link).array(config.switch.radix),
            "tx": Out(link).array(config.switch.radix),
            "s_axil": In(AxiLiteSignature(address_bits=ADDRESS_BITS)),
        })

    def elaborate(self, platform):
        m = Module()
        radix, entries = self.config.switch.radix, self.config.switch.table_entries
        sizes = {"data_width": self.config.datapath.data_width, "buffer_flits": self.config.link.buffer_flits}

        mft_entries = self.config.switch.mft_entries
        m.submodules.control = control = SwitchControl(radix=radix, entries=entries, mft_entries=mft_entries)
        m.submodules.mft = mft = MulticastTable(n_lookups=radix, radix=radix, entries=mft_entries)
        m.submodules.table = table = RouteTable(n_lookups=radix, entries=entries)
        connect(m, flipped(self.s_axil), control.s_axil)
        connect(m, control.o_entry, table.write)
        connect(m, control.o_mask, mft.write)
        m.d.comb += [
            table.default_port.eq(control.default_port),
            mft.address.eq(control.mft_address),
            control.mft_mask.eq(mft.mask),
        ]

        inputs = [InputPort(**sizes) for _ in range(radix)]
        outputs = [OutputPort(**sizes, radix=radix, number=number) for number in range(radix)]
        for number in range(radix):
            m.submodules[f"input_{number}"] = inputs[number]
            m.submodules[f"output_{number}"] = outputs[number]
            connect(m, flipped(self.rx[number]), inputs[number].link)
            connect(m, inputs[number].lookup, table.lookup[number])
            connect(m, outputs[number].link, flipped(self.tx[number]))
            m.d.comb += inputs[number].default_port.eq(control.default_port)

        # The crossbar: every output sees every lane; the one that a packet is for answers.
        for number, source in enumerate(inputs):
            for vc in range(N_VCS):
                lane = source.o[vc]
                ports = [output.i[number][vc] for output in outputs]
                for port in ports:
                    m.d.comb += [
                        port.valid.eq(lane.valid),
                        port.beat.eq(lane.beat),
                        port.routed.eq(lane.routed),
                        port.port.eq(lane.port),
                    ]
                m.d.comb += lane.ready.eq(Cat(port.ready for port in ports).any())

        return m
