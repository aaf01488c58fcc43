"""Takes request frames from bytes."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.board import ADDRESS_BITS, MAX_WORDS, REQUEST_SYNC, Op
from fpga.selftest.crc import Crc16

Request = data.StructLayout({"op": 8, "tag": 8, "target": 8, "count": 8, "addr": ADDRESS_BITS, "bad": 1})
"""Header of a request; `bad` if its CRC does not match."""

_read = Op.READ.value
_header = ("op", "tag", "target", "count")


class FrameReceiver(wiring.Component):
    """Collects request frames; see ``firmware_models.abi.board``.

    The words of a frame are written out as they come, numbered from 0; the frame counts only once ``o`` offers its
    header.
    Bytes that come while a header is offered are dropped. A frame whose next byte does not come within `timeout`
    cycles, or that has more words than a frame may have, is dropped.

    Parameters
    ----------
    timeout : int
        Most cycles between two bytes of a frame.

    Members
    -------
    i : ``In(stream.Signature(8))``
        Bytes; always taken.
    o : ``Out(stream.Signature(Request))``
        The header of each whole frame.
    word_valid, word_index, word : ``Out(1)``, ``Out(range(64))``, ``Out(32)``
        A word of the frame.
    bad : ``Out(1)``
        In a cycle in which a frame is dropped, or offered with `bad`.
    """

    def __init__(self, *, timeout: int):
        if timeout < 1:
            raise ValueError(f"timeout must be at least 1, not {timeout!r}")
        self.timeout = timeout
        super().__init__({
            "i": In(stream.Signature(8)), "o": Out(stream.Signature(Request)),
            "word_valid": Out(1), "word_index": Out(range(MAX_WORDS)), "word": Out(32), "bad": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        m.submodules.crc = crc = Crc16()
        header = Signal(Request)
        place, words, low = Signal(range(8)), Signal(8), Signal(24)
        patience = Signal(range(self.timeout + 1))
        came, byte = Signal(), Signal(8)
        m.d.comb += [
            self.i.ready.eq(1), came.eq(self.i.valid), byte.eq(self.i.payload), self.o.payload.eq(header),
            crc.byte.eq(byte), self.word.eq(Cat(low, byte)), self.word_index.eq(words),
        ]
        with m.If(came):
            m.d.sync += patience.eq(self.timeout)
        with m.Elif(patience != 0):
            m.d.sync += patience.eq(patience - 1)
        late = patience == 0

        with m.FSM(name="frame_receiver"):
            with m.State("IDLE"):
                m.d.comb += crc.clear.eq(1)
                m.d.sync += [place.eq(0), words.eq(0), header.bad.eq(0)]
                with m.If(came & (byte == REQUEST_SYNC)):
                    m.next = "HEADER"
            with m.State("HEADER"):
                with m.If(came):
                    m.d.comb += crc.enable.eq(1)
                    m.d.sync += place.eq(place + 1)
                    with m.Switch(place):
                        for index, name in enumerate(_header):
                            with m.Case(index):
                                m.d.sync += header[name].eq(byte)
                        with m.Default():
                            m.d.sync += header.addr.eq(Cat(header.addr[8:], byte))
                    with m.If(place == 6):
                        m.d.sync += place.eq(0)
                        with m.If(header.count > MAX_WORDS):
                            m.d.comb += self.bad.eq(1)
                            m.next = "IDLE"
                        with m.Elif((header.op == _read) | (header.count == 0)):
                            m.next = "CRC"
                        with m.Else():
                            m.next = "WORDS"
                with m.Elif(late):
                    m.d.comb += self.bad.eq(1)
                    m.next = "IDLE"
            with m.State("WORDS"):
                with m.If(came):
                    m.d.comb += crc.enable.eq(1)
                    m.d.sync += [place.eq(place + 1), low.eq(Cat(low[8:], byte))]
                    with m.If(place == 3):
                        m.d.comb += self.word_valid.eq(1)
                        m.d.sync += [place.eq(0), words.eq(words + 1)]
                        with m.If(words + 1 == header.count):
                            m.next = "CRC"
                with m.Elif(late):
                    m.d.comb += self.bad.eq(1)
                    m.next = "IDLE"
            with m.State("CRC"):
                with m.If(came):
                    differs = byte != Mux(place == 0, crc.value[:8], crc.value[8:])
                    m.d.sync += [place.eq(place + 1), header.bad.eq(header.bad | differs)]
                    with m.If(place == 1):
                        m.d.comb += self.bad.eq(header.bad | differs)
                        m.next = "OFFER"
                with m.Elif(late):
                    m.d.comb += self.bad.eq(1)
                    m.next = "IDLE"
            with m.State("OFFER"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m
