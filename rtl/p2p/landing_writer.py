"""Writing the data of a GET."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import Status
from rtl.interface import ADDRESS_BITS, WriteSignature, beat
from rtl.kit.queue import LutQueue
from rtl.p2p.records import DETAIL_BITS, NUMBER_BITS, STATUS_BITS, TrackerCommand, landing_layout

N_WRITES = 8
"""Packets that may wait for their write to be done."""


class LandingWriter(wiring.Component):
    """Writes the packets that were accepted and throws away the payload of the others.

    Of every packet that is to be answered the tracker hears once memory has acknowledged all of it.

    Timing: a packet takes a cycle more than its beats, one without beats two. Reports in the order of the packets.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    i : ``In(stream.Signature(landing_layout(address_bits)))``
        Packets, judged.
    i_payload : ``In(stream.Signature(beat(data_width)))``
        Their payload.
    write : ``Out(WriteSignature(data_width))``
        Local memory.
    o_landed : ``Out(stream.Signature(TrackerCommand))``
        Reports.
    """

    def __init__(self, *, data_width: int, address_bits: int = ADDRESS_BITS):
        self.data_width = data_width
        super().__init__({
            "i": In(stream.Signature(landing_layout(address_bits))),
            "i_payload": In(stream.Signature(beat(data_width))),
            "write": Out(WriteSignature(data_width)),
            "o_landed": Out(stream.Signature(TrackerCommand)),
        })

    def elaborate(self, platform):
        m = Module()
        note = data.StructLayout({
            "number": NUMBER_BITS, "written": 1, "status": STATUS_BITS, "detail": DETAIL_BITS,
        })
        m.submodules.notes = notes = LutQueue(shape=note, depth=N_WRITES, prompt=False)
        landing, write = self.i.payload, self.write
        m.d.comb += [
            notes.i.payload.number.eq(landing.number),
            notes.i.payload.written.eq(landing.accept),
            notes.i.payload.status.eq(landing.status),
            notes.i.payload.detail.eq(Mux(landing.accept, landing.addr, landing.detail)),
            write.request.payload.addr.eq(landing.addr),
            write.request.payload.bytes.eq(landing.length),
            write.data.payload.eq(self.i_payload.payload),
        ]

        with m.FSM():
            with m.State("BEGIN"):
                note_taken, write_taken = ~landing.answer | notes.i.ready, ~landing.accept | write.request.ready
                m.d.comb += [
                    write.request.valid.eq(self.i.valid & landing.accept & notes.i.ready),
                    notes.i.valid.eq(self.i.valid & landing.answer & write_taken),
                ]
                with m.If(self.i.valid & note_taken & write_taken):
                    with m.If(landing.accept):
                        m.next = "COPY"
                    with m.Elif(landing.length != 0):
                        m.next = "DROP"
                    with m.Else():
                        m.next = "PASS"
            # A packet that leaves nothing to do goes in a cycle of its own: it does not wait for memory's ready.
            with m.State("PASS"):
                m.d.comb += self.i.ready.eq(1)
                m.next = "BEGIN"
            with m.State("COPY"):
                m.d.comb += [write.data.valid.eq(self.i_payload.valid), self.i_payload.ready.eq(write.data.ready)]
                with m.If(self.i_payload.valid & write.data.ready & self.i_payload.payload.last):
                    m.d.comb += self.i.ready.eq(1)
                    m.next = "BEGIN"
            with m.State("DROP"):
                m.d.comb += self.i_payload.ready.eq(1)
                with m.If(self.i_payload.valid & self.i_payload.payload.last):
                    m.d.comb += self.i.ready.eq(1)
                    m.next = "BEGIN"

        done, report = write.done, Signal(TrackerCommand)
        status = Signal(Status)
        m.d.comb += [
            status.eq(Mux(notes.o.payload.written & done.payload.error, Status.MEMORY_ERROR, notes.o.payload.status)),
            report.number.eq(notes.o.payload.number),
            report.status.eq(status),
            report.detail.eq(notes.o.payload.detail),
            self.o_landed.payload.eq(report),
            self.o_landed.valid.eq(notes.o.valid & (~notes.o.payload.written | done.valid)),
            notes.o.ready.eq(self.o_landed.valid & self.o_landed.ready),
            done.ready.eq(self.o_landed.ready & notes.o.valid & notes.o.payload.written),
        ]


        return m
