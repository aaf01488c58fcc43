"""From descriptors to fragments and their data."""


from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, Kind, P2pOp, PacketType, Status
from rtl.abi import DescriptorControl, PacketHeader
from rtl.interface import ADDRESS_BITS, ReadSignature, check_address_bits, inline_layout, inline_words
from rtl.kit.queue import LutQueue, Queue, stream_queue
from rtl.p2p.fragmenter_steps import BufferRoom, InlineData, Operation
from rtl.p2p.range_check import BYTES_BITS
from rtl.p2p.records import Fragment, OperationNumber, Outstanding, TrackerCommand, is_part, nonce_of

(_TO_KIND,) = {CplKind[op.name] - op for op in P2pOp}
"""From what a descriptor asks for to the kind of its completion: the encodings count in the same order."""


class Fragmenter(wiring.Component):
    """Executes descriptors one by one: opens the operation, cuts it into fragments, fetches their data.

    A message of at most the mtu is one fragment. Each fragment of a longer one gives up a flit of the mtu to the range
    of its operation, which goes in front of its data.

    A fragment's data lie in the buffer in one piece. Reads run ahead of sending by as much as the buffer holds, over
    the end of an operation too; data that a descriptor carries wait until earlier reads are over, to keep the order.

    Timing: a fragment in three cycles, its data one beat per cycle.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    mtu : int
        Largest fragment in bytes.
    n : int
        Entries of the tracker.
    n_held : int
        Fragments held at once: some being read, one being sent (:func:`rtl.p2p.records.fragments_held`).
    address_bits : int
        Bits of a local address, 32 to 64; a remote one has 64.

    Members
    -------
    i : ``In(stream.Signature({desc}))``
        Checked descriptors; taken while ``room``.
    inline_data : ``In(inline_layout(data_width))``
        Inline data of descriptors.
    room : ``Out(1)``
        A descriptor offered now is taken at once.
    i_number : ``In(stream.Signature(OperationNumber))``
        Numbers for operations.
    o_open : ``Out(stream.Signature(TrackerCommand))``, outstanding : ``Out(Outstanding)``
        Operations that begin; and whom the one on offer asks.
    failed : ``In(n)``
        Operations, by entry, of which no more needs to be sent.
    read : ``Out(ReadSignature(data_width))``
        Local memory.
    o_fragment : ``Out(stream.Signature(Fragment))``
        Fragments in the order in which they are to be sent.
    o_read : ``Out(stream.Signature({error}))``
        One item for each fragment with `read`, once its data are there.
    o_data : ``Out(stream.Signature(data_width))``
        Data of the fragments that are `stored`: ``ceil(length / flit_bytes)`` beats each, one fewer of a part.
    returned : ``In(1)``
        Pulse: the data of a `stored` fragment have been taken.
    node_id : ``In(24)``
        NodeID of this node.
    """

    def __init__(
        self, *, data_width: int, mtu: int, n: int, n_held: int, address_bits: int = ADDRESS_BITS
    ):
        if mtu < 2 * (data_width // 8):
            raise ValueError(f"mtu must be at least two flits ({2 * (data_width // 8)}), not {mtu!r}")
        self.data_width = data_width
        self.mtu = mtu
        self.n = n
        self.n_held = n_held
        self.address_bits = check_address_bits(address_bits)
        super().__init__({
            "i": In(stream.Signature(data.StructLayout({"desc": DescriptorControl}))),
            "inline_data": In(inline_layout(data_width)),
            "room": Out(1),
            "i_number": In(stream.Signature(OperationNumber)),
            "o_open": Out(stream.Signature(TrackerCommand)),
            "outstanding": Out(Outstanding),
            "failed": In(n),
            "read": Out(ReadSignature(data_width)),
            "o_fragment": Out(stream.Signature(Fragment)),
            "o_read": Out(stream.Signature(data.StructLayout({"error": 1}))),
            "o_data": Out(stream.Signature(data_width)),
            "returned": In(1),
            "node_id": In(formats.NODE_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        flit_bytes = self.data_width // 8
        m.submodules.fragments = fragments = LutQueue(shape=Fragment, depth=self.n_held, prompt=False)
        m.submodules.reads = reads = stream_queue(
            shape=self.o_read.payload.shape(), depth=self.n_held
        )
        m.submodules.buffer = buffer = stream_queue(
            shape=self.data_width, depth=self.n_held * self.mtu // flit_bytes
        )
        connect(m, fragments.o, flipped(self.o_fragment))
        connect(m, reads.o, flipped(self.o_read))
        connect(m, buffer.o, flipped(self.o_data))

        # Slots of the buffer that are free, and reads that have not come back.
        free = Signal(range(self.n_held + 1), init=self.n_held)
        reading = Signal(range(self.n_held + 1))
        reserve, begin_read, end_read = Signal(), Signal(), Signal()
        # That a slot is returned is known late in a cycle.
        returned = Signal()
        m.d.sync += [
            returned.eq(self.returned),
            free.eq(free - reserve + returned),
            reading.eq(reading + begin_read - end_read),
        ]

        # Data that come back fill the buffer; there is always room, it was reserved.
        arrived = self.read.data
        m.d.comb += [
            arrived.ready.eq(buffer.i.ready & reads.i.ready),
            end_read.eq(arrived.valid & arrived.ready & arrived.payload.last),
            reads.i.valid.eq(end_read),
            reads.i.payload.error.eq(arrived.payload.error),
        ]

        room = BufferRoom(free=free, reading=reading, reserve=reserve, begin_read=begin_read)
        self._execute(m, fragments, buffer, room)
        return m

    def _keep_inline(self, m: Module) -> memory.ReadPort:
        """The inline data of the descriptor that is executed."""
        n_words = inline_words(self.data_width)
        m.submodules.inline_words = words = memory.Memory(shape=self.data_width, depth=n_words, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        receives = Signal()
        m.d.comb += [
            write.en.eq(receives & self.inline_data.valid), write.addr.eq(self.inline_data.index),
            write.data.eq(self.inline_data.data),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += receives.eq(1)
        with m.Elif(self.inline_data.valid & (self.inline_data.index == n_words - 1)):
            m.d.sync += receives.eq(0)
        return read

    def _execute(self, m: Module, fragments: Queue, buffer: Queue, room: BufferRoom) -> None:
        """Executes one descriptor after the other."""
        flit_bytes = self.data_width // 8
        n_beats = formats.PAYLOAD_BYTES // flit_bytes
        inline = InlineData(
            word=self._keep_inline(m), beat=Signal(range(n_beats), name="beat"),
            left=Signal(range(n_beats + 1), name="beats_left"), has_beats=Signal(name="has_beats"),
            puts=Signal(name="puts"),
        )
        op = Operation(
            desc=Signal(DescriptorControl, reset_less=True, name="desc"), number=Signal(OperationNumber, name="number"),
            refusal=Signal(Status, name="refusal"), is_mini=Signal(name="is_mini"),
            local=Signal(self.address_bits, name="local"), remote=Signal(ADDRESS_BITS, name="remote"),
            before=Signal(BYTES_BITS, name="before"), left=Signal(BYTES_BITS, name="left"),
            index=Signal(formats.FRAGMENT_BITS, name="index"), is_part=Signal(name="is_part"),
            size=Signal(formats.PACKET_HEADER["length"].width, name="size"),
            length=Signal(formats.PACKET_HEADER["length"].width, name="length"), final=Signal(name="final"),
            inline=inline,
        )
        desc, refusal, offered = op.desc, op.refusal, self.i.payload.desc
        # `left` stands for a cycle before a fragment is made of it, so these need not wait for the comparison.
        final = Signal()
        m.d.comb += final.eq(~op.is_part | (op.left <= self.part_bytes))
        m.d.sync += [
            op.final.eq(final),
            op.size.eq(Mux(final, op.left, self.part_bytes)),
            op.length.eq(Mux(final, op.left, self.part_bytes) + Mux(op.is_part, flit_bytes, 0)),
        ]
        reason = self._refusal(m, offered)
        self._describe(m, fragments.i.payload, op)
        # A register says that there is nothing in hand, for those who ask for room: it is set a cycle after the state.
        idle = Signal()
        m.d.comb += [
            self.room.eq(idle & self.i_number.valid), self.i.ready.eq(self.room),
            self.i_number.ready.eq(idle & self.i.valid),
        ]

        # One registered enable loads the wide registers of the accepted descriptor.
        with m.If(idle):
            m.d.sync += [
                desc.eq(offered),
                op.number.eq(self.i_number.payload),
                refusal.eq(reason),
                op.is_mini.eq((offered.kind == Kind.MP) | (offered.length == 0)),
            ]

        # Says what the state OPEN says, to the tracker, which has many to listen to.
        opening = Signal()
        m.d.comb += self.o_open.valid.eq(opening)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [
                    opening.eq(self.i.valid & self.i.ready),
                    idle.eq(~self.i.valid | ~self.i.ready),
                ]
                with m.If(self.i.valid & self.i.ready):
                    m.next = "OPEN"

            with m.State("OPEN"):
                m.d.sync += [
                    opening.eq(~self.o_open.ready),
                    op.local.eq(desc.local_addr),
                    op.remote.eq(desc.remote_addr),
                    op.before.eq(0),
                    op.left.eq(desc.length),
                    op.is_part.eq(desc.length > self.mtu),
                    op.index.eq(0),
                    inline.beat.eq(0),
                    inline.left.eq((desc.length + (flit_bytes - 1)) >> (flit_bytes.bit_length() - 1)),
                    inline.has_beats.eq(desc.length != 0),
                ]
                with m.If(self.o_open.ready):
                    with m.If(refusal != Status.OK):
                        m.next = "REFUSE"
                    with m.Elif(op.is_mini):
                        m.next = "MINI"
                    with m.Else():
                        m.next = "CHOOSE"

            with m.State("REFUSE"):
                fragment = fragments.i.payload
                m.d.comb += [
                    fragments.i.valid.eq(1),
                    fragment.final.eq(1),
                    fragment.status.eq(refusal),
                    fragment.detail.eq(desc.length),
                ]
                with m.If(fragments.i.ready):
                    m.next = "IDLE"

            with m.State("MINI"):
                with m.If((room.free != 0) & (room.reading == 0)):
                    m.d.comb += room.reserve.eq(1)
                    m.d.sync += inline.puts.eq(inline.has_beats)
                    m.next = "MINI_DATA"
            self._carry(m, fragments, buffer, inline)
            self._read(m, fragments, room, op)

    def _describe(self, m: Module, fragment: View, op: Operation) -> None:
        """Fills in the fields of the operation, of its next fragment and of the read of its data."""
        desc, opened = op.desc, self.o_open.payload
        is_send = desc.p2p_op == P2pOp.SEND
        # A signal of its own, outside of any condition: constant bits next to conditional ones make Verilog that
        # simulators warn about.
        header = Signal(PacketHeader)
        m.d.comb += [
            self.outstanding.number.eq(op.number.number),
            self.outstanding.vp.eq(desc.source_vp),
            self.outstanding.node.eq(desc.dest_id),
            self.outstanding.peer_vp.eq(desc.dest_vp),
            self.outstanding.nonce.eq(op.number.nonce),
            opened.number.eq(op.number.number),
            opened.vp.eq(desc.source_vp),
            opened.kind.eq(desc.p2p_op + _TO_KIND),
            opened.bytes.eq(desc.length),
            opened.tag.eq(desc.tag),
            header.type.eq(Mux(is_send, PacketType.SEND, PacketType.PUT)),
            header.version.eq(formats.PACKET_VERSION),
            is_part(header).eq(op.is_part),
            header.length.eq(op.length),
            header.fragment.eq(op.index),
            header.dest_id.eq(desc.dest_id),
            header.dest_vp.eq(desc.dest_vp),
            header.source_vp.eq(desc.source_vp),
            header.source_id.eq(self.node_id),
            header.tag.eq(op.number.number),
            nonce_of(header).eq(op.number.nonce),
            header.addr.eq(Mux(is_send, 0, op.remote)),
            fragment.header.eq(header),
            fragment.range.before.eq(op.before),
            fragment.range.left.eq(op.left),
            fragment.detail.eq(op.local),
            self.read.request.payload.addr.eq(op.local),
            self.read.request.payload.bytes.eq(op.size),
        ]

    def _carry(self, m: Module, fragments: Queue, buffer: Queue, inline: InlineData) -> None:
        """Adds the states in which the data of a descriptor go into the buffer, as a fragment: the first word is there
        when MINI_DATA begins, and the others come as fast as they go.
        """
        at, left, puts, arrived = inline.beat, inline.left, inline.puts, self.read.data
        # No data come while those of a descriptor are put there, which waits until all reads are over.
        m.d.comb += [
            buffer.i.valid.eq(puts | (arrived.valid & arrived.ready)),
            inline.word.addr.eq(at), buffer.i.payload.eq(Mux(puts, inline.word.data, arrived.payload.data)),
        ]
        with m.State("MINI_DATA"):
            with m.If(~puts):
                m.next = "MINI_FRAGMENT"
            with m.Elif(buffer.i.ready):
                m.d.sync += [at.eq(at + 1), left.eq(left - 1), puts.eq(left != 1)]
        with m.State("MINI_FRAGMENT"):
            fragment = fragments.i.payload
            m.d.comb += [fragments.i.valid.eq(1), fragment.final.eq(1), fragment.stored.eq(1)]
            with m.If(fragments.i.ready):
                m.next = "IDLE"

    def _read(self, m: Module, fragments: Queue, room: BufferRoom, op: Operation) -> None:
        """Adds the states of an operation whose data are read from memory, fragment by fragment."""
        fragment = fragments.i.payload
        with m.State("CHOOSE"):
            with m.If(self.failed.bit_select(op.number.number[:self.n.bit_length() - 1], 1)):
                m.next = "STOP"
            with m.Elif(room.free != 0):
                m.d.comb += room.reserve.eq(1)
                m.next = "READ"
        with m.State("STOP"):
            m.d.comb += [fragments.i.valid.eq(1), fragment.final.eq(1)]
            with m.If(fragments.i.ready):
                m.next = "IDLE"
        with m.State("READ"):
            m.d.comb += self.read.request.valid.eq(1)
            with m.If(self.read.request.ready):
                m.d.comb += room.begin_read.eq(1)
                m.next = "FRAGMENT"
        with m.State("FRAGMENT"):
            m.d.comb += [
                fragments.i.valid.eq(1),
                fragment.final.eq(op.final),
                fragment.stored.eq(1),
                fragment.read.eq(1),
            ]
            with m.If(fragments.i.ready):
                m.d.sync += [
                    op.local.eq(op.local + self.part_bytes),
                    op.remote.eq(op.remote + self.part_bytes),
                    op.before.eq(op.before + self.part_bytes),
                    op.left.eq(op.left - self.part_bytes),
                    op.index.eq(op.index + 1),
                ]
                m.next = "CHOOSE"
                with m.If(op.final):
                    m.next = "IDLE"

    @property
    def part_bytes(self) -> int:
        """Bytes of data of a fragment that is one of several and not the last."""
        return self.mtu - self.data_width // 8

    @staticmethod
    def _refusal(m, desc):
        """Status of a descriptor that is not executed; ``OK`` if it is."""
        refusal = Signal(Status)
        is_send, is_mini = desc.p2p_op == P2pOp.SEND, desc.kind == Kind.MP
        with m.If(~is_send & (desc.p2p_op != P2pOp.PUT)):
            m.d.comb += refusal.eq(Status.UNSUPPORTED)
        with m.Elif(is_send & ~is_mini):
            m.d.comb += refusal.eq(Status.BAD_DESCRIPTOR)
        with m.Elif(is_mini & (desc.length > formats.PAYLOAD_BYTES)):
            m.d.comb += refusal.eq(Status.BAD_LENGTH)
        return refusal
