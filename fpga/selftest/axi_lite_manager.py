"""Accesses of the host on AXI4-Lite."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.board import ADDRESS_BITS
from fpga.selftest.access import AccessSignature
from rtl.kit.axi_lite import RESP_OKAY, AxiLiteSignature


class AxiLiteManager(wiring.Component):
    """Carries out accesses on an AXI4-Lite bus, one at a time.

    Addresses that the bus does not have are answered with an error, without an access.

    Parameters
    ----------
    address_bits : int
        Width of the bus's byte addresses, 3 to 24.

    Members
    -------
    i : ``In(AccessSignature())``
        Accesses; the target is not looked at.
    bus : ``Out(AxiLiteSignature(address_bits))``
        The bus. All that is driven comes from registers.
    offline : ``In(1)``
        Who is on the bus is in reset and would never answer: accesses get an error.
    """

    def __init__(self, *, address_bits: int):
        if not 3 <= address_bits <= ADDRESS_BITS:
            raise ValueError(f"address_bits must be 3 to {ADDRESS_BITS}, not {address_bits!r}")
        self.address_bits = address_bits
        super().__init__({
            "i": In(AccessSignature()), "bus": Out(AxiLiteSignature(address_bits=address_bits)), "offline": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        bus, access, answer = self.bus, self.i.access, self.i.answer
        addr, value, result, error = Signal(self.address_bits), Signal(32), Signal(32), Signal()
        m.d.comb += [
            bus.awaddr.eq(addr), bus.araddr.eq(addr), bus.wdata.eq(value), bus.wstrb.eq(0b1111),
            answer.payload.data.eq(result), answer.payload.error.eq(error),
        ]
        for valid, ready in ((bus.awvalid, bus.awready), (bus.wvalid, bus.wready), (bus.arvalid, bus.arready)):
            with m.If(valid & ready):
                m.d.sync += valid.eq(0)
        with m.FSM(name="axi_lite_manager"):
            with m.State("IDLE"):
                m.d.comb += access.ready.eq(1)
                with m.If(access.valid):
                    m.d.sync += [addr.eq(access.payload.addr), value.eq(access.payload.data), result.eq(0)]
                    with m.If((access.payload.addr >> self.address_bits).any() | self.offline):
                        m.d.sync += error.eq(1)
                        m.next = "ANSWER"
                    with m.Elif(access.payload.write):
                        m.d.sync += [bus.awvalid.eq(1), bus.wvalid.eq(1)]
                        m.next = "WRITE"
                    with m.Else():
                        m.d.sync += bus.arvalid.eq(1)
                        m.next = "READ"
            with m.State("WRITE"):
                m.d.comb += bus.bready.eq(1)
                with m.If(bus.bvalid):
                    m.d.sync += error.eq(bus.bresp != RESP_OKAY)
                    m.next = "ANSWER"
            with m.State("READ"):
                m.d.comb += bus.rready.eq(1)
                with m.If(bus.rvalid):
                    m.d.sync += error.eq(bus.rresp != RESP_OKAY)
                    with m.If(bus.rresp == RESP_OKAY):
                        m.d.sync += result.eq(bus.rdata)
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += answer.valid.eq(1)
                with m.If(answer.ready):
                    m.next = "IDLE"
        return m
