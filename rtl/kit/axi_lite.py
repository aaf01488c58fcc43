"""AXI4-Lite: the bus, and the front that turns it into streams of register accesses."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

RESP_OKAY = 0b00
RESP_SLVERR = 0b10


class AxiLiteSignature(wiring.Signature):
    """An AXI4-Lite bus with 32-bit data, seen from its manager.

    Parameters
    ----------
    address_bits : int
        Width of the byte addresses, 3 to 64.
    """

    def __init__(self, *, address_bits: int):
        if not 3 <= address_bits <= 64:
            raise ValueError(f"address_bits must be 3 to 64, not {address_bits!r}")
        self.address_bits = address_bits
        super().__init__({
            "awaddr": Out(address_bits), "awprot": Out(3), "awvalid": Out(1), "awready": In(1),
            "wdata": Out(32), "wstrb": Out(4), "wvalid": Out(1), "wready": In(1),
            "bresp": In(2), "bvalid": In(1), "bready": Out(1),
            "araddr": Out(address_bits), "arprot": Out(3), "arvalid": Out(1), "arready": In(1),
            "rdata": In(32), "rresp": In(2), "rvalid": In(1), "rready": Out(1),
        })


class AxiLiteFront(wiring.Component):
    """Turns AXI4-Lite accesses into streams, one write and one read in progress at a time.

    A write that fills its word and is aligned becomes one item on ``o_write`` and is answered OKAY once that item
    has been taken. Any other write (partial strobes, unaligned address) has no effect and is answered SLVERR.
    An aligned read becomes one item on ``o_read``, answered with the next item of ``i_read``: SLVERR if its
    `error` is set. An unaligned read is answered SLVERR at once. Reads and writes do not wait for each other.

    Timing: everything driven on ``bus`` is a function of registers alone.

    Parameters
    ----------
    address_bits : int
        Width of the byte addresses, 3 to 64.

    Members
    -------
    bus : ``In(AxiLiteSignature)``
        The bus.
    o_write : ``Out(stream.Signature({addr, data}))``
        Words to write.
    o_read : ``Out(stream.Signature({addr}))``
        Words to read.
    i_read : ``In(stream.Signature({data, error}))``
        One answer for each item of ``o_read``, in order.
    """

    def __init__(self, *, address_bits: int):
        self.address_bits = address_bits
        super().__init__({
            "bus": In(AxiLiteSignature(address_bits=address_bits)),
            "o_write": Out(stream.Signature(data.StructLayout({"addr": address_bits, "data": 32}))),
            "o_read": Out(stream.Signature(data.StructLayout({"addr": address_bits}))),
            "i_read": In(stream.Signature(data.StructLayout({"data": 32, "error": 1}))),
        })

    def elaborate(self, platform):
        m = Module()
        bus = self.bus

        # Address and data of a write come in either order: each has a register of its own.
        aw_full, w_full, bad_strobe = Signal(), Signal(), Signal()
        write = Signal(self.o_write.payload.shape())
        m.d.comb += [
            bus.awready.eq(~aw_full),
            bus.wready.eq(~w_full),
            self.o_write.payload.eq(write),
        ]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [write.addr.eq(bus.awaddr), aw_full.eq(1)]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [write.data.eq(bus.wdata), bad_strobe.eq(bus.wstrb != 0b1111), w_full.eq(1)]

        with m.FSM(name="write_fsm"):
            with m.State("COLLECT"):
                with m.If(aw_full & w_full):
                    with m.If(bad_strobe | write.addr[:2].any()):
                        m.d.sync += bus.bresp.eq(RESP_SLVERR)
                        m.next = "RESPOND"
                    with m.Else():
                        m.d.sync += bus.bresp.eq(RESP_OKAY)
                        m.next = "DELIVER"
            with m.State("DELIVER"):
                m.d.comb += self.o_write.valid.eq(1)
                with m.If(self.o_write.ready):
                    m.next = "RESPOND"
            with m.State("RESPOND"):
                m.d.comb += bus.bvalid.eq(1)
                with m.If(bus.bready):
                    m.d.sync += [aw_full.eq(0), w_full.eq(0)]
                    m.next = "COLLECT"

        read_addr = Signal(self.address_bits)
        m.d.comb += self.o_read.payload.addr.eq(read_addr)
        with m.FSM(name="read_fsm"):
            with m.State("COLLECT"):
                m.d.comb += bus.arready.eq(1)
                with m.If(bus.arvalid):
                    m.d.sync += [read_addr.eq(bus.araddr), bus.rdata.eq(0), bus.rresp.eq(RESP_SLVERR)]
                    with m.If(bus.araddr[:2].any()):
                        m.next = "RESPOND"
                    with m.Else():
                        m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.o_read.valid.eq(1)
                with m.If(self.o_read.ready):
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += self.i_read.ready.eq(1)
                with m.If(self.i_read.valid):
                    # A refused read must not show what stands behind it.
                    with m.If(~self.i_read.payload.error):
                        m.d.sync += [bus.rdata.eq(self.i_read.payload.data), bus.rresp.eq(RESP_OKAY)]
                    m.next = "RESPOND"
            with m.State("RESPOND"):
                m.d.comb += bus.rvalid.eq(1)
                with m.If(bus.rready):
                    m.next = "COLLECT"


        return m
