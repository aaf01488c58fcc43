"""Writes to host memory for several clients over one AXI4 bus."""

from dataclasses import dataclass

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.dma.axi4 import BURST_INCR, CACHE_NORMAL, Axi4Signature, check_burst, is_error
from rtl.dma.burst_splitter import BurstSplitter
from rtl.interface import ADDRESS_BITS, WriteSignature, check_address_bits
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.queue import Queue, stream_queue
from rtl.kit.skid import SkidBuffer

WRITE_CHANNELS = ("aw", "w", "b")


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client, and what stands between it and the bus.

    Parameters
    ----------
    number : int
        Its number.
    port : interface
        Its port.
    splitter : BurstSplitter
        Cuts its requests into bursts.
    buffer : Queue
        Its beats.
    done : Queue
        Outcomes of its requests.
    """

    number: int
    port: wiring.PureInterface
    splitter: BurstSplitter
    buffer: Queue
    done: Queue


@dataclass(frozen=True, kw_only=True)
class StartedBursts:
    """Bursts under way: each has an address, a turn on the data channel, and an answer to come.

    Parameters
    ----------
    addresses : SkidBuffer
        Addresses that wait for the bus.
    turns : Queue
        Turns on the data channel.
    answers : Queue
        Answers to come.
    """

    addresses: SkidBuffer
    turns: Queue
    answers: Queue


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer to a burst of a client.

    Parameters
    ----------
    is_valid : Value
        It comes in this cycle.
    last : Value
        The burst is the last one of its request.
    error : Value
        It failed.
    """

    is_valid: Value
    last: Value
    error: Value


class DmaWriter(wiring.Component):
    """Cuts the clients' requests into bursts, writes them in turn, and acknowledges them.

    A burst is started only when the client's buffer holds all of its data, so a slow client never holds up the
    bus. Clients are served burst by burst in turn. All bursts bear identifier 0; up to `max_outstanding` wait for
    their response, and each client may have `max_requests` requests that were not reported done.

    Timing: everything driven on `m_axi` is a register. One beat per cycle. A burst begins three cycles after the one
    before it, at the earliest: those of three beats or more follow each other without a gap.

    Parameters
    ----------
    n : int
        Clients, at least 1.
    data_width : int
        Bits of a flit and of the bus.
    max_burst_beats : int
        Longest burst: a power of two from 1 to 256.
    max_outstanding : int
        Bursts under way, at least 1.
    max_requests : int
        Requests of one client that may be in progress, at least 1.
    buffer_beats : int, optional
        Beats that each client's buffer holds, at least a burst; two bursts if not given.
    id_width : int
        Bits of the bus's identifiers.
    address_bits : int
        Bits of an address, 32 to 64; the others are 0 on the bus.
    block_memories : bool
        If true, beats wait in block RAM, however few.

    Members
    -------
    i : array of `n` ``In(WriteSignature(data_width))``
        Clients. Data may come before the request that they belong to; `last` is not needed.
    m_axi : ``Out(Axi4Signature)``
        The bus; its read channels are idle.
    """

    def __init__(
        self, *, n: int, data_width: int, max_burst_beats: int, max_outstanding: int = 16, max_requests: int = 8,
        buffer_beats: int | None = None, id_width: int = 1, address_bits: int = ADDRESS_BITS,
        block_memories: bool = False,
    ):
        for name, value in (("n", n), ("max_outstanding", max_outstanding), ("max_requests", max_requests)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value!r}")
        burst_beats = check_burst(data_width=data_width, max_burst_beats=max_burst_beats)
        if buffer_beats is None:
            buffer_beats = 2 * burst_beats
        if buffer_beats < burst_beats:
            raise ValueError(f"buffer_beats must be at least a burst ({burst_beats}), not {buffer_beats!r}")
        self.n = n
        self.data_width = data_width
        self.max_burst_beats = max_burst_beats
        self.max_outstanding = max_outstanding
        self.max_requests = max_requests
        self.buffer_beats = buffer_beats
        self.address_bits = check_address_bits(address_bits)
        self.block_memories = block_memories
        super().__init__({
            "i": In(WriteSignature(data_width)).array(n),
            "m_axi": Out(Axi4Signature(data_width=data_width, id_width=id_width)),
        })

    def elaborate(self, platform):
        m = Module()
        axi = self.m_axi

        splitters = [
            BurstSplitter(
                data_width=self.data_width, max_burst_beats=self.max_burst_beats, address_bits=self.address_bits
            ) for _ in range(self.n)
        ]
        granted_burst = data.StructLayout({"burst": splitters[0].burst, "client": range(self.n)})
        m.submodules.arbiter = arbiter = StreamArbiter(
            shape=granted_burst, n=self.n, full_rate=False, chooses_ahead=True
        )

        address = data.StructLayout({"addr": self.address_bits, "len": 8})
        expected = data.StructLayout({"client": range(self.n), "last": 1})
        m.submodules.aw = aw = SkidBuffer(shape=address)
        # `owner` is the client once more, one bit for each: a beat's way out of its buffer begins with it.
        turn_layout = data.StructLayout({
            "burst": splitters[0].burst, "client": range(self.n), "owner": self.n,
            "last_beat": range(splitters[0].burst_beats), "single": 1,
        })
        m.submodules.turns = turns = SkidBuffer(shape=turn_layout)
        m.submodules.order = order = stream_queue(shape=expected, depth=self.max_outstanding)
        self._grant(m, arbiter, StartedBursts(addresses=aw, turns=turns, answers=order))
        buffers = [
            stream_queue(shape=self.data_width, depth=self.buffer_beats, shallow=self.block_memories)
            for _ in range(self.n)
        ]
        w = self._send_data(m, turns, buffers)

        # Responses belong to the oldest burst.
        m.submodules.b = b = SkidBuffer(shape=data.StructLayout({"error": 1}), guarded=True)
        m.d.comb += [
            b.i.valid.eq(axi.bvalid),
            b.i.payload.error.eq(is_error(axi.bresp)),
            axi.bready.eq(b.i.ready),
            b.o.ready.eq(order.o.valid),
            order.o.ready.eq(b.o.valid),
        ]

        for k, (splitter, buffer) in enumerate(zip(splitters, buffers, strict=True)):
            m.submodules[f"splitter_{k}"] = splitter
            m.submodules[f"buffer_{k}"] = buffer
            m.submodules[f"done_{k}"] = done = stream_queue(
                shape=self.i[0].done.payload.shape(), depth=self.max_requests
            )
            m.d.comb += buffer.o.ready.eq(turns.o.valid & turns.o.payload.owner[k] & w.i.ready)
            client = Client(number=k, port=self.i[k], splitter=splitter, buffer=buffer, done=done)
            self._admit(m, client)
            self._offer_bursts(m, client, arbiter.i[k])
            answered = b.o.valid & order.o.valid & (order.o.payload.client == k)
            self._report(m, client, Answer(is_valid=answered, last=order.o.payload.last, error=b.o.payload.error))
        return m

    def _grant(self, m: Module, arbiter: StreamArbiter, started: StartedBursts) -> None:
        """Starts the burst that was granted: once there is room for its address, its turn and its answer."""
        axi, granted = self.m_axi, arbiter.o.payload
        aw, turns, order = started.addresses, started.turns, started.answers
        go = Signal()
        m.d.comb += [
            go.eq(aw.i.ready & turns.i.ready & order.i.ready),
            arbiter.o.ready.eq(go),
            aw.i.valid.eq(arbiter.o.valid & go),
            aw.i.payload.addr.eq(granted.burst.addr),
            aw.i.payload.len.eq(granted.burst.beats - 1),
            turns.i.valid.eq(arbiter.o.valid & go),
            turns.i.payload.burst.eq(granted.burst),
            turns.i.payload.client.eq(granted.client),
            turns.i.payload.last_beat.eq(granted.burst.beats - 1),
            turns.i.payload.single.eq(granted.burst.beats == 1),
            turns.i.payload.owner.eq(Cat(granted.client == k for k in range(self.n))),
            order.i.valid.eq(arbiter.o.valid & go),
            order.i.payload.client.eq(granted.client),
            order.i.payload.last.eq(granted.burst.last),
            axi.awvalid.eq(aw.o.valid),
            axi.awaddr.eq(aw.o.payload.addr),
            axi.awlen.eq(aw.o.payload.len),
            axi.awsize.eq((self.data_width // 8).bit_length() - 1),
            axi.awburst.eq(BURST_INCR),
            axi.awcache.eq(CACHE_NORMAL),
            aw.o.ready.eq(axi.awready),
        ]

    def _send_data(self, m: Module, turns: Queue, buffers: list[Queue]) -> SkidBuffer:
        """Sends the beats of one burst after the other, out of the buffers of their clients."""
        axi, flit_bytes = self.m_axi, self.data_width // 8
        w_beat = data.StructLayout({"data": self.data_width, "strb": flit_bytes, "last": 1})
        m.submodules.w = w = SkidBuffer(shape=w_beat)
        turn = turns.o.payload
        # That a beat is the last one is known before it comes: `left` more follow the current one, unless it is the
        # first one, of which the turn says so.
        left = Signal.like(turn.last_beat)
        first, at_last, w_last = Signal(init=1), Signal(), Signal()
        more = Mux(first, turn.last_beat, left)
        tail_strobes = Array(Const((1 << (tail or flit_bytes)) - 1, flit_bytes) for tail in range(flit_bytes))
        head_strobes = Array(Const((1 << flit_bytes) - (1 << head), flit_bytes) for head in range(flit_bytes))
        m.d.comb += [
            w_last.eq(Mux(first, turn.single, at_last)),
            w.i.valid.eq(turns.o.valid & Array(buffer.o.valid for buffer in buffers)[turn.client]),
            w.i.payload.data.eq(Array(buffer.o.payload for buffer in buffers)[turn.client]),
            w.i.payload.strb.eq(
                Mux(turn.burst.last & w_last, tail_strobes[turn.burst.tail], ~0)
                & Mux(first, head_strobes[turn.burst.head], ~0)
            ),
            w.i.payload.last.eq(w_last),
            turns.o.ready.eq(w.i.valid & w.i.ready & w_last),
            axi.wvalid.eq(w.o.valid),
            axi.wdata.eq(w.o.payload.data),
            axi.wstrb.eq(w.o.payload.strb),
            axi.wlast.eq(w.o.payload.last),
            w.o.ready.eq(axi.wready),
        ]
        with m.If(w.i.valid & w.i.ready):
            m.d.sync += [first.eq(w_last), left.eq(more - 1), at_last.eq(more == 1)]
        return w

    def _admit(self, m: Module, admitted: Client) -> None:
        """Lets in requests of a client for whose outcomes there is room."""
        client, splitter, done = admitted.port, admitted.splitter, admitted.done
        connect(m, done.o, flipped(client.done))
        open_requests = Signal(range(self.max_requests + 1), name=f"open_requests_{admitted.number}")
        may_open = open_requests != self.max_requests
        m.d.comb += [
            splitter.i.valid.eq(client.request.valid & may_open),
            splitter.i.payload.eq(client.request.payload),
            client.request.ready.eq(splitter.i.ready & may_open),
        ]
        m.d.sync += open_requests.eq(
            open_requests + (client.request.valid & client.request.ready) - (done.o.valid & done.o.ready)
        )

    def _offer_bursts(self, m: Module, offerer: Client, request: stream.Interface) -> None:
        """Offers the bursts of a client whose data are there: beats in the buffer that no burst was granted for.

        What a grant spends is known a cycle late: the arbiter grants nothing in the cycle after it.
        """
        k, client, splitter, buffer = offerer.number, offerer.port, offerer.splitter, offerer.buffer
        held = Signal(range(self.buffer_beats + 1), name=f"held_{k}")
        has_data = held >= splitter.o.payload.beats
        m.d.comb += [
            buffer.i.valid.eq(client.data.valid),
            buffer.i.payload.eq(client.data.payload.data),
            client.data.ready.eq(buffer.i.ready),
            request.valid.eq(splitter.o.valid & has_data),
            request.payload.burst.eq(splitter.o.payload),
            request.payload.client.eq(k),
            splitter.o.ready.eq(request.ready & has_data),
        ]
        spent = Signal.like(held, name=f"spent_{k}")
        grant = request.valid & request.ready
        m.d.sync += [
            spent.eq(Mux(grant, splitter.o.payload.beats, 0)),
            held.eq(held - spent + (buffer.i.valid & buffer.i.ready)),
        ]

    @staticmethod
    def _report(m: Module, client: Client, answer: Answer) -> None:
        """Reports the end of a request of a client: it failed if any of its bursts did."""
        failed, done = Signal(name=f"failed_{client.number}"), client.done
        outcome = failed | answer.error
        m.d.comb += [
            done.i.valid.eq(answer.is_valid & answer.last),
            done.i.payload.error.eq(outcome),
        ]
        with m.If(answer.is_valid):
            m.d.sync += failed.eq(~answer.last & outcome)
