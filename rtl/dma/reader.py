"""Reads of host memory for several clients over one AXI4 bus."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.dma.axi4 import BURST_INCR, CACHE_NORMAL, Axi4Signature, check_burst, is_error
from rtl.dma.burst_splitter import BurstSplitter
from rtl.interface import ADDRESS_BITS, ReadSignature, check_address_bits
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.queue import stream_queue
from rtl.kit.skid import SkidBuffer

READ_CHANNELS = ("ar", "r")


class DmaReader(wiring.Component):
    """Cuts the clients' requests into bursts, requests them in turn, and returns the data.

    A burst is asked for only when the client's buffer has room for the longest one, so the bus is never held up by a
    slow client, and a client that takes nothing stops nobody but itself. Clients are served burst by burst in
    turn. All bursts bear identifier 0 and are therefore answered in order; up to `max_outstanding` are under way.

    Timing: everything driven on `m_axi` is a function of registers. An address stands there 3 cycles after its request,
    data come out 2 cycles after they arrived. One beat per cycle; bursts are asked for in every other cycle, so those
    of a single beat bring one in two.

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
    buffer_beats : int, optional
        Beats that each client's buffer holds, at least a burst; four bursts if not given. It bounds what one
        client can have under way.
    id_width : int
        Bits of the bus's identifiers.
    address_bits : int
        Bits of an address, 32 to 64; the others are 0 on the bus.
    block_memories : bool
        If true, beats wait in block RAM, however few.

    Members
    -------
    i : array of `n` ``In(ReadSignature(data_width))``
        Clients.
    m_axi : ``Out(Axi4Signature)``
        The bus; its write channels are idle.
    """

    def __init__(
        self, *, n: int, data_width: int, max_burst_beats: int, max_outstanding: int = 16,
        buffer_beats: int | None = None, id_width: int = 1, address_bits: int = ADDRESS_BITS,
        block_memories: bool = False,
    ):
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n!r}")
        if max_outstanding < 1:
            raise ValueError(f"max_outstanding must be at least 1, not {max_outstanding!r}")
        burst_beats = check_burst(data_width=data_width, max_burst_beats=max_burst_beats)
        if buffer_beats is None:
            buffer_beats = 4 * burst_beats
        if buffer_beats < burst_beats:
            raise ValueError(f"buffer_beats must be at least a burst ({burst_beats}), not {buffer_beats!r}")
        self.n = n
        self.data_width = data_width
        self.max_burst_beats = max_burst_beats
        self.max_outstanding = max_outstanding
        self.buffer_beats = buffer_beats
        self.address_bits = check_address_bits(address_bits)
        self.block_memories = block_memories
        super().__init__({
            "i": In(ReadSignature(data_width)).array(n),
            "m_axi": Out(Axi4Signature(data_width=data_width, id_width=id_width)),
        })

    def elaborate(self, platform):
        m = Module()
        axi = self.m_axi

        splitters = [
            BurstSplitter(
                data_width=self.data_width, max_burst_beats=self.max_burst_beats, address_bits=self.address_bits
            )
            for _ in range(self.n)
        ]
        granted_burst = data.StructLayout({"burst": splitters[0].burst, "client": range(self.n)})
        m.submodules.arbiter = arbiter = StreamArbiter(shape=granted_burst, n=self.n, full_rate=False)

        # Requests made and not answered, in order.
        expected = data.StructLayout({"client": range(self.n), "last": 1})
        m.submodules.order = order = stream_queue(shape=expected, depth=self.max_outstanding)

        # The bus shows what the arbiter holds, once there is room in the order; that stays until it is taken.
        granted = arbiter.o.payload
        m.d.comb += [
            axi.arvalid.eq(arbiter.o.valid & order.i.ready),
            axi.araddr.eq(granted.burst.addr),
            axi.arlen.eq(granted.burst.beats - 1),
            arbiter.o.ready.eq(axi.arready & order.i.ready),
            order.i.valid.eq(arbiter.o.valid & axi.arready),
            order.i.payload.client.eq(granted.client),
            order.i.payload.last.eq(granted.burst.last),
            axi.arsize.eq((self.data_width // 8).bit_length() - 1),
            axi.arburst.eq(BURST_INCR),
            axi.arcache.eq(CACHE_NORMAL),
        ]

        # Answers belong to the oldest burst; there is always room for them.
        answer = data.StructLayout({"data": self.data_width, "error": 1, "last": 1})
        m.submodules.r = r = SkidBuffer(shape=answer, guarded=True)
        m.d.comb += [
            r.i.valid.eq(axi.rvalid),
            r.i.payload.data.eq(axi.rdata),
            r.i.payload.error.eq(is_error(axi.rresp)),
            r.i.payload.last.eq(axi.rlast),
            axi.rready.eq(r.i.ready),
            r.o.ready.eq(order.o.valid),
            order.o.ready.eq(r.o.valid & r.o.payload.last),
        ]

        buffers = [
            stream_queue(
                shape=self.i[0].data.payload.shape(), depth=self.buffer_beats, guarded=False,
                shallow=self.block_memories,
            ) for _ in range(self.n)
        ]
        for k, (client, splitter) in enumerate(zip(self.i, splitters, strict=True)):
            m.submodules[f"splitter_{k}"] = splitter
            m.submodules[f"buffer_{k}"] = buffer = buffers[k]
            connect(m, flipped(client.request), splitter.i)
            connect(m, buffer.o, flipped(client.data))

            # Room is reserved when the burst is granted and comes back when the client takes a beat, both a cycle late:
            # the arbiter grants nothing in the cycle after a grant.
            room = Signal(range(self.buffer_beats + 1), init=self.buffer_beats, name=f"room_{k}")
            has_room = Signal(init=1, name=f"has_room_{k}")
            request = arbiter.i[k]
            m.d.comb += [
                request.valid.eq(splitter.o.valid & has_room),
                request.payload.burst.eq(splitter.o.payload),
                request.payload.client.eq(k),
                splitter.o.ready.eq(request.ready & has_room),
            ]
            reserved, returned = Signal.like(room, init=0, name=f"reserved_{k}"), Signal(name=f"returned_{k}")
            grant = request.valid & request.ready
            m.d.sync += [
                reserved.eq(Mux(grant, splitter.o.payload.beats, 0)), returned.eq(buffer.o.valid & buffer.o.ready),
                room.eq(room - reserved + returned), has_room.eq(room - reserved + returned >= splitter.burst_beats),
            ]

            # Errors of all beats of the request are shown on its last one.
            failed = Signal(name=f"failed_{k}")
            is_last = order.o.payload.last & r.o.payload.last
            m.d.comb += [
                buffer.i.valid.eq(r.o.valid & order.o.valid & (order.o.payload.client == k)),
                buffer.i.payload.data.eq(r.o.payload.data),
                buffer.i.payload.last.eq(is_last),
                buffer.i.payload.error.eq(is_last & (failed | r.o.payload.error)),
            ]
            with m.If(buffer.i.valid):
                m.d.sync += failed.eq(~is_last & (failed | r.o.payload.error))


        return m
