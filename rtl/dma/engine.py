"""Reader and writer behind one bus."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.dma.axi4 import Axi4Signature
from rtl.dma.reader import READ_CHANNELS, DmaReader
from rtl.dma.writer import WRITE_CHANNELS, DmaWriter
from rtl.interface import ADDRESS_BITS, ReadSignature, WriteSignature


class DmaEngine(wiring.Component):
    """All reads and writes of host memory. The two directions are independent.

    A client that reads its own writes waits for `done` before it reads. See :class:`rtl.dma.reader.DmaReader` and
    :class:`rtl.dma.writer.DmaWriter` for timing.

    Parameters
    ----------
    n_readers, n_writers : int
        Clients of each direction, at least 1.
    data_width : int
        Bits of a flit and of the bus.
    max_burst_beats : int
        Longest burst: a power of two from 1 to 256.
    id_width : int
        Bits of the bus's identifiers; all are 0.
    address_bits : int
        Bits of an address, 32 to 64; the others are 0 on the bus.
    block_memories : bool
        If true, beats wait in block RAM, however few.
    max_outstanding_reads : int
        Read bursts under way, at least 1.
    read_buffer_beats : int, optional
        Beats that a client can have asked for and not taken; four bursts if not given.

    Members
    -------
    i_read : array of `n_readers` ``In(ReadSignature(data_width))``
        Clients that read.
    i_write : array of `n_writers` ``In(WriteSignature(data_width))``
        Clients that write.
    m_axi : ``Out(Axi4Signature)``
        The bus. Everything driven on it is a function of registers.
    """

    def __init__(
        self, *, n_readers: int, n_writers: int, data_width: int, max_burst_beats: int, id_width: int = 1,
        address_bits: int = ADDRESS_BITS, block_memories: bool = False, max_outstanding_reads: int = 16,
        read_buffer_beats: int | None = None,
    ):
        common = {
            "data_width": data_width, "max_burst_beats": max_burst_beats, "id_width": id_width,
            "address_bits": address_bits, "block_memories": block_memories,
        }
        self.reader = DmaReader(
            n=n_readers, max_outstanding=max_outstanding_reads, buffer_beats=read_buffer_beats, **common,
        )
        self.writer = DmaWriter(n=n_writers, **common)
        super().__init__({
            "i_read": In(ReadSignature(data_width)).array(n_readers),
            "i_write": In(WriteSignature(data_width)).array(n_writers),
            "m_axi": Out(Axi4Signature(data_width=data_width, id_width=id_width)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = self.reader
        m.submodules.writer = writer = self.writer

        for outer, inner in zip(self.i_read, reader.i, strict=True):
            connect(m, flipped(outer), inner)
        for outer, inner in zip(self.i_write, writer.i, strict=True):
            connect(m, flipped(outer), inner)

        # Each part has the channels of its direction.
        for part, channels in ((reader, READ_CHANNELS), (writer, WRITE_CHANNELS)):
            for name, member in self.m_axi.signature.members.items():
                if not name.startswith(channels):
                    continue
                if member.flow is Out:
                    m.d.comb += getattr(self.m_axi, name).eq(getattr(part.m_axi, name))
                else:
                    m.d.comb += getattr(part.m_axi, name).eq(getattr(self.m_axi, name))

        return m
