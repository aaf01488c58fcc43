"""Brings local operands on chip before their descriptors need them."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from rtl.cou.byte_memory import ByteMemory
from rtl.cou.context_signatures import WordsSignature
from rtl.cou.operand_signature import OperandSignature
from rtl.cou.piece_walk import PieceWalk
from rtl.cou.shapes import CouShapes
from rtl.interface import ReadSignature
from rtl.kit.alternating_queue import AlternatingQueue
from rtl.kit.queue import stream_queue

N_READERS = 2
"""Passes that combine, and passes that only send, each read operands."""


class OperandLoader(wiring.Component):
    """Fills the operand memory of a context, from host memory or from the payload of a descriptor.

    The pieces of a slice, wherever they begin, are laid one after the other, as in a packet. Reads of several contexts
    are outstanding at once, so that the latency of the host is paid once and not once a pulse. They end in the order
    in which they were asked for. The next load begins a cycle after the last beat of the one before.

    Parameters
    ----------
    config : Config
        ``datapath``, ``cou``, and ``nic.read_ahead_beats``.

    Members
    -------
    i : ``In(stream.Signature(load))``
        What to load, at least a byte; `addr` is the address of its first piece in host memory or in the payload.
    o : ``Out(stream.Signature(loaded))``
        A context's operand is complete, as far as the host memory gave it.
    o_fault : ``Out(stream.Signature(fault))``
        The host memory refused some of an operand: its address. Comes before the report that the operand is complete.
    read : ``Out(ReadSignature(data_width))``
        Host memory.
    idle : ``Out(1)``
        Nothing is being loaded: what comes with a descriptor is laid down at once.
    filling : ``Out(n_contexts)``
        Contexts whose operand is being loaded `beside`: it cannot be read yet.
    words : ``Out(WordsSignature)``
        Inline data in the sequence store.
    operands : array of :data:`N_READERS` ``In(OperandSignature)``
        Read ports of the operand memory: beat in context, context.
    """

    #: Loads whose data are asked for; more wait.
    UNDER_WAY = 16
    #: With more contexts than these, loads that wait take turns.
    IN_ORDER = 4
    #: Beats that are requested before another load, in addition to those that arrive while the host memory answers; and
    #: the least sum of both. Beats already requested arrive first, even if another load is more urgent by then, so the
    #: sum is kept small.
    AHEAD, LEAST_AHEAD = 32, 64

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        self.beat_bits = max(1, (shapes.beats_per_context - 1).bit_length())
        width = config.datapath.data_width
        super().__init__({
            "i": In(stream.Signature(shapes.load)),
            "o": Out(stream.Signature(shapes.loaded)), "o_fault": Out(stream.Signature(shapes.fault)),
            "idle": Out(1), "filling": Out(config.cou.n_contexts),
            "read": Out(ReadSignature(width)),
            "words": Out(WordsSignature(shapes)),
            "operands": In(
                OperandSignature(address_bits=self.beat_bits + shapes.context, data_width=width)
            ).array(N_READERS),
        })

    def elaborate(self, platform):
        m = Module()
        config, shapes = self.config, self.shapes
        n = config.cou.n_contexts

        # Both sides get every load: one asks for the pieces, the other one lays down what comes.
        depth = min(n, self.UNDER_WAY)
        m.submodules.asking = asking = stream_queue(shape=shapes.load, depth=depth)
        m.submodules.waiting = waiting = stream_queue(shape=shapes.load, depth=depth)
        load, takes_turns = self.i, n > self.IN_ORDER
        may_ask = Signal()
        room = waiting.i.ready & asking.i.ready & may_ask
        if takes_turns:
            load = self._take_turns(m, room=room)
        m.d.comb += [
            asking.i.payload.eq(load.payload), waiting.i.payload.eq(load.payload), load.ready.eq(room),
            waiting.i.valid.eq(load.valid & room),
            asking.i.valid.eq(load.valid & room & ~load.payload.from_payload),
        ]
        self._ask(m, asking.o)
        writes, written, size = self._lay_down(m, waiting.o)
        beat_taken = writes & ~waiting.o.payload.from_payload
        # One load at a time is between those that wait for their turn and those that are asked for.
        m.d.comb += may_ask.eq(1)
        if takes_turns:
            few = self._few_outstanding(m, beat_taken=beat_taken, size=size)
            m.d.comb += may_ask.eq(few & ~asking.o.valid)
        self._keep_back(m, written, waiting.o.payload)
        m.d.comb += self.idle.eq(~waiting.o.valid)
        return m

    def _take_turns(self, m: Module, *, room):
        """Loads beyond those under way wait, and descriptors at different positions take turns: else the second
        descriptor of one pulse would wait for the first ones of all others.

        None is chosen before it can be asked for: until then one that is in more haste may come.

        Gives the stream of loads.
        """
        m.submodules.turns = turns = AlternatingQueue(
            shape=self.shapes.load, depth=self.config.cou.n_contexts, key=lambda load: load.position, holds=True,
        )
        load = stream.Signature(self.shapes.load).create()
        past = turns.empty & room
        m.d.comb += [
            turns.i.payload.eq(self.i.payload), turns.i.valid.eq(self.i.valid & ~past),
            turns.hold.eq(~room | turns.o.valid),
            self.i.ready.eq(past | turns.i.ready),
            load.valid.eq(Mux(turns.empty, self.i.valid, turns.o.valid)),
            load.payload.eq(Mux(turns.empty, self.i.payload, turns.o.payload)),
            turns.o.ready.eq(load.ready & ~turns.empty),
        ]
        return load

    def _few_outstanding(self, m: Module, *, beat_taken, size):
        """Less is asked for and has not come than comes while the host memory answers, and :attr:`AHEAD` beats more.

        How long it takes to answer is measured whenever a request finds nothing outstanding. `beat_taken`: `size` bytes
        that were asked for.

        Gives that.
        """
        datapath, request = self.config.datapath, self.read.request
        most = max(self.LEAST_AHEAD, self.config.nic.read_ahead_beats)
        lane_bits = (datapath.flit_bytes - 1).bit_length()
        outstanding, few = Signal(range(most * datapath.flit_bytes + datapath.mtu + 1)), Signal(init=1)
        asks = request.valid & request.ready
        requested = Mux(asks, request.payload.bytes[: self.shapes.bytes], 0)
        beats = Signal(range(most + 1), init=self.LEAST_AHEAD)
        m.d.sync += [
            outstanding.eq(outstanding + requested - Mux(beat_taken, size, 0)),
            few.eq(outstanding < beats << lane_bits),
        ]
        # The first bytes to come after nothing was outstanding are those that were asked for then.
        nothing, timing, waited, ahead = Signal(init=1), Signal(), Signal(range(most)), Signal(range(most + self.AHEAD))
        m.d.sync += nothing.eq(outstanding == 0)
        with m.If(timing):
            m.d.sync += [waited.eq(waited + (waited != most - 1)), timing.eq(~beat_taken)]
            with m.If(beat_taken):
                m.d.sync += ahead.eq(waited + self.AHEAD)
        with m.Elif(nothing & asks):
            m.d.sync += [timing.eq(1), waited.eq(0)]
        m.d.sync += beats.eq(Mux(ahead < self.LEAST_AHEAD, self.LEAST_AHEAD, Mux(ahead > most, most, ahead)))
        return few

    def _ask(self, m: Module, load):
        """Requests, piece by piece."""
        m.submodules.requested = requested = PieceWalk(shapes=self.shapes)
        request = self.read.request
        # A cycle between the last request of a load and the next load keeps the path to the queue short.
        all_requested = Signal()
        m.d.comb += [
            requested.pieces.eq(load.payload.pieces),
            request.valid.eq(load.valid & ~all_requested),
            request.payload.addr.eq((load.payload.addr + requested.offset)[: self.shapes.address]),
            request.payload.bytes.eq(requested.size),
            requested.advance.eq(request.valid & request.ready), load.ready.eq(all_requested),
        ]
        m.d.sync += all_requested.eq(requested.advance & requested.last)

    def _keep(self, m: Module, put, writes) -> None:
        """The memory, a copy of it for each that reads. What is written reaches it some cycles later: a load is
        reported first, and read later still."""
        datapath = self.config.datapath
        lane_bits = (datapath.flit_bytes - 1).bit_length()
        for k, port in enumerate(self.operands):
            m.submodules[f"operands_{k}"] = operands = ByteMemory(
                data_width=datapath.data_width, n_bytes=1 << len(put.address), shallow=datapath.block_memories,
            )
            m.d.comb += [
                operands.read_address.eq(Cat(Const(0, lane_bits), port.address)), operands.read_enable.eq(port.enable),
                operands.read_advance.eq(port.advance), port.data.eq(operands.read_data),
                operands.write_enable.eq(writes), operands.write_address.eq(put.address),
                operands.write_first.eq(put.first), operands.write_count.eq(put.count),
                operands.write_data.eq(put.data),
            ]

    def _lay_down(self, m: Module, load):
        """Data: one context after the other. `to_byte` is the next byte in the operand memory, `at` that in the flits
        that bring it."""
        config, shapes = self.config, self.shapes
        width, flit_bytes = config.datapath.data_width, config.datapath.flit_bytes
        lane_bits = (flit_bytes - 1).bit_length()
        byte_bits = lane_bits + self.beat_bits
        current, incoming = load.payload, self.read.data
        m.submodules.walk = walk = PieceWalk(shapes=shapes)
        to_byte, at, left = Signal(byte_bits), Signal(6), Signal(shapes.bytes)
        # `here` bytes of the beat that comes, from `at` on, and whether the piece `ends` with them, or the load does
        # (`final`), are found out with the beat before. The next piece begins at `next_at`, and is `whole` or not.
        here, ends, final, last, writes = Signal(lane_bits + 1), Signal(), Signal(), Signal(), Signal()
        next_at, whole = Signal.like(at), Signal()

        def finds(room, n_bytes, is_last):
            """There is room for so many bytes of `n_bytes`, of the last piece or not, in the next beat."""
            fits = n_bytes <= room
            return [
                left.eq(n_bytes), ends.eq(fits), final.eq(fits & is_last), last.eq(is_last),
                here.eq(Mux(fits, n_bytes, room)),
            ]

        # Inline data come a cycle after their address, so that is the address of the next beat.
        then_at = Signal.like(at)
        m.d.comb += [
            walk.pieces.eq(current.pieces), then_at.eq(at), self.words.address.index.eq(then_at[lane_bits:]),
            self.words.address.job.eq(current.job), self.words.address.position.eq(current.position),
        ]
        m.d.comb += self.words.taken.eq(writes & current.from_payload)
        m.d.sync += at.eq(then_at)

        put = Signal(data.StructLayout({
            "address": byte_bits + shapes.context, "first": lane_bits, "count": lane_bits + 1, "data": width,
        }))
        m.d.comb += [
            put.address.eq(Cat(to_byte, current.context)), put.first.eq(at[:lane_bits]), put.count.eq(here),
            put.data.eq(Mux(current.from_payload, self.words.word, incoming.payload.data)),
        ]
        self._keep(m, put, writes)

        # A finished load waits for its report, beside the next load.
        loaded, faulty = Signal(shapes.loaded), Signal()
        fault = Signal(shapes.fault)
        telling, failed = Signal(), Signal()
        m.d.comb += [
            self.o_fault.valid.eq(telling & faulty), self.o_fault.payload.eq(fault),
            self.o.valid.eq(telling & ~faulty), self.o.payload.eq(loaded),
        ]
        with m.If(self.o_fault.valid & self.o_fault.ready):
            m.d.sync += faulty.eq(0)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += telling.eq(0)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += then_at.eq(current.addr)
                m.d.sync += [
                    to_byte.eq(0), failed.eq(0), next_at.eq(current.addr + current.pieces.stride),
                    whole.eq(current.pieces.count > 1),
                ]
                first_bytes = Mux(current.pieces.count != 0, current.pieces.bytes, current.pieces.last_bytes)
                m.d.sync += finds(flit_bytes - current.addr[:lane_bits], first_bytes, walk.last)
                with m.If(load.valid):
                    m.next = "MOVE"
                    with m.If(current.from_payload):
                        m.next = "FETCH"
            with m.State("FETCH"):
                # The first word comes out of its memory.
                m.next = "MOVE"
            with m.State("MOVE"):
                # The load before has been reported before this one ends.
                may_end = ~(telling & final)
                m.d.comb += incoming.ready.eq(~current.from_payload & may_end)
                with m.If((current.from_payload | incoming.valid) & may_end):
                    m.d.comb += [writes.eq(1), then_at.eq(at + here)]
                    m.d.sync += [to_byte.eq(to_byte + here), *finds(flit_bytes, left - here, last)]
                    refused = ~current.from_payload & incoming.payload.last & incoming.payload.error
                    m.d.sync += failed.eq(failed | refused)
                    with m.If(ends):
                        m.d.comb += [walk.advance.eq(1), then_at.eq(next_at)]
                        m.d.sync += [
                            next_at.eq(next_at + current.pieces.stride),
                            whole.eq(walk.whole_then),
                            *finds(
                                flit_bytes - next_at[:lane_bits],
                                Mux(whole, current.pieces.bytes, current.pieces.last_bytes), walk.next_last,
                            ),
                        ]
                        with m.If(final):
                            m.d.comb += load.ready.eq(1)
                            m.d.sync += [
                                telling.eq(~current.beside), loaded.context.eq(current.context),
                                faulty.eq(failed | refused), fault.job.eq(current.job),
                                fault.status.eq(Status.MEMORY_ERROR), fault.detail.eq(current.addr),
                            ]
                            m.next = "IDLE"
        return writes, load.valid & load.ready, here

    def _keep_back(self, m: Module, written, load):
        """An operand loaded beside its pass can be read when its last beat is in the memory, in the third cycle."""
        ended, context = Signal(2), Signal.like(load.context)
        behind = Signal.like(context)
        m.d.sync += [
            ended.eq(Cat(written & load.beside, ended[0])), context.eq(load.context), behind.eq(context),
        ]
        for c in range(self.config.cou.n_contexts):
            begins = self.i.valid & self.i.ready & self.i.payload.beside & (self.i.payload.context == c)
            with m.If(begins):
                m.d.sync += self.filling[c].eq(1)
            with m.Elif(ended[1] & (behind == c)):
                m.d.sync += self.filling[c].eq(0)
