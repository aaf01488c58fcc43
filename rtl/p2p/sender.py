"""From fragments to packets."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import Status
from rtl.abi import P2pRange, PacketHeader
from rtl.interface import PacketSignature
from rtl.kit.skid import SkidBuffer
from rtl.p2p.records import Fragment, TrackerCommand, is_part


class FragmentSender(wiring.Component):
    """Sends fragments as packets, and tells the tracker of each before its packet leaves.

    The range of an operation of several fragments goes in front of the data of each of them, as a flit of its own.

    The fragments of an operation that has failed, and those after one whose data could not be read, are thrown away.

    Timing: the decision over a fragment takes three cycles and overlaps with the packet before it; back to back
    packets then follow each other with one idle cycle at most.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    n : int
        Entries of the tracker.

    Members
    -------
    i_fragment, i_read, i_data, returned
        As :class:`rtl.p2p.fragmenter.Fragmenter` makes and takes them.
    failed : ``In(n)``
        Operations, by entry, of which no more needs to be sent.
    o_progress : ``Out(stream.Signature(TrackerCommand))``
        What becomes of each fragment.
    o : ``Out(PacketSignature(data_width))``
        Packets.
    """

    def __init__(self, *, data_width: int, n: int):
        self.data_width = data_width
        self.n = n
        super().__init__({
            "i_fragment": In(stream.Signature(Fragment)),
            "i_read": In(stream.Signature(data.StructLayout({"error": 1}))),
            "i_data": In(stream.Signature(data_width)),
            "returned": Out(1),
            "failed": In(n),
            "o_progress": Out(stream.Signature(TrackerCommand)),
            "o": Out(PacketSignature(data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        decided = data.StructLayout({"header": PacketHeader, "range": P2pRange, "discard": 1})
        m.submodules.packets = packets = SkidBuffer(shape=decided)

        # Decide over the next fragment once its data are there.
        fragment = self.i_fragment.payload
        entry = fragment.header.tag[:self.n.bit_length() - 1]
        read_error = fragment.read & self.i_read.payload.error
        failing = Signal()
        discard = Signal()
        status = Signal(Status)
        progress = self.o_progress.payload
        m.d.comb += [
            progress.number.eq(fragment.header.tag),
            progress.sent.eq(~discard),
            progress.final.eq(fragment.final),
            progress.status.eq(status),
            progress.detail.eq(fragment.detail),
            packets.i.payload.header.eq(fragment.header),
            packets.i.payload.range.eq(fragment.range),
            packets.i.payload.discard.eq(discard),
        ]
        with m.FSM(name="decide_fsm"):
            with m.State("DECIDE"):
                m.d.sync += [
                    status.eq(Mux(read_error, Status.MEMORY_ERROR, fragment.status)),
                    discard.eq(
                        ~fragment.stored | read_error | failing | self.failed.bit_select(entry, 1)
                    ),
                ]
                with m.If(self.i_fragment.valid & (~fragment.read | self.i_read.valid)):
                    m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += self.o_progress.valid.eq(1)
                with m.If(self.o_progress.ready):
                    m.next = "PASS"
            with m.State("PASS"):
                m.d.comb += packets.i.valid.eq(fragment.stored)
                with m.If(packets.i.ready):
                    m.d.comb += [
                        self.i_fragment.ready.eq(1),
                        self.i_read.ready.eq(fragment.read),
                    ]
                    m.d.sync += failing.eq(~fragment.final & (failing | (status != Status.OK)))
                    m.next = "DECIDE"

        self._send(m, packets)
        return m

    def _send(self, m: Module, packets: SkidBuffer) -> None:
        """Sends each packet, or throws its data away."""
        flit_bytes = self.data_width // 8
        packet, part = packets.o.payload, is_part(packets.o.payload.header)
        n_flits = (packet.header.length + (flit_bytes - 1)) >> (flit_bytes.bit_length() - 1)
        left = Signal.like(n_flits)
        sends_range, throwing = Signal(), Signal()
        # A part has data, so its range is never the last beat.
        m.d.comb += [
            self.o.header.payload.eq(packet.header),
            self.o.payload.payload.data.eq(Mux(sends_range, packet.range, self.i_data.payload)),
            self.o.payload.payload.last.eq(~sends_range & (left == 1)),
        ]
        with m.FSM(name="send_fsm"):
            with m.State("HEADER"):
                m.d.comb += [
                    self.o.header.valid.eq(packets.o.valid & ~packet.discard),
                    packets.o.ready.eq(packet.discard | (self.o.header.ready & ~part)),
                ]
                m.d.sync += [left.eq(n_flits - part), throwing.eq(packet.discard)]
                with m.If(packets.o.valid & (packet.discard | self.o.header.ready)):
                    with m.If(n_flits == 0):
                        m.d.comb += self.returned.eq(1)
                    with m.Elif(part & ~packet.discard):
                        m.d.sync += sends_range.eq(1)
                        m.next = "RANGE"
                    with m.Else():
                        m.next = "DATA"
            with m.State("RANGE"):
                m.d.comb += [self.o.payload.valid.eq(1), packets.o.ready.eq(self.o.payload.ready)]
                with m.If(self.o.payload.ready):
                    m.d.sync += sends_range.eq(0)
                    m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += [
                    self.o.payload.valid.eq(self.i_data.valid & ~throwing),
                    self.i_data.ready.eq(throwing | self.o.payload.ready),
                ]
                with m.If(self.i_data.valid & self.i_data.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.d.comb += self.returned.eq(1)
                        m.next = "HEADER"
