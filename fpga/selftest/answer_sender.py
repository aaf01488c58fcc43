"""Sends answer frames as bytes."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.board import ANSWER_SYNC, MAX_WORDS
from fpga.selftest.crc import Crc16
from fpga.selftest.frame_executor import AnswerHeader


class AnswerSender(wiring.Component):
    """Turns the header of an answer, and words that it fetches, into a frame.

    Members
    -------
    i : ``In(stream.Signature(AnswerHeader))``
        Headers; taken when the whole frame has been handed over.
    read_index, read_word : ``Out(range(64))``, ``In(32)``
        A word, wanted one cycle later.
    o : ``Out(stream.Signature(8))``
        Bytes.
    """

    i: In(stream.Signature(AnswerHeader))
    read_index: Out(range(MAX_WORDS))
    read_word: In(32)
    o: Out(stream.Signature(8))

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        m.submodules.crc = crc = Crc16()
        header, index, place = self.i.payload, Signal(range(MAX_WORDS + 1)), Signal(2)
        sent = Signal()
        m.d.comb += [sent.eq(self.o.valid & self.o.ready), crc.byte.eq(self.o.payload), self.read_index.eq(index)]
        with m.FSM(name="answer_sender"):
            with m.State("SYNC"):
                m.d.comb += [self.o.valid.eq(self.i.valid), self.o.payload.eq(ANSWER_SYNC), crc.clear.eq(1)]
                m.d.sync += [index.eq(0), place.eq(0)]
                with m.If(sent):
                    m.next = "HEADER"
            with m.State("HEADER"):
                m.d.comb += [
                    self.o.valid.eq(1), crc.enable.eq(sent),
                    self.o.payload.eq(Mux(place == 0, header.status, Mux(place == 1, header.tag, header.count))),
                ]
                with m.If(sent):
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == 2):
                        m.d.sync += place.eq(0)
                        with m.If(header.count == 0):
                            m.next = "CRC"
                        with m.Else():
                            m.next = "FETCH"
            # The word that `index` names is there in the cycle after it was named.
            with m.State("FETCH"):
                m.next = "WORD"
            with m.State("WORD"):
                m.d.comb += [
                    self.o.valid.eq(1), crc.enable.eq(sent), self.o.payload.eq(self.read_word.word_select(place, 8)),
                ]
                with m.If(sent):
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == 3):
                        m.d.sync += index.eq(index + 1)
                        with m.If(index + 1 == header.count):
                            m.next = "CRC"
                        with m.Else():
                            m.next = "FETCH"
            with m.State("CRC"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(crc.value.word_select(place[0], 8))]
                with m.If(sent):
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == 1):
                        m.d.comb += self.i.ready.eq(1)
                        m.next = "SYNC"
        return m
