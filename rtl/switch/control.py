"""Registers of a switch."""

from dataclasses import dataclass

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.register import REGISTER_BITS
from firmware_models.abi.registers import MFT_BLOCK_ENTRIES, SWITCH_COUNTERS, SWITCH_PAGE, Access
from rtl.abi import fields, word
from rtl.interface import LinkState
from rtl.kit.axi_lite import AxiLiteFront, AxiLiteSignature
from rtl.switch.multicast_table import COLOUR_BITS, GROUP_BITS, GROUP_PORTS, mft_address
from rtl.switch.port_settings import PortSettingsSignature
from rtl.switch.port_statistics import CountSignature
from rtl.switch.route_table import PORT_BITS

ADDRESS_BITS = 12
"""Byte addresses of the switch's register page."""

_WORD_BITS = (MFT_BLOCK_ENTRIES - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class WrittenRegisters:
    """Registers that software writes, but for `port_select`, which is an output.

    Parameters
    ----------
    default_port : Signal
        Port of NodeIDs beyond the table.
    table_select : Signal
        NodeID whose port is written next.
    block, group : Signal
        Block of the multicast table, and group of ports, that the window shows.
    """

    default_port: Signal
    table_select: Signal
    block: Signal
    group: Signal


class SwitchControl(wiring.Component):
    """The register page of a switch (``firmware_models.abi.registers.SWITCH_PAGE``) on AXI4-Lite.

    Ports that the switch does not have are not stored: such a write has no effect; so it is with the multicast table.
    Reads of write-only registers and of addresses without a register are answered with an error.

    Parameters
    ----------
    radix : int
        Ports of the switch.
    entries : int
        NodeIDs that the unicast table covers.
    mft_entries : int
        MLIDs that the multicast table covers.

    Members
    -------
    s_axil : ``In(AxiLiteSignature(address_bits=12))``
        The bus.
    o_entry : ``Out(stream.Signature({node_id, port}))``
        Entries to be written to the unicast table.
    default_port : ``Out(6)``
        Port of NodeIDs beyond the table.
    o_mask : ``Out(stream.Signature({colour, group, mask}))``
        Masks to be written to the multicast table.
    mft_address : ``Out({colour, group})``
        Mask that a read asks for.
    mft_mask : ``In(16)``
        The mask, in the cycle after.
    port : ``Out(6)``
        Port whose figures are read.
    credits, depth, depth_peak : ``In(32)``
        Figures of that port, both channels, in the cycle after.
    link : ``In(LinkState)``
        Of that port's link, in the cycle after.
    settings : ``Out(PortSettingsSignature())``
        Settings of `port`.
    count : ``Out(CountSignature())``
        Counters of `port`.
    """

    def __init__(self, *, radix: int, entries: int, mft_entries: int):
        self.radix = radix
        self.entries = entries
        self.mft_entries = mft_entries
        super().__init__({
            "s_axil": In(AxiLiteSignature(address_bits=ADDRESS_BITS)),
            "o_entry": Out(stream.Signature(data.StructLayout({"node_id": formats.NODE_BITS, "port": PORT_BITS}))),
            "default_port": Out(PORT_BITS),
            "o_mask": Out(stream.Signature(data.StructLayout({
                "colour": COLOUR_BITS, "group": GROUP_BITS, "mask": GROUP_PORTS,
            }))),
            "mft_address": Out(mft_address()),
            "mft_mask": In(GROUP_PORTS),
            "port": Out(PORT_BITS),
            "credits": In(REGISTER_BITS), "depth": In(REGISTER_BITS), "depth_peak": In(REGISTER_BITS),
            "link": In(LinkState),
            "settings": Out(PortSettingsSignature()),
            "count": Out(CountSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.front = front = AxiLiteFront(address_bits=ADDRESS_BITS)
        wiring.connect(m, wiring.flipped(self.s_axil), front.bus)

        default_port = Signal(PORT_BITS, init=SWITCH_PAGE["default_port"].reset)
        table_select = Signal(SWITCH_PAGE["table_select"].width)
        block, group = Signal(SWITCH_PAGE["mft_block"]["block"].width), Signal(GROUP_BITS)
        m.d.comb += self.default_port.eq(default_port)

        self._write(m, front, WrittenRegisters(
            default_port=default_port, table_select=table_select, block=block, group=group,
        ))
        # Reads: the tables are asked in one cycle, the answer is chosen in the next.
        values = {
            "id": SWITCH_PAGE["id"].reset,
            "version": SWITCH_PAGE["version"].reset,
            "radix": self.radix,
            "table_entries": self.entries,
            "default_port": default_port,
            "table_select": table_select,
            "mft_entries": self.mft_entries,
            "mft_block": word(SWITCH_PAGE["mft_block"], block=block, group=group),
            "port_select": self.port,
            "port_credits": self.credits,
            "port_depth": self.depth,
            "port_depth_peak": self.depth_peak,
            "port_link": self.link.as_value(),
            "port_source": word(
                SWITCH_PAGE["port_source"],
                node_id=self.settings.port_source.node_id, check=self.settings.port_source.check,
            ),
            "port_give_up": word(
                SWITCH_PAGE["port_give_up"],
                log2_cycles=self.settings.port_window, given_up=self.settings.given_up,
            ),
        }
        readable = {register.name for register in SWITCH_PAGE if register.access is not Access.WO}
        assert set(values) | {"mft_mask"} == readable
        is_read, answering, counting = Signal(), Signal(), Signal()
        high = Signal(32)
        addr = Signal(ADDRESS_BITS)
        answer = Signal(front.i_read.payload.shape())
        m.d.comb += [
            front.o_read.ready.eq(~is_read & ~answering & ~counting),
            front.i_read.valid.eq(answering),
            front.i_read.payload.eq(answer),
            self.mft_address.colour.eq(Cat(front.o_read.payload.addr[2:2 + _WORD_BITS], block)),
            self.mft_address.group.eq(group),
        ]
        m.d.sync += is_read.eq(front.o_read.valid & front.o_read.ready)
        with m.If(front.o_read.valid & front.o_read.ready):
            m.d.sync += addr.eq(front.o_read.payload.addr)
        with m.If(is_read):
            m.d.sync += [answering.eq(1), answer.data.eq(0), answer.error.eq(1)]
            with m.Switch(addr):
                for name, value in values.items():
                    with m.Case(SWITCH_PAGE[name].offset):
                        m.d.sync += [answer.data.eq(value), answer.error.eq(0)]
            with m.If(_is_mask(addr)):
                m.d.sync += [answer.data.eq(self.mft_mask), answer.error.eq(0)]
            # The low half of a counter takes a while; the high half is that of the last one read.
            with m.If(_is_counter(addr)):
                m.d.sync += [answer.data.eq(high), answer.error.eq(0)]
                with m.If(~addr[2]):
                    m.d.sync += [answering.eq(0), counting.eq(1)]
        m.d.comb += [self.count.ask.eq(counting), self.count.counter.eq(addr[3:])]
        with m.If(counting & self.count.answered):
            m.d.sync += [
                counting.eq(0), answering.eq(1),
                answer.data.eq(self.count.value), high.eq(self.count.value[32:]),
            ]
        with m.If(answering & front.i_read.ready):
            m.d.sync += answering.eq(0)

        return m

    def _write(self, m: Module, front: AxiLiteFront, registers: WrittenRegisters) -> None:
        """Carries out writes. An entry goes straight to its table, which may not be ready yet after a reset."""
        write = front.o_write.payload
        has_port = write.data < self.radix
        written = fields(SWITCH_PAGE["mft_block"], write.data)
        source, settings = fields(SWITCH_PAGE["port_source"], write.data), self.settings
        m.d.comb += [
            settings.source.node_id.eq(source.node_id), settings.source.check.eq(source.check),
            settings.source_set.eq(front.o_write.valid & (write.addr == SWITCH_PAGE["port_source"].offset)),
            settings.log2_cycles.eq(fields(SWITCH_PAGE["port_give_up"], write.data).log2_cycles),
            settings.window_set.eq(front.o_write.valid & (write.addr == SWITCH_PAGE["port_give_up"].offset)),
            front.o_write.ready.eq(1),
            self.o_entry.payload.node_id.eq(registers.table_select),
            self.o_entry.payload.port.eq(write.data),
            self.o_mask.payload.colour.eq(Cat(write.addr[2:2 + _WORD_BITS], registers.block)),
            self.o_mask.payload.group.eq(registers.group),
            self.o_mask.payload.mask.eq(write.data),
        ]
        with m.Switch(write.addr):
            with m.Case(SWITCH_PAGE["default_port"].offset):
                with m.If(front.o_write.valid & has_port):
                    m.d.sync += registers.default_port.eq(write.data)
            with m.Case(SWITCH_PAGE["table_select"].offset):
                with m.If(front.o_write.valid):
                    m.d.sync += registers.table_select.eq(write.data)
            with m.Case(SWITCH_PAGE["table_port"].offset):
                m.d.comb += [
                    self.o_entry.valid.eq(front.o_write.valid & has_port),
                    front.o_write.ready.eq(self.o_entry.ready | ~has_port),
                ]
            with m.Case(SWITCH_PAGE["port_select"].offset):
                with m.If(front.o_write.valid & has_port):
                    m.d.sync += self.port.eq(write.data)
            with m.Case(SWITCH_PAGE["mft_block"].offset):
                with m.If(front.o_write.valid):
                    m.d.sync += [registers.block.eq(written.block), registers.group.eq(written.group)]
        with m.If(_is_mask(write.addr)):
            m.d.comb += [
                self.o_mask.valid.eq(front.o_write.valid),
                front.o_write.ready.eq(self.o_mask.ready),
            ]


def _is_mask(address: Value) -> Value:
    """High if `address` is that of a register mft_mask."""
    first = SWITCH_PAGE["mft_mask"].offset
    return address[2 + _WORD_BITS:] == first >> 2 + _WORD_BITS


def _is_counter(address: Value) -> Value:
    """High if `address` is that of a half of a counter."""
    return (address >= SWITCH_COUNTERS.address) & (address < SWITCH_COUNTERS.end)
