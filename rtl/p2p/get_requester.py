"""From GET descriptors to requests."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, PacketType, Status
from rtl.abi import DescriptorControl, PacketHeader
from rtl.interface import ADDRESS_BITS, PacketSignature
from rtl.p2p.records import GET_COUNT_BITS, GET_WINDOW, NUMBER_BITS, TrackerCommand, booking_layout


class GetRequester(wiring.Component):
    """Executes GET descriptors one by one: books the landing, opens the operation, asks for each fragment.

    At most :data:`~rtl.p2p.records.GET_WINDOW` fragments of all operations are asked for and not there yet, so that
    requests do not pile up in the network in front of what others send. It stands beside
    :class:`rtl.p2p.transmit.P2pTransmit`, which a long GET therefore does not hold up.

    Once an operation has failed no more of it is asked for.

    Timing: a request in three cycles.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    mtu : int
        Largest fragment in bytes.
    n : int
        Entries of the tracker.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    i : ``In(stream.Signature({desc}))``
        Checked descriptors, all of them GET; taken while ``room``.
    room : ``Out(1)``
        A descriptor offered now is taken at once.
    i_number : ``In(stream.Signature(16))``
        Numbers for operations.
    o_book : ``Out(stream.Signature(booking_layout(address_bits)))``
        Where the data of an operation will go; taken before the operation is opened.
    o_open, o_progress : ``Out(stream.Signature(TrackerCommand))``
        Operations that begin; progress of each fragment, before its request leaves.
    failed : ``In(n)``
        Operations, by entry, of which no more needs to be asked for.
    n_waiting : ``In``
        Fragments asked for that are not there.
    o : ``Out(PacketSignature(data_width))``
        GET packets, which have no payload.
    node_id : ``In(24)``
        NodeID of this node.
    moves : ``Out(1)``
        High if active in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, *, data_width: int, mtu: int, n: int, address_bits: int = ADDRESS_BITS):
        self.data_width = data_width
        self.mtu = mtu
        self.n = n
        super().__init__({
            "moves": Out(1),
            "i": In(stream.Signature(data.StructLayout({"desc": DescriptorControl}))),
            "room": Out(1),
            "i_number": In(stream.Signature(NUMBER_BITS)),
            "o_book": Out(stream.Signature(booking_layout(address_bits))),
            "o_open": Out(stream.Signature(TrackerCommand)),
            "o_progress": Out(stream.Signature(TrackerCommand)),
            "failed": In(n),
            "n_waiting": In(GET_COUNT_BITS),
            "o": Out(PacketSignature(data_width)),
            "node_id": In(formats.NODE_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        # The operation in hand; of its descriptor only what a GET uses.
        number = Signal(NUMBER_BITS)
        kept = ("dest_id", "dest_vp", "source_vp", "length", "local_addr", "tag")
        desc = Signal(data.StructLayout({name: formats.DESCRIPTOR[name].width for name in kept}))
        remote, left = Signal(ADDRESS_BITS), Signal(32)
        index = Signal(formats.FRAGMENT_BITS)
        size = Signal(formats.PACKET_HEADER["length"].width)
        final, failed = Signal(), Signal()
        m.d.comb += failed.eq(self.failed.bit_select(number[:self.n.bit_length() - 1], 1))
        # `left` stands for a cycle before a request is made of it, so these need not wait for the comparison.
        m.d.sync += [
            final.eq(left <= self.mtu),
            size.eq(Mux(left <= self.mtu, left, self.mtu)),
        ]

        # Signals of their own, outside of any condition: constant bits next to conditional ones make Verilog that
        # simulators warn about.
        header, opened, progress = Signal(PacketHeader), Signal(TrackerCommand), Signal(TrackerCommand)
        stopping = Signal()
        m.d.comb += [
            header.type.eq(PacketType.GET),
            header.version.eq(formats.PACKET_VERSION),
            header.fragment.eq(index),
            header.dest_id.eq(desc.dest_id),
            header.dest_vp.eq(desc.dest_vp),
            header.source_vp.eq(desc.source_vp),
            header.source_id.eq(self.node_id),
            header.pulse.eq(size),
            header.tag.eq(number),
            header.addr.eq(remote),
            self.o.header.payload.eq(header),
            opened.number.eq(number),
            opened.vp.eq(desc.source_vp),
            opened.kind.eq(CplKind.GET),
            opened.bytes.eq(desc.length),
            opened.tag.eq(desc.tag),
            self.o_open.payload.eq(opened),
            progress.number.eq(number),
            progress.sent.eq(~stopping),
            progress.final.eq(final | stopping),
            progress.status.eq(Status.OK),
            self.o_progress.payload.eq(progress),
            self.o_book.payload.number.eq(number),
            self.o_book.payload.vp.eq(desc.source_vp),
            self.o_book.payload.node.eq(desc.dest_id),
            self.o_book.payload.local.eq(desc.local_addr),
            self.o_book.payload.remote.eq(remote),
            self.o_book.payload.left.eq(left),
            self.o_book.payload.over.eq(0),
        ]

        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += [
                    self.room.eq(self.i_number.valid),
                    self.i.ready.eq(self.room),
                    self.i_number.ready.eq(self.i.valid),
                ]
                m.d.sync += [
                    *(desc[name].eq(self.i.payload.desc[name]) for name in kept),
                    remote.eq(self.i.payload.desc.remote_addr),
                    left.eq(self.i.payload.desc.length),
                    number.eq(self.i_number.payload),
                    index.eq(0),
                ]
                with m.If(self.i.valid & self.i.ready):
                    m.next = "BOOK"

            with m.State("BOOK"):
                m.d.comb += self.o_book.valid.eq(1)
                with m.If(self.o_book.ready):
                    m.next = "OPEN"
            with m.State("OPEN"):
                m.d.comb += self.o_open.valid.eq(1)
                with m.If(self.o_open.ready):
                    m.next = "CHOOSE"

            with m.State("CHOOSE"):
                with m.If(failed):
                    m.next = "STOP"
                with m.Elif(self.n_waiting < GET_WINDOW):
                    m.next = "TELL"
            with m.State("STOP"):
                m.d.comb += [stopping.eq(1), self.o_progress.valid.eq(1)]
                with m.If(self.o_progress.ready):
                    m.next = "IDLE"
            with m.State("TELL"):
                m.d.comb += self.o_progress.valid.eq(1)
                with m.If(self.o_progress.ready):
                    m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += self.o.header.valid.eq(1)
                with m.If(self.o.header.ready):
                    m.d.sync += [remote.eq(remote + self.mtu), left.eq(left - self.mtu), index.eq(index + 1)]
                    m.next = "CHOOSE"
                    with m.If(final):
                        m.next = "IDLE"

        m.d.sync += self.moves.eq(~(fsm.ongoing("IDLE") | fsm.ongoing("CHOOSE")))

        return m
