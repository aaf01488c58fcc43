"""Buffer of one virtual channel of an input port: packets in chained granules of one memory."""

from dataclasses import dataclass

from amaranth import C, Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.hdl import Assert
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.memory import BlockMemory
from rtl.kit.queue import Queue, stream_queue


class ReaderSignature(wiring.Signature):
    """One reader of the buffer, which reads a packet at a time.

    Members
    -------
    start, start_at
        The packet of this name is read from the next cycle on.
    available
        The next flit of the packet is there.
    last
        It is there, and it is the packet's last.
    read
        Read it; only while ``available``.
    free
        What is read will not be read again. The same for all flits of a packet that is read.
    data
        The flit.
    """

    def __init__(self, *, data_width: int, n_granules: int):
        super().__init__({
            "start": In(1), "start_at": In(range(n_granules)), "available": Out(1), "last": Out(1), "read": In(1),
            "free": In(1), "data": Out(data_width),
        })


@dataclass(frozen=True, kw_only=True)
class ReadPath:
    """Parts of one reader.

    Parameters
    ----------
    reader : interface
        Its port.
    store : BlockMemory
        Its copy of the flits.
    get_link : ReadPort
        Links of the granules. Asked for the granule of the next cycle, so the answer is this cycle's.
    back : Queue
        Granules that it has freed.
    """

    reader: wiring.PureInterface
    store: BlockMemory
    get_link: memory.ReadPort
    back: Queue


@dataclass(frozen=True, kw_only=True)
class OpenGranule:
    """The granule that is being written.

    Parameters
    ----------
    number, offset : Value
        Its number; offset in it of the next flit, in flits.
    """

    number: Value
    offset: Value


class ChannelStore(wiring.Component):
    """Keeps the flits of packets until the last copy of each has been read, in any order of packets.

    The memory is divided into granules of a few flits. A packet occupies a chain of them, and the number of its first
    one is its name. A granule goes back to the free list when its last flit has been read with ``free``; no flit is
    ever moved. One packet is written at a time, and each reader reads one; that may be the one that is being
    written (cut-through). Two readers never read the same packet.

    Timing: a flit written in one cycle can be read from the next one on. ``data`` is the flit of the ``read`` before.
    One flit in per cycle, and one out for each reader, which has a copy of the memory.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    granule_flits : int
        Flits of a granule; a power of two.
    n_granules : int
        Granules. The writer must see to it that two are free always.
    n_readers : int
        Readers.

    Members
    -------
    write, write_data, write_last : ``In``
        A flit comes, and whether it is the last of its packet.
    granule : ``Out(range(n_granules))``
        Name of the packet that begins with the next flit, if one begins.
    readers : array of n_readers ``Out(ReaderSignature)``
        Packets that are read.
    """

    def __init__(self, *, data_width: int, granule_flits: int, n_granules: int, n_readers: int = 1):
        if not isinstance(granule_flits, int) or granule_flits < 1 or granule_flits & (granule_flits - 1):
            raise ValueError(f"granule_flits must be a power of two, not {granule_flits!r}")
        if not isinstance(n_granules, int) or n_granules < 4:
            raise ValueError(f"n_granules must be an integer of at least 4, not {n_granules!r}")
        self.data_width = data_width
        self.granule_flits = granule_flits
        if not isinstance(n_readers, int) or n_readers < 1:
            raise ValueError(f"n_readers must be an integer of at least 1, not {n_readers!r}")
        self.n_granules = n_granules
        self.n_readers = n_readers
        reader = ReaderSignature(data_width=data_width, n_granules=n_granules)
        super().__init__({
            "write": In(1), "write_data": In(data_width), "write_last": In(1), "granule": Out(range(n_granules)),
            "readers": Out(reader).array(n_readers),
        })

    def elaborate(self, platform):
        m = Module()
        offset_bits = (self.granule_flits - 1).bit_length()
        granule = range(self.n_granules)
        # Fields written when a granule fills or its packet ends.
        link = data.StructLayout({"next": granule, "final": 1, "last_offset": max(1, offset_bits)})
        m.submodules.chain = chain = memory.Memory(shape=link, depth=self.n_granules, init=[])
        put_link = chain.write_port()

        # Free granules: those that were never used, then those that came back. Two are open for writing from the start.
        returned = [stream_queue(shape=granule, depth=self.n_granules) for _ in range(self.n_readers)]
        n_used = Signal(range(self.n_granules + 1), init=1)
        unused = Signal()
        offered = Signal(granule)
        there = Cat(back.o.valid for back in returned)
        m.d.comb += [unused.eq(n_used != self.n_granules), offered.eq(returned[-1].o.payload)]
        for back in reversed(returned[:-1]):
            with m.If(back.o.valid):
                m.d.comb += offered.eq(back.o.payload)
        with m.If(unused):
            m.d.comb += offered.eq(n_used)

        # Writing. An open granule is replaced when it is closed, so that its link can be written at once.
        target = Signal(granule)
        offset = Signal(offset_bits) if offset_bits else C(0, 0)
        full = (offset == self.granule_flits - 1) if offset_bits else C(1)
        close = Signal()
        m.d.comb += [
            self.granule.eq(target),
            close.eq(self.write & (full | self.write_last)),
            put_link.addr.eq(target),
            put_link.data.next.eq(offered),
            put_link.data.final.eq(self.write_last),
            put_link.data.last_offset.eq(offset),
            put_link.en.eq(close),
        ]
        for number, back in enumerate(returned):
            m.submodules[f"returned_{number}"] = back
            m.d.comb += back.o.ready.eq(close & ~unused & ~there[:number].any())
        if offset_bits:
            with m.If(self.write):
                m.d.sync += offset.eq(Mux(close, 0, offset + 1))
        with m.If(close):
            m.d.sync += target.eq(offered)
            with m.If(unused):
                m.d.sync += n_used.eq(n_used + 1)
            m.d.sync += Assert(
                ResetSignal(allow_reset_less=True) | unused | there.any(),
                "switch: no granule is free though credits were kept\n",
            )

        for number, (reader, back) in enumerate(zip(self.readers, returned, strict=True)):
            m.submodules[f"store_{number}"] = store = BlockMemory(
                shape=self.data_width, depth=self.n_granules * self.granule_flits, apart=True
            )
            m.d.comb += [
                store.write_address.eq(Cat(offset, target)),
                store.write_data.eq(self.write_data),
                store.write_enable.eq(self.write),
            ]
            get_link = chain.read_port(transparent_for=(put_link,))
            path = ReadPath(reader=reader, store=store, get_link=get_link, back=back)
            self._read(m, path, OpenGranule(number=target, offset=offset))
        return m

    def _read(self, m: Module, path: ReadPath, open_granule: OpenGranule) -> None:
        """Reads the packets of one reader."""
        reader, store, get_link, back = path.reader, path.store, path.get_link, path.back
        offset_bits = (self.granule_flits - 1).bit_length()
        granule = range(self.n_granules)
        at, next_at = Signal(granule), Signal(granule)
        step = Signal(offset_bits) if offset_bits else C(0, 0)
        leaving = Signal()
        open_here = Signal()
        written = (step < open_granule.offset) if offset_bits else C(0)
        at_end = (step == self.granule_flits - 1) if offset_bits else C(1)
        at_last = (step == get_link.data.last_offset) if offset_bits else C(1)
        m.d.comb += [
            open_here.eq(at == open_granule.number),
            reader.available.eq(~open_here | written),
            reader.last.eq(~open_here & get_link.data.final & at_last),
            leaving.eq(reader.read & ~open_here & (at_end | reader.last)),
            next_at.eq(Mux(reader.start, reader.start_at, Mux(leaving, get_link.data.next, at))),
            get_link.addr.eq(next_at),
            store.read_address.eq(Cat(step, at)),
            store.read_enable.eq(reader.read),
            reader.data.eq(store.read_data),
            back.i.valid.eq(leaving & reader.free),
            back.i.payload.eq(at),
        ]
        m.d.sync += at.eq(next_at)
        if offset_bits:
            with m.If(reader.start):
                m.d.sync += step.eq(0)
            with m.Elif(reader.read):
                m.d.sync += step.eq(step + 1)
