# amaranth: UnusedElaboratable=no
"""A switch with virtual output queues, credit flow control, unicast and multicast by tables."""

from typing import Any

from amaranth import Array, Cat, Module, Signal
from amaranth.hdl import Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.registers import SWITCH_PAGE
from firmware_models.config import Config
from rtl.abi import fields
from rtl.interface import PLAIN_LINK, LinkSignature
from rtl.kit.axi_lite import AxiLiteSignature
from rtl.kit.library import shared
from rtl.link.link_layer import LINK_EVENTS, LinkStatus, link_layer, state_of
from rtl.link.link_rx import N_VCS
from rtl.link.wire import WireSignature
from rtl.switch.choice import union
from rtl.switch.control import ADDRESS_BITS, SwitchControl
from rtl.switch.input_port import InputPort
from rtl.switch.matching import Matching
from rtl.switch.multicast_table import MulticastTable
from rtl.switch.output_port import OutputPort
from rtl.switch.port_statistics import PortStatistics
from rtl.switch.route_table import RouteTable
from rtl.switch.sizes import SwitchSizes


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

        m.submodules.statistics = statistics = PortStatistics(n_ports=sizes.radix)
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
            if self.config.link.reliable:
                m.d.comb += _count_layer(statistics.events[number], self.link_status[number])

        m.d.comb += [
            statistics.ask.eq(control.counter_ask),
            statistics.port.eq(control.port),
            statistics.counter.eq(control.counter),
            control.counter_answered.eq(statistics.answered),
            control.counter_value.eq(statistics.value),
        ]
        for name, figure, values in (
            ("port_credits", control.credits, [output.credits for output in outputs]),
            ("port_depth", control.depth, [source.depth for source in inputs]),
            ("port_depth_peak", control.depth_peak, [source.peak for source in inputs]),
        ):
            shown = fields(SWITCH_PAGE[name], figure)
            for vc in range(N_VCS):
                m.d.sync += shown[f"channel_{vc}"].eq(Array(value[vc] for value in values)[control.port])

        m.d.sync += control.link.eq(Array(
            state_of(status) for status in self.link_status
        )[control.port] if self.config.link.reliable else PLAIN_LINK)

        # Which packets start, for each channel on its own.
        sent = [Signal(sizes.radix, name=f"sent_{vc}") for vc in range(N_VCS)]
        holds = Signal(sizes.radix)
        m.d.comb += [
            *(sent[vc].eq(union([sends for source in inputs for sends in source.sends[vc]])) for vc in range(N_VCS)),
            holds.eq(union([source.candidate[0].holds for source in inputs])),
        ]
        for vc in range(N_VCS):
            matching = Matching(sizes=sizes)
            m.submodules[f"matching_{vc}"] = shared("conic_matching", matching, platform)
            for number in ports:
                m.d.comb += statistics.events[number][f"stalls_{vc}"].eq(matching.stalled[number])
            m.d.comb += [
                matching.room.eq(Cat(output.room[vc] for output in outputs)),
                matching.room_short.eq(Cat(output.room_short[vc] for output in outputs)),
            ]
            for source, candidate in zip(inputs, matching.candidate, strict=True):
                connect(m, source.candidate[vc], candidate)
            # Channel 1 passes channel 0 where both have a flit for an output.
            accepts = Cat(output.accepts[vc] for output in outputs)
            if vc != N_VCS - 1:
                accepts &= ~sent[N_VCS - 1]
            m.d.comb += [source.accepts[vc].eq(accepts) for source in inputs]

        # The crossbar: every output sees every reader of every input.
        readers = [reader for source in inputs for reader in source.o]
        for number, output in enumerate(outputs):
            m.d.comb += [
                output.sent.eq(Cat(channel[number] for channel in sent)),
                output.waits.eq(holds[number]),
            ]
            m.d.comb += [
                output.valid.eq(Cat(reader.ports[number] for reader in readers)),
                *(flit.eq(reader.flit) for reader, flit in zip(readers, output.flit, strict=True)),
                *_count(statistics.events[number].rx_flits, statistics.events[number].rx_packets, inputs[number].link),
                *_count(statistics.events[number].tx_flits, statistics.events[number].tx_packets, output.link),
                statistics.events[number].discarded.eq(inputs[number].discarded),
                statistics.events[number].malformed.eq(inputs[number].malformed),
            ]
        return m

    def _ends(self, m: Module, number: int, source: InputPort, sink: OutputPort) -> tuple[Any, Any]:
        """Returns receiver and sender of a port: its input and output, or the layer of a reliable link before them."""
        if not self.config.link.reliable:
            return source.link, sink.link
        m.submodules[f"layer_{number}"] = layer = link_layer(self.config, marked=True)
        connect(m, sink.link, layer.i)
        connect(m, layer.o, source.link)
        m.d.comb += self.link_status[number].eq(layer.status)
        return layer.rx, layer.tx


def _count_layer(events: Any, status: Any) -> list[Any]:
    """Returns statements that count the events of the layer of a reliable link."""
    return [
        *(events[f"link_{name}"].eq(status[name]) for name in LINK_EVENTS),
        events.link_lost.eq(status.lost[0] + status.lost[1]),
    ]


def _count(flits: Value, packets: Value, link: Any) -> list[Any]:
    """Returns statements that count the flits and packets of a link."""
    moved = link.valid & link.ready
    return [flits.eq(moved), packets.eq(moved & link.flit.last)]
