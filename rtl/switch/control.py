"""Registers of a switch."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.registers import SWITCH_PAGE, Access
from rtl.kit.axi_lite import AxiLiteFront, AxiLiteSignature
from rtl.switch.route_table import PORT_BITS

ADDRESS_BITS = 12
"""Byte addresses of the switch's register page."""

_registers = {register.name: register for register in SWITCH_PAGE}


class SwitchControl(wiring.Component):
    """The register page of a switch (``firmware_models.abi.registers.SWITCH_PAGE``) on AXI4-Lite.

    Ports that the switch does not have are not stored: such a write has no effect. Reads of write-only registers and of
    addresses without a register are answered with an error.

    Parameters
    ----------
    radix : int
        Ports of the switch.
    entries : int
        NodeIDs that the unicast table covers.

    Members
    -------
    s_axil : ``In(AxiLiteSignature(address_bits=12))``
        The bus.
    o_entry : ``Out(stream.Signature({node_id, port}))``
        Entries to be written to the unicast table.
    default_port : ``Out(6)``
        Port of NodeIDs beyond the table.
    """

    def __init__(self, *, radix: int, entries: int):
        self.radix = radix
        self.entries = entries
        super().__init__({
            "s_axil": In(AxiLiteSignature(address_bits=ADDRESS_BITS)),
            "o_entry": Out(stream.Signature(data.StructLayout({"node_id": formats.NODE_BITS, "port": PORT_BITS}))),
            "default_port": Out(PORT_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.front = front = AxiLiteFront(address_bits=ADDRESS_BITS)
        wiring.connect(m, wiring.flipped(self.s_axil), front.bus)

        default_port = Signal(PORT_BITS, init=_registers["default_port"].reset)
        table_select = Signal(_registers["table_select"].width)
        m.d.comb += self.default_port.eq(default_port)

        # Writes. An entry goes straight to the table, which may not be ready yet after a reset.
        write = front.o_write.payload
        has_port = write.data < self.radix
        m.d.comb += [
            front.o_write.ready.eq(1),
            self.o_entry.payload.node_id.eq(table_select),
            self.o_entry.payload.port.eq(write.data),
        ]
        with m.Switch(write.addr):
            with m.Case(_registers["default_port"].offset):
                with m.If(front.o_write.valid & has_port):
                    m.d.sync += default_port.eq(write.data)
            with m.Case(_registers["table_select"].offset):
                with m.If(front.o_write.valid):
                    m.d.sync += table_select.eq(write.data)
            with m.Case(_registers["table_port"].offset):
                m.d.comb += [
                    self.o_entry.valid.eq(front.o_write.valid & has_port),
                    front.o_write.ready.eq(self.o_entry.ready | ~has_port),
                ]

        # Reads, answered from a register in the cycle after.
        values = {
            "id": _registers["id"].reset,
            "version": _registers["version"].reset,
            "radix": self.radix,
            "table_entries": self.entries,
            "default_port": default_port,
            "table_select": table_select,
        }
        assert set(values) == {register.name for register in SWITCH_PAGE if register.access is not Access.WO}
        answering = Signal()
        answer = Signal(front.i_read.payload.shape())
        m.d.comb += [
            front.o_read.ready.eq(~answering),
            front.i_read.valid.eq(answering),
            front.i_read.payload.eq(answer),
        ]
        with m.If(front.o_read.valid & front.o_read.ready):
            m.d.sync += [answering.eq(1), answer.data.eq(0), answer.error.eq(1)]
            with m.Switch(front.o_read.payload.addr):
                for name, value in values.items():
                    with m.Case(_registers[name].offset):
                        m.d.sync += [answer.data.eq(value), answer.error.eq(0)]
        with m.If(answering & front.i_read.ready):
            m.d.sync += answering.eq(0)

        return m
