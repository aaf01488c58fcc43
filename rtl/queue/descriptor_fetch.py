"""Fetches descriptors from a ring in host memory."""

from amaranth import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.abi import Descriptor
from rtl.interface import ADDRESS_BITS, ReadSignature, check_address_bits
from rtl.queue.records import INDEX_BITS

FetchedDescriptor = data.StructLayout({"desc": Descriptor, "error": 1})


def fetch_command(address_bits: int = ADDRESS_BITS) -> data.StructLayout:
    """`count` descriptors, from `index` on, of the ring of ``1 << log2`` that begins at `base`."""
    return data.StructLayout({"base": address_bits, "log2": 4, "index": INDEX_BITS, "count": INDEX_BITS})


class DescriptorFetch(wiring.Component):
    """Reads `count` descriptors of a ring, from `index` on, one DMA request each.

    Requests run ahead of the data, so that the memory's latency is paid once a command. Each descriptor has a read
    of its own, so that an error of the memory concerns that one alone.

    Timing: a descriptor is valid one cycle after its last beat; the next command is taken when
    all descriptors of the one before have been requested.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    i : ``In(stream.Signature(fetch_command(address_bits)))``
        Commands; `count` at least 1.
    read : ``Out(ReadSignature(data_width))``
        DMA engine.
    o : ``Out(stream.Signature(FetchedDescriptor))``
        Descriptors in order; `desc` means nothing if `error`.
    """

    def __init__(self, *, data_width: int, address_bits: int = ADDRESS_BITS):
        if data_width not in (64, 128, 256, 512):
            raise ValueError(f"data_width must be 64, 128, 256 or 512, not {data_width!r}")
        self.data_width = data_width
        self.address_bits = check_address_bits(address_bits)
        super().__init__({
            "i": In(stream.Signature(fetch_command(address_bits))),
            "read": Out(ReadSignature(data_width)),
            "o": Out(stream.Signature(FetchedDescriptor)),
        })

    def elaborate(self, platform):
        m = Module()
        entry_log2 = (formats.DESCRIPTOR.bytes - 1).bit_length()

        # The place of the entry is computed a cycle before it is used.
        command = Signal(fetch_command(self.address_bits))
        request = self.read.request
        m.d.comb += request.payload.bytes.eq(formats.DESCRIPTOR.bytes)
        with m.FSM():
            with m.State("COMMAND"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += command.eq(self.i.payload)
                with m.If(self.i.valid):
                    m.next = "PLACE"
            with m.State("PLACE"):
                place = command.index & ((Const(1, 1) << command.log2) - 1)
                m.d.sync += [
                    request.payload.addr.eq((command.base + (place << entry_log2))[:self.address_bits]),
                    request.valid.eq(1),
                    command.index.eq(command.index + 1),
                    command.count.eq(command.count - 1),
                ]
                m.next = "REQUEST"
            with m.State("REQUEST"):
                with m.If(request.ready):
                    m.d.sync += request.valid.eq(0)
                    with m.If(command.count == 0):
                        m.next = "COMMAND"
                    with m.Else():
                        m.next = "PLACE"

        # Beats shift in from the top: after the last one the first stands lowest.
        shift = Signal(formats.DESCRIPTOR.width)
        beat = self.read.data
        m.d.comb += [
            self.o.payload.desc.as_value().eq(shift),
            beat.ready.eq(~self.o.valid),
        ]
        with m.If(beat.valid & beat.ready):
            m.d.sync += [
                shift[: -self.data_width].eq(shift[self.data_width :]),
                shift[-self.data_width :].eq(beat.payload.data),
                self.o.valid.eq(beat.payload.last),
                self.o.payload.error.eq(beat.payload.error),
            ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
