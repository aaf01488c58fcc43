"""Answering the GETs of others."""

from dataclasses import dataclass

from amaranth import Array, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType, Right, Status
from rtl.abi import P2pRange, PacketHeader
from rtl.interface import PacketSignature, ReadSignature, WindowSignature
from rtl.kit.queue import LutQueue, Queue, stream_queue
from rtl.p2p.range_check import RangeCheck
from rtl.p2p.records import REQUESTS_UNDER_WAY, STATUS_BITS, RangedHeader, is_part, nonce_of

N_REQUESTS = REQUESTS_UNDER_WAY
"""Requests that may wait: all that one requester has, so that it does not hold up what comes behind them."""
KEPT = data.StructLayout({
    name: formats.PACKET_HEADER[name].width
    for name in ("fragment", "dest_vp", "source_vp", "source_id", "pulse", "tag", *formats.NONCE_FIELDS, "addr")
})
"""Fields of the header of a GET that its answer needs."""


@dataclass(frozen=True, kw_only=True)
class BufferSlots:
    """Slots of the data buffer, one for each answer.

    Parameters
    ----------
    free : Signal
        Slots that are free.
    reserve, returned : Signal
        One is taken; one is free again.
    """

    free: Signal
    reserve: Signal
    returned: Signal


@dataclass(frozen=True, kw_only=True)
class FetchedData:
    """Data that have come from memory.

    Parameters
    ----------
    outcomes : Queue
        The outcome of each read, once its data are there.
    beats : Queue
        Their beats.
    """

    outcomes: Queue
    beats: Queue


class GetServer(wiring.Component):
    """Reads the memory that GET packets ask for and answers with one GET_DATA packet each, in order.

    The window is looked at right before the memory is read: for each packet it has to hold the range of the whole
    operation. What must not be read, or cannot be, is answered with a
    status and no data. A fragment is read whole before its answer begins, for only then its status is known; bytes of
    the last flit beyond those asked for are sent as zeros.

    Timing: fragments follow each other with two idle cycles, once their data are there.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    mtu : int
        Largest fragment in bytes.
    n_held : int
        Fragments held at once: some being read, one being sent (:func:`rtl.p2p.records.fragments_held`).
    n_requests : int
        Requests that may wait. A proof makes it small.

    Members
    -------
    i : ``In(stream.Signature(RangedHeader))``
        GET packets, each with the range of its operation.
    window : ``Out(WindowSignature())``
        Memory windows.
    read : ``Out(ReadSignature(data_width))``
        Local memory.
    o : ``Out(PacketSignature(data_width))``
        GET_DATA packets.
    node_id : ``In(24)``
        NodeID of this node.
    """

    def __init__(self, *, data_width: int, mtu: int, n_held: int, n_requests: int = N_REQUESTS):
        self.data_width = data_width
        self.mtu = mtu
        self.n_held = n_held
        self.n_requests = n_requests
        super().__init__({
            "i": In(stream.Signature(RangedHeader)),
            "window": Out(WindowSignature()),
            "read": Out(ReadSignature(data_width)),
            "o": Out(PacketSignature(data_width)),
            "node_id": In(formats.NODE_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        flit_bytes = self.data_width // 8
        job = data.StructLayout({"request": KEPT, "read": 1, "status": STATUS_BITS})
        request = data.StructLayout({"kept": KEPT, "is_part": 1, "range": P2pRange})
        m.submodules.requests = requests = stream_queue(shape=request, depth=self.n_requests)
        m.submodules.jobs = jobs = LutQueue(shape=job, depth=self.n_held, prompt=False)
        m.submodules.reads = reads = stream_queue(shape=data.StructLayout({"error": 1}), depth=self.n_held)
        m.submodules.buffer = buffer = stream_queue(shape=self.data_width, depth=self.n_held * self.mtu // flit_bytes)
        header = self.i.payload.header
        m.d.comb += [
            *(requests.i.payload.kept[name].eq(header[name]) for name, _ in KEPT),
            requests.i.payload.is_part.eq(is_part(header)), requests.i.payload.range.eq(self.i.payload.range),
            requests.i.valid.eq(self.i.valid), self.i.ready.eq(requests.i.ready),
        ]

        slots = BufferSlots(
            free=Signal(range(self.n_held + 1), init=self.n_held, name="free"), reserve=Signal(name="reserve"),
            returned=Signal(name="returned"),
        )
        m.d.sync += slots.free.eq(slots.free - slots.reserve + slots.returned)

        self._ask(m, requests, jobs, slots)

        # Data that come back fill the buffer; there is always room, it was reserved.
        arrived = self.read.data
        m.d.comb += [
            arrived.ready.eq(buffer.i.ready & reads.i.ready),
            buffer.i.valid.eq(arrived.valid & arrived.ready),
            buffer.i.payload.eq(arrived.payload.data),
            reads.i.valid.eq(arrived.valid & arrived.ready & arrived.payload.last),
            reads.i.payload.error.eq(arrived.payload.error),
        ]
        self._answer(m, jobs, FetchedData(outcomes=reads, beats=buffer), slots)
        return m

    def _ask(self, m: Module, requests: Queue, jobs: Queue, slots: BufferSlots) -> None:
        """First half: looks at the window, asks the memory."""
        request = requests.o.payload.kept
        n_bytes = request.pulse
        m.submodules.range_check = whole = RangeCheck(flit_bytes=self.data_width // 8)
        status = Signal(Status)
        query, answer = self.window.query, self.window.answer
        m.d.comb += [
            whole.addr.eq(request.addr),
            whole.bytes.eq(n_bytes),
            whole.part.eq(requests.o.payload.is_part),
            whole.range.eq(requests.o.payload.range),
            query.payload.vp.eq(request.dest_vp),
            query.payload.addr.eq(whole.whole_addr),
            query.payload.bytes.eq(whole.whole_bytes),
            query.payload.right.eq(Right.REMOTE_READ),
            self.read.request.payload.addr.eq(request.addr),
            self.read.request.payload.bytes.eq(n_bytes),
            jobs.i.payload.request.eq(request),
            jobs.i.payload.status.eq(status),
            jobs.i.payload.read.eq((status == Status.OK) & (n_bytes != 0)),
        ]
        with m.FSM(name="read_fsm"):
            with m.State("REQUEST"):
                m.d.comb += whole.enable.eq(1)
                m.d.sync += status.eq(Mux(n_bytes > self.mtu, Status.BAD_LENGTH, Status.OK))
                with m.If(requests.o.valid):
                    m.next = "ASK"
                    with m.If((n_bytes > self.mtu) | (n_bytes == 0) & ~whole.part):
                        m.next = "PASS"
            # A range that is none is not asked about.
            with m.State("ASK"):
                m.d.comb += query.valid.eq(whole.fits & ~whole.below)
                with m.If(~query.valid):
                    m.d.sync += status.eq(Mux(whole.fits, Status.REMOTE_ACCESS, Status.BAD_LENGTH))
                    m.next = "PASS"
                with m.Elif(query.ready):
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += answer.ready.eq(1)
                with m.If(answer.valid):
                    m.next = "RESERVE"
                    with m.If(~answer.payload.ok):
                        m.d.sync += status.eq(Status.REMOTE_ACCESS)
                        m.next = "PASS"
            with m.State("RESERVE"):
                with m.If(slots.free != 0):
                    m.d.comb += slots.reserve.eq(1)
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.read.request.valid.eq(1)
                with m.If(self.read.request.ready):
                    m.next = "PASS"
            with m.State("PASS"):
                m.d.comb += jobs.i.valid.eq(1)
                with m.If(jobs.i.ready):
                    m.d.comb += requests.o.ready.eq(1)
                    m.next = "REQUEST"

    def _answer(self, m: Module, jobs: Queue, fetched: FetchedData, slots: BufferSlots) -> None:
        """Second half: sends the answer, once its data are there, and returns their slot."""
        reads, buffer = fetched.outcomes, fetched.beats
        flit_bytes = self.data_width // 8
        flit_log2 = (flit_bytes - 1).bit_length()
        done = jobs.o.payload
        failed = done.read & reads.o.payload.error
        reply = Signal(PacketHeader)
        m.d.comb += [
            reply.type.eq(PacketType.GET_DATA),
            reply.version.eq(formats.PACKET_VERSION),
            reply.length.eq(Mux(done.read & ~failed, done.request.pulse, 0)),
            reply.fragment.eq(done.request.fragment),
            reply.dest_id.eq(done.request.source_id),
            reply.dest_vp.eq(done.request.source_vp),
            reply.source_id.eq(self.node_id),
            reply.source_vp.eq(done.request.dest_vp),
            reply.tag.eq(done.request.tag),
            nonce_of(reply).eq(nonce_of(done.request)),
            reply.status.eq(Mux(failed, Status.MEMORY_ERROR, done.status)),
            reply.addr.eq(done.request.addr),
            self.o.header.payload.eq(reply),
        ]
        left = Signal(range(self.mtu // flit_bytes + 1))
        tail = Signal(flit_log2)
        throwing = Signal()
        # Bytes of the last flit beyond those asked for may lie outside of the window.
        masks = Array(Const((1 << 8 * (count or flit_bytes)) - 1, self.data_width) for count in range(flit_bytes))
        m.d.comb += [
            self.o.payload.payload.data.eq(buffer.o.payload & Mux(left == 1, masks[tail], ~Const(0, self.data_width))),
            self.o.payload.payload.last.eq(left == 1),
        ]
        with m.FSM(name="send_fsm"):
            with m.State("HEADER"):
                m.d.comb += [
                    self.o.header.valid.eq(jobs.o.valid & (~done.read | reads.o.valid)),
                    jobs.o.ready.eq(self.o.header.valid & self.o.header.ready),
                    reads.o.ready.eq(jobs.o.ready & done.read),
                ]
                m.d.sync += [
                    left.eq((done.request.pulse + (flit_bytes - 1)) >> flit_log2),
                    tail.eq(done.request.pulse),
                    throwing.eq(failed),
                ]
                with m.If(jobs.o.ready & done.read):
                    m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += [
                    self.o.payload.valid.eq(buffer.o.valid & ~throwing),
                    buffer.o.ready.eq(throwing | self.o.payload.ready),
                ]
                with m.If(buffer.o.valid & buffer.o.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.d.comb += slots.returned.eq(1)
                        m.next = "HEADER"
