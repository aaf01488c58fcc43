"""Writes admitted packets, and answers them."""

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType, Status
from rtl.abi import PacketHeader, Receive
from rtl.interface import ADDRESS_BITS, WriteSignature, beat
from rtl.kit.queue import LutQueue
from rtl.p2p.records import admitted_layout, nonce_of

N_WRITES = 8
"""Packets that may wait for their write to be done."""
N_ANSWERS = 4
"""Answers that may wait for the network; more hold up the packets received, and nothing else."""


class Delivery(wiring.Component):
    """Writes admitted packets to memory and answers each once it is there; throws away the payload of the others.

    A mini packet becomes a whole entry of the receive queue, zeros after its payload, its last word last.

    Timing: a packet takes two cycles more than its beats (SEND: those of the entry), one that leaves nothing to do
    two. Answers in the order of the packets.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    i : ``In(stream.Signature(admitted_layout(address_bits)))``
        Packets, judged.
    i_payload : ``In(stream.Signature(beat(data_width)))``
        Their payload.
    write : ``Out(WriteSignature(data_width))``
        Local memory.
    o : ``Out(stream.Signature(PacketHeader))``
        ACK packets, which have no payload.
    delivered : ``Out(1)``
        Pulse: a receive entry has been written.
    node_id, cycles
        NodeID of this node; time for the receive entries.
    """

    def __init__(self, *, data_width: int, address_bits: int = ADDRESS_BITS):
        self.data_width = data_width
        super().__init__({
            "i": In(stream.Signature(admitted_layout(address_bits))),
            "i_payload": In(stream.Signature(beat(data_width))),
            "write": Out(WriteSignature(data_width)),
            "o": Out(stream.Signature(PacketHeader)),
            "delivered": Out(1),
            "node_id": In(formats.NODE_BITS),
            "cycles": In(63),
        })

    def elaborate(self, platform):
        m = Module()
        notes = self._write(m)
        self._answer(m, notes)
        return m

    def _write(self, m):
        """First half: sends requests and data to memory, and a note about each packet to the second half."""
        header, is_send = self.i.payload.header, self.i.payload.send
        note = data.StructLayout({"header": PacketHeader, "written": 1, "status": 8})
        m.submodules.notes = notes = LutQueue(shape=note, depth=N_WRITES, prompt=False)
        m.d.comb += [
            notes.i.payload.header.eq(header),
            notes.i.payload.written.eq(self.i.payload.accept),
            notes.i.payload.status.eq(self.i.payload.status),
            self.write.request.payload.addr.eq(self.i.payload.addr),
            self.write.request.payload.bytes.eq(Mux(is_send, Receive.size // 8, header.length)),
        ]

        n_beats = Receive.size // self.data_width
        stamp, index = Signal(63), Signal(range(n_beats))
        filler, mask = self._fill(m, stamp, index), self._mask(m)

        # A note is made in the cycle after its packet's first one, when nothing waits for memory's ready any more: it
        # has room still, for nobody else makes any, and the packet is still at hand.
        noting = Signal()
        m.d.comb += notes.i.valid.eq(noting)
        m.d.sync += noting.eq(0)

        with m.FSM(name="write_fsm"):
            with m.State("BEGIN"):
                m.d.sync += index.eq(0)
                with m.If(self.i.valid):
                    m.d.sync += stamp.eq(self.cycles)
                accept, answer = self.i.payload.accept, self.i.payload.answer
                m.d.comb += self.write.request.valid.eq(self.i.valid & accept & notes.i.ready)
                with m.If(self.i.valid & (~answer | notes.i.ready) & (~accept | self.write.request.ready)):
                    m.d.sync += noting.eq(answer)
                    with m.If(accept):
                        m.next = "COPY"
                        with m.If(self.i.payload.empty):
                            m.next = "FILL"
                    with m.Elif(~self.i.payload.empty):
                        m.next = "DROP"
                    with m.Else():
                        m.next = "PASS"

            # A packet that leaves nothing to do goes in a cycle of its own: it does not wait for memory's ready.
            with m.State("PASS"):
                m.d.comb += self.i.ready.eq(1)
                m.next = "BEGIN"

            with m.State("COPY"):
                m.d.comb += [
                    self.write.data.valid.eq(self.i_payload.valid),
                    self.write.data.payload.data.eq(self.i_payload.payload.data & mask),
                    self.write.data.payload.last.eq(self.i_payload.payload.last & ~is_send),
                    self.i_payload.ready.eq(self.write.data.ready),
                ]
                with m.If(self.i_payload.valid & self.i_payload.ready):
                    m.d.sync += index.eq(index + 1)
                    with m.If(self.i_payload.payload.last):
                        with m.If(is_send):
                            m.next = "FILL"
                        with m.Else():
                            m.d.comb += self.i.ready.eq(1)
                            m.next = "BEGIN"

            with m.State("FILL"):
                m.d.comb += [
                    self.write.data.valid.eq(1),
                    self.write.data.payload.data.eq(filler),
                    self.write.data.payload.last.eq(index == n_beats - 1),
                ]
                with m.If(self.write.data.ready):
                    m.d.sync += index.eq(index + 1)
                    with m.If(index == n_beats - 1):
                        m.d.comb += self.i.ready.eq(1)
                        m.next = "BEGIN"

            with m.State("DROP"):
                m.d.comb += self.i_payload.ready.eq(1)
                with m.If(self.i_payload.valid & self.i_payload.payload.last):
                    m.d.comb += self.i.ready.eq(1)
                    m.next = "BEGIN"

        return notes

    def _fill(self, m: Module, stamp: Signal, index: Signal) -> Signal:
        """Forms what a receive entry has behind its payload, and gives its beat `index`."""
        entry, header = Signal(Receive), self.i.payload.header
        n_beats, payload_beats = Receive.size // self.data_width, 8 * formats.PAYLOAD_BYTES // self.data_width
        m.d.comb += [
            entry.source_id.eq(header.source_id),
            entry.source_vp.eq(header.source_vp),
            entry.length.eq(header.length),
            entry.timestamp.eq(stamp),
            entry.phase.eq(self.i.payload.phase),
        ]
        filler = Signal(self.data_width)
        with m.Switch(index):
            for k in range(payload_beats, n_beats):
                with m.Case(k):
                    m.d.comb += filler.eq(entry.as_value()[k * self.data_width:(k + 1) * self.data_width])
        return filler

    def _mask(self, m: Module) -> Signal:
        """Gives the bits of the current beat that are data: bytes of a mini packet's last beat beyond its length would
        show what stood in the buffer.
        """
        flit_bytes = self.data_width // 8
        tail = self.i.payload.header.length[:flit_bytes.bit_length() - 1]
        mask = Signal(self.data_width, init=-1)
        with m.If(self.i.payload.send & self.i_payload.payload.last):
            with m.Switch(tail):
                for count in range(1, flit_bytes):
                    with m.Case(count):
                        m.d.comb += mask.eq(Const((1 << 8 * count) - 1, self.data_width))
        return mask

    def _answer(self, m, notes):
        """Second half: answers every note, after its write."""
        m.submodules.answers = answers = LutQueue(shape=PacketHeader, depth=N_ANSWERS, prompt=False)
        m.d.comb += [
            self.o.payload.eq(answers.o.payload),
            self.o.valid.eq(answers.o.valid),
            answers.o.ready.eq(self.o.ready),
        ]

        done = self.write.done
        note = notes.o.payload
        status = Signal(Status)
        m.d.comb += status.eq(Mux(note.written, Mux(done.payload.error, Status.MEMORY_ERROR, Status.OK), note.status))
        ack = answers.i.payload
        m.d.comb += [
            ack.type.eq(PacketType.ACK),
            ack.version.eq(formats.PACKET_VERSION),
            ack.fragment.eq(note.header.fragment),
            ack.dest_id.eq(note.header.source_id),
            ack.dest_vp.eq(note.header.source_vp),
            ack.source_id.eq(self.node_id),
            ack.source_vp.eq(note.header.dest_vp),
            ack.tag.eq(note.header.tag),
            nonce_of(ack).eq(nonce_of(note.header)),
            ack.status.eq(status),
            ack.addr.eq(note.header.addr),
            answers.i.valid.eq(notes.o.valid & (~note.written | done.valid)),
            notes.o.ready.eq(answers.i.ready & (~note.written | done.valid)),
            done.ready.eq(answers.i.ready & notes.o.valid & note.written),
        ]
        is_entry = note.written & (note.header.type == PacketType.SEND)
        m.d.sync += self.delivered.eq(answers.i.valid & answers.i.ready & is_entry & (status == Status.OK))
