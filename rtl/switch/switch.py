# amaranth: UnusedElaboratable=no
"""A switch with virtual output queues, credit flow control, unicast and multicast by tables."""

from typing import Any

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.config import Config
from rtl.interface import LinkSignature
from rtl.kit.axi_lite import AxiLiteSignature
from rtl.kit.library import shared
from rtl.link.link_layer import LinkStatus, link_layer, state_of
from rtl.link.link_rx import N_VCS
from rtl.link.wire import WireSignature
from rtl.switch.allocator import Allocator
from rtl.switch.control import ADDRESS_BITS, SwitchControl
from rtl.switch.input_port import InputPort
from rtl.switch.multicast_table import MulticastTable
from rtl.switch.output_port import OutputPort
from rtl.switch.port_sources import PortSources
from rtl.switch.port_statistics import PortStatistics
from rtl.switch.port_view import PortView
from rtl.switch.port_windows import PortWindows
from rtl.switch.route_table import RouteTable
from rtl.switch.sizes import SwitchSizes


class Switch(wiring.Component):
    """Forwards packets by their destination's NodeID; nothing is lost, changed, or reordered within a channel.

    The unicast table names the port of each NodeID that it covers; all others go to the default port. A packet goes
    back to the port that it came from only if the table says so. Virtual channels are independent: what holds up
    channel 0 does not hold up channel 1. Inputs are served round robin at each output, packet by packet.

    Composition: an :class:`InputPort` and an :class:`OutputPort` for each port, the :class:`Allocator`, the tables and
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
        Links out of the switch. With ``link.reliable`` both are wires: ``WireSignature``.
    link_status : array of `radix` ``Out(LinkStatus)``
        With ``link.reliable``: see :class:`rtl.link.link_layer.LinkLayer`.
    s_axil : ``In(AxiLiteSignature(address_bits=12))``
        Registers (``firmware_models.abi.registers.SWITCH_PAGE``).
    """

    def __init__(self, config: Config):
        self.config = config
        self.sizes = SwitchSizes(config=config)
        width = config.datapath.data_width
        link = WireSignature(width) if config.link.reliable else LinkSignature(width)
        super().__init__({
            **({"link_status": Out(LinkStatus).array(config.switch.radix)} if config.link.reliable else {}),
            "rx": In(link).array(config.switch.radix),
            "tx": Out(link).array(config.switch.radix),
            "s_axil": In(AxiLiteSignature(address_bits=ADDRESS_BITS)),
        })

    def elaborate(self, platform):
        m = Module()
        sizes = self.sizes
        ports = range(sizes.radix)
        entries, mft_entries = self.config.switch.table_entries, self.config.switch.mft_entries

        m.submodules.control = control = SwitchControl(radix=sizes.radix, entries=entries, mft_entries=mft_entries)
        m.submodules.table = table = RouteTable(n_lookups=sizes.radix, entries=entries)
        m.submodules.mft = mft = MulticastTable(n_lookups=sizes.radix, radix=sizes.radix, entries=mft_entries)
        connect(m, flipped(self.s_axil), control.s_axil)
        connect(m, control.o_entry, table.write)
        connect(m, control.o_mask, mft.write)
        m.d.comb += [
            table.default_port.eq(control.default_port),
            mft.address.eq(control.mft_address),
            control.mft_mask.eq(mft.mask),
        ]

        m.submodules.statistics = PortStatistics(n_ports=sizes.radix, reliable=self.config.link.reliable)
        m.submodules.view = PortView(sizes=sizes)
        m.submodules.sources = sources = PortSources(radix=sizes.radix)
        m.submodules.windows = windows = PortWindows(radix=sizes.radix)
        m.submodules.allocator = Allocator(sizes=sizes)
        inputs = [InputPort(sizes=sizes, number=number) for number in ports]
        outputs = [OutputPort(sizes=sizes) for _ in ports]
        for number in ports:
            m.submodules[f"input_{number}"] = inputs[number]
            m.submodules[f"output_{number}"] = shared("conic_output_port", outputs[number], platform)
            receiver, sender = self._ends(m, number, inputs[number], outputs[number])
            connect(m, flipped(self.rx[number]), receiver)
            connect(m, inputs[number].lookup, table.lookup[number])
            connect(m, inputs[number].mft, mft.lookup[number])
            connect(m, sender, flipped(self.tx[number]))
            m.d.comb += [
                inputs[number].source.eq(sources.o[number]), outputs[number].window_ended.eq(windows.ended[number]),
                windows.waits[number].eq(outputs[number].waits),
            ]
        settings = control.settings
        m.d.comb += [
            sources.port.eq(control.port), sources.set.eq(settings.source_set), sources.source.eq(settings.source),
            settings.port_source.eq(sources.shown),
            windows.port.eq(control.port), windows.set.eq(settings.window_set),
            windows.log2_cycles.eq(settings.log2_cycles), settings.port_window.eq(windows.shown),
            settings.given_up.eq(m.submodules.view.port_given_up),
        ]
        self._connect_registers(m, inputs, outputs)
        self._connect_crossbar(m, inputs, outputs)
        return m

    def _connect_registers(self, m: Module, inputs: list[InputPort], outputs: list[OutputPort]) -> None:
        """Events that are counted, and figures of the port that software looks at."""
        control, statistics, view = m.submodules.control, m.submodules.statistics, m.submodules.view
        connect(m, control.count, statistics.read)
        m.d.comb += [
            statistics.port.eq(control.port), view.port.eq(control.port),
            control.credits.eq(view.port_credits), control.depth.eq(view.port_depth),
            control.depth_peak.eq(view.port_depth_peak), control.link.eq(view.port_link),
        ]
        for number, (source, sink) in enumerate(zip(inputs, outputs, strict=True)):
            events = statistics.events[number]
            m.d.comb += [
                events.rx_flits.eq(source.received.flit), events.rx_packets.eq(source.received.packet),
                events.tx_flits.eq(sink.sent_on.flit), events.tx_packets.eq(sink.sent_on.packet),
                events.discarded.eq(source.discarded), events.malformed.eq(source.malformed),
                events.forged.eq(source.forged), events.link_lost.eq(sink.lost),
                *(events[f"stalls_{vc}"].eq(m.submodules.allocator.stalled[vc][number]) for vc in range(N_VCS)),
            ]
            m.d.comb += view.given_up[number].eq(sink.given_up)
            for vc in range(N_VCS):
                m.d.comb += [
                    view.credits[number][vc].eq(sink.credits[vc]), view.depth[number][vc].eq(source.depth[vc]),
                    view.peak[number][vc].eq(source.peak[vc]),
                ]
            if self.config.link.reliable:
                status = self.link_status[number]
                m.d.comb += [statistics.links[number].eq(status), view.link[number].eq(state_of(status))]

    def _connect_crossbar(self, m: Module, inputs: list[InputPort], outputs: list[OutputPort]) -> None:
        """Inputs and outputs to the allocator; every output to every reader of every input."""
        allocator = m.submodules.allocator
        for vc in range(N_VCS):
            m.d.comb += [
                allocator.takes[vc].eq(Cat(output.accepts[vc] for output in outputs)),
                allocator.room[vc].eq(Cat(output.room[vc] for output in outputs)),
                allocator.room_short[vc].eq(Cat(output.room_short[vc] for output in outputs)),
            ]
            for number, source in enumerate(inputs):
                connect(m, source.candidate[vc], allocator.candidate[vc][number])
                m.d.comb += [
                    source.accepts[vc].eq(allocator.accepts[vc]),
                    *(seen.eq(sends) for seen, sends in zip(
                        allocator.sends[vc][number], source.sends[vc], strict=True,
                    )),
                ]
        readers = [reader for source in inputs for reader in source.o]
        for number, output in enumerate(outputs):
            m.d.comb += [
                output.sent.eq(allocator.sent[number]), output.holds.eq(allocator.holds[number]),
                output.valid.eq(Cat(reader.ports[number] for reader in readers)),
                *(flit.eq(reader.flit) for reader, flit in zip(readers, output.flit, strict=True)),
            ]

    def _ends(self, m: Module, number: int, source: InputPort, sink: OutputPort) -> tuple[Any, Any]:
        """Returns receiver and sender of a port: its input and output, or the layer of a reliable link before them."""
        if not self.config.link.reliable:
            return source.link, sink.link
        m.submodules[f"layer_{number}"] = layer = link_layer(self.config, marked=True)
        connect(m, sink.link, layer.i)
        connect(m, layer.o, source.link)
        m.d.comb += self.link_status[number].eq(layer.status)
        return layer.rx, layer.tx

