"""Host memory of a NIC, in the FPGA."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In

from fpga.selftest.access import AccessSignature
from rtl.dma.axi4 import RESP_DECERR, RESP_OKAY, Axi4Signature
from rtl.kit.queue import stream_queue

_read_ahead = 4
"""Beats that are under way from the memory to the bus."""


class OnChipMemory(wiring.Component):
    """A memory on AXI4, which the host reaches as well, a word of 32 bits at a time.

    Bursts are INCR bursts of whole beats, one read and one write in progress at a time, a beat a cycle. Those that
    begin beyond the memory are answered DECERR and have no effect, as are accesses of the host beyond it or not
    aligned. An access of the host waits for a cycle in which the bus leaves the memory alone.

    Parameters
    ----------
    n_bytes : int
        Size; a power of two, at most 16 MiB, at least two beats.
    data_width : int
        Bits of a beat of the bus.
    id_width : int
        Bits of the bus's identifiers.

    Members
    -------
    s_axi : ``In(Axi4Signature(data_width, id_width))``
        The bus.
    host : ``In(AccessSignature())``
        Accesses of the host; the target is not looked at.
    """

    def __init__(self, *, n_bytes: int, data_width: int, id_width: int = 1):
        if n_bytes & (n_bytes - 1) or not data_width // 4 <= n_bytes <= 1 << 24:
            raise ValueError(f"n_bytes must be a power of two from {data_width // 4} to {1 << 24}, not {n_bytes!r}")
        self.n_bytes, self.data_width, self.id_width = n_bytes, data_width, id_width
        super().__init__({
            "s_axi": In(Axi4Signature(data_width=data_width, id_width=id_width)), "host": In(AccessSignature()),
        })

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        bus, flit_bytes = self.s_axi, self.data_width // 8
        depth, shift = self.n_bytes // flit_bytes, (flit_bytes - 1).bit_length()
        m.submodules.memory = store = memory.Memory(shape=self.data_width, depth=depth, init=[])
        write, read = store.write_port(granularity=8), store.read_port()
        m.submodules.beats = beats = stream_queue(
            shape=data.StructLayout({"data": self.data_width, "last": 1}), depth=_read_ahead
        )
        # Reads of the bus: a beat is asked for when there is room for it and for the one that is on its way.
        reading, r_place, r_left, r_bad = Signal(), Signal(range(depth)), Signal(9), Signal()
        asked, asked_last, ask = Signal(), Signal(), Signal()
        m.d.comb += [
            ask.eq(reading & (beats.level + asked < _read_ahead)),
            bus.arready.eq(~reading & (beats.level == 0) & ~asked),
            beats.i.valid.eq(asked), beats.i.payload.data.eq(Mux(r_bad, 0, read.data)),
            beats.i.payload.last.eq(asked_last),
            bus.rvalid.eq(beats.o.valid), bus.rdata.eq(beats.o.payload.data), bus.rlast.eq(beats.o.payload.last),
            bus.rresp.eq(Mux(r_bad, RESP_DECERR, RESP_OKAY)), beats.o.ready.eq(bus.rready),
        ]
        m.d.sync += [asked.eq(ask), asked_last.eq(r_left == 1)]
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [
                reading.eq(1), r_place.eq(bus.araddr >> shift), r_left.eq(bus.arlen + 1), bus.rid.eq(bus.arid),
                r_bad.eq((bus.araddr >> (self.n_bytes.bit_length() - 1)).any()),
            ]
        with m.If(ask):
            m.d.sync += [r_place.eq(r_place + 1), r_left.eq(r_left - 1), reading.eq(r_left != 1)]

        # Writes of the bus.
        w_place, w_bad, beat = Signal(range(depth)), Signal(), Signal()
        m.d.comb += beat.eq(bus.wvalid & bus.wready)
        with m.FSM(name="write_fsm"):
            with m.State("ADDRESS"):
                m.d.comb += bus.awready.eq(1)
                with m.If(bus.awvalid):
                    m.d.sync += [
                        w_place.eq(bus.awaddr >> shift), bus.bid.eq(bus.awid),
                        w_bad.eq((bus.awaddr >> (self.n_bytes.bit_length() - 1)).any()),
                    ]
                    m.next = "BEATS"
            with m.State("BEATS"):
                m.d.comb += bus.wready.eq(1)
                with m.If(bus.wvalid):
                    m.d.sync += w_place.eq(w_place + 1)
                    with m.If(bus.wlast):
                        m.next = "RESPONSE"
            with m.State("RESPONSE"):
                m.d.comb += [bus.bvalid.eq(1), bus.bresp.eq(Mux(w_bad, RESP_DECERR, RESP_OKAY))]
                with m.If(bus.bready):
                    m.next = "ADDRESS"

        # The host's access waits in a register for its turn.
        access, answer = self.host.access, self.host.answer
        held, lane = Signal(access.payload.shape()), Signal(range(max(2, flit_bytes // 4)))
        h_write, h_read = Signal(), Signal()
        place = held.addr[shift:][: (depth - 1).bit_length()]
        m.d.comb += lane.eq(held.addr[2:shift])
        with m.FSM(name="host_fsm"):
            with m.State("IDLE"):
                m.d.comb += access.ready.eq(1)
                m.d.sync += held.eq(access.payload)
                with m.If(access.valid):
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += [answer.payload.data.eq(0), answer.payload.error.eq(0)]
                with m.If((held.addr >> (self.n_bytes.bit_length() - 1)).any() | held.addr[:2].any()):
                    m.d.sync += answer.payload.error.eq(1)
                    m.next = "ANSWER"
                with m.Elif(held.write):
                    m.next = "WRITE"
                with m.Else():
                    m.next = "READ"
            with m.State("WRITE"):
                m.d.comb += h_write.eq(~beat)
                with m.If(h_write):
                    m.next = "ANSWER"
            with m.State("READ"):
                m.d.comb += h_read.eq(~ask)
                with m.If(h_read):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.d.sync += answer.payload.data.eq(read.data.word_select(lane, 32))
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += answer.valid.eq(1)
                with m.If(answer.ready):
                    m.next = "IDLE"

        strobes = Cat((lane == n).replicate(4) for n in range(flit_bytes // 4))
        m.d.comb += [
            read.addr.eq(Mux(ask, r_place, place)),
            write.addr.eq(Mux(h_write, place, w_place)),
            write.data.eq(Mux(h_write, held.data.replicate(flit_bytes // 4), bus.wdata)),
            write.en.eq(Mux(h_write, strobes, Mux(beat & ~w_bad, bus.wstrb, 0))),
        ]
        return m
