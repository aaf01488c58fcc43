"""Fetches descriptors from a ring in host memory."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.abi import DescriptorControl
from rtl.interface import ADDRESS_BITS, ReadSignature, check_address_bits, inline_layout, inline_words
from rtl.queue.records import INDEX_BITS

_NUMBER_BYTES = 32
"""Control words: all but addresses and tag."""

FetchedDescriptor = data.StructLayout({"desc": DescriptorControl, "error": 1})


def fetch_command(address_bits: int = ADDRESS_BITS) -> data.StructLayout:
    """`count` descriptors, from `index` on, of the ring that begins at `base`, whose size leaves `mask` of an index."""
    return data.StructLayout({"base": address_bits, "mask": INDEX_BITS, "index": INDEX_BITS, "count": INDEX_BITS})


class DescriptorFetch(wiring.Component):
    """Reads `count` descriptors of a ring, from `index` on, one DMA request each.

    Requests run ahead of the data, so that the memory's latency is paid once a command. Each descriptor has a read
    of its own, so that an error of the memory concerns that one alone.

    A descriptor's fields (all but its payload) are shown while the payload still comes in, so that they can be looked
    at meanwhile. They are unverified: `error` comes with the whole descriptor. The payload, which most descriptors do
    not use, is no part of what is shown: it waits in a memory, and follows the descriptor.

    Timing: a request is made in the cycle after its command, the others of the command follow one a cycle. A descriptor
    is valid one cycle after its last beat, its fields are one cycle after their last one. Its payload follows as
    :func:`rtl.interface.inline_layout` says, while the next one's fields may come already. The next command is taken
    when all descriptors of the one before have been requested.

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
    enable : ``In(1)``
        What comes is taken. Between two descriptors it may be low for as long as one likes.
    read : ``Out(ReadSignature(data_width))``
        DMA engine.
    o : ``Out(stream.Signature(FetchedDescriptor))``
        Descriptors in order; `desc` means nothing if `error`. Not `ready` unless `valid`: that comes late in a cycle.
    inline_data : ``Out(inline_layout(data_width))``
        Payload of the descriptor that was taken last.
    words_read : ``Out(1)``
        The last beat comes, and there was no error: in the next cycle the descriptor is valid.
    numbers, fields : ``Out(1)``
        The control words of ``o.payload.desc`` have come; all of it but `payload` has. Up until it is taken.
    """

    def __init__(self, *, data_width: int, address_bits: int = ADDRESS_BITS):
        if data_width not in (64, 128, 256, 512):
            raise ValueError(f"data_width must be 64, 128, 256 or 512, not {data_width!r}")
        self.data_width = data_width
        self.address_bits = check_address_bits(address_bits)
        super().__init__({
            "i": In(stream.Signature(fetch_command(address_bits))),
            "enable": In(1),
            "read": Out(ReadSignature(data_width)),
            "o": Out(stream.Signature(FetchedDescriptor)),
            "inline_data": Out(inline_layout(data_width)),
            "words_read": Out(1),
            "numbers": Out(1),
            "fields": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        entry_log2 = (formats.DESCRIPTOR.bytes - 1).bit_length()

        # The index of the next entry is computed while the one before is asked for. Commands are known late in a cycle:
        # while there is none, what stands at the input is taken over all the same, and its `count` as it is.
        command, following = Signal(fetch_command(self.address_bits)), Signal(fetch_command(self.address_bits))
        request, coming = self.read.request, self.i.payload
        ring_index = Mux(request.valid, command.index & command.mask, coming.index & coming.mask)
        more = Signal()
        m.d.comb += [
            request.payload.bytes.eq(formats.DESCRIPTOR.bytes),
            self.i.ready.eq(~request.valid),
            following.eq(Mux(request.valid, command, coming)),
        ]
        with m.If(~request.valid | request.ready):
            m.d.sync += [
                request.valid.eq(Mux(request.valid, more, self.i.valid)),
                request.payload.addr.eq((following.base + (ring_index << entry_log2))[:self.address_bits]),
                command.eq(following), command.index.eq(following.index + 1),
                command.count.eq(Mux(request.valid, command.count - 1, coming.count)),
                more.eq(Mux(request.valid, command.count != 2, coming.count != 1)),
            ]

        # Each beat goes to its own register, so that the fields stand still once they have come. The register of the
        # beat that is expected follows what is offered, there or not: only what counts it waits for that.
        # The payload is the second half of a descriptor, and goes to a memory.
        n_words = inline_words(self.data_width)
        words = Signal(data.ArrayLayout(self.data_width, n_words), reset_less=True)
        index, expected = Signal(range(2 * n_words)), Signal(2 * n_words, init=1)
        beat = self.read.data
        m.d.comb += [
            self.o.payload.desc.as_value().eq(words),
            beat.ready.eq(~self.o.valid & self.enable),
            self.words_read.eq(beat.valid & beat.ready & beat.payload.last & ~beat.payload.error),
        ]
        for k, word in enumerate(words):
            with m.If(beat.ready & expected[k]):
                m.d.sync += word.eq(beat.payload.data)
        with m.If(beat.valid & beat.ready):
            m.d.sync += [
                index.eq(index + 1), expected.eq(expected.rotate_left(1)),
                self.o.valid.eq(beat.payload.last),
                self.o.payload.error.eq(beat.payload.error),
            ]
            for mark, count in ((self.numbers, -(-8 * _NUMBER_BYTES // self.data_width)), (self.fields, n_words)):
                with m.If(index == count - 1):
                    m.d.sync += mark.eq(1)
        with m.If(self.o.ready):
            m.d.sync += [self.o.valid.eq(0), self.numbers.eq(0), self.fields.eq(0)]
        self._send_on(m, n_words, put=beat.valid & beat.ready & index[-1], index=index[:-1])
        return m

    def _send_on(self, m: Module, n_words: int, *, put: Value, index: Value) -> None:
        """Keeps the payload, and sends it behind the descriptor that is taken: a word has gone long before the same one
        of the next descriptor comes, since that one's fields come first.
        """
        m.submodules.payload = payload = memory.Memory(shape=self.data_width, depth=n_words, init=[])
        write, read = payload.write_port(), payload.read_port(domain="comb")
        sends, at = Signal(), Signal(range(n_words))
        m.d.comb += [
            write.en.eq(put), write.addr.eq(index), write.data.eq(self.read.data.payload.data), read.addr.eq(at),
        ]
        m.d.sync += self.inline_data.valid.eq(sends)
        with m.If(sends):
            m.d.sync += [self.inline_data.index.eq(at), self.inline_data.data.eq(read.data), at.eq(at + 1)]
        m.d.sync += sends.eq(self.o.ready | (sends & (at != n_words - 1)))
