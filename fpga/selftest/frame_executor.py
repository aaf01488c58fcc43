"""Carries out request frames."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.board import ADDRESS_BITS, MAX_WORDS, FrameStatus, Op
from fpga.selftest.access import AccessSignature
from fpga.selftest.frame_receiver import Request

AnswerHeader = data.StructLayout({"status": 8, "tag": 8, "count": 8})
"""Header of an answer."""


class FrameExecutor(wiring.Component):
    """Makes the accesses that a request asks for, one after the other, and offers the header of the answer.

    It keeps the words: those of a request come in beside it, those of the answer can be read while its header is
    offered.

    Members
    -------
    i : ``In(stream.Signature(Request))``
        Requests; taken together with their answer.
    word_valid, word_index, word : ``In(1)``, ``In(range(64))``, ``In(32)``
        Words of the request, before it is offered.
    access : ``Out(AccessSignature())``
        The accesses.
    o : ``Out(stream.Signature(AnswerHeader))``
        The answer.
    read_index, read_word : ``In(range(64))``, ``Out(32)``
        A word of the answer, one cycle later.
    started : ``Out(1)``
        In the cycle in which a request of op LIST makes its first access.
    """

    i: In(stream.Signature(Request))
    word_valid: In(1)
    word_index: In(range(MAX_WORDS))
    word: In(32)
    access: Out(AccessSignature())
    o: Out(stream.Signature(AnswerHeader))
    read_index: In(range(MAX_WORDS))
    read_word: Out(32)
    started: Out(1)

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        m.submodules.words = words = memory.Memory(shape=32, depth=MAX_WORDS, init=[])
        write, read = words.write_port(), words.read_port()
        request, access, answer = self.i.payload, self.access.access, self.access.answer
        index, status = Signal(range(MAX_WORDS + 1)), Signal(FrameStatus)
        target, addr, first = Signal(8), Signal(ADDRESS_BITS), Signal()
        is_read, is_list = request.op == Op.READ.value, request.op == Op.LIST.value
        known = is_read | is_list | (request.op == Op.WRITE.value)
        offering = Signal()

        # The memory is written by the receiver while nothing is carried out, and by reads.
        m.d.comb += [
            write.en.eq(self.word_valid), write.addr.eq(self.word_index), write.data.eq(self.word),
            read.addr.eq(Mux(offering, self.read_index, index)), self.read_word.eq(read.data),
            access.payload.target.eq(target), access.payload.write.eq(~is_read), access.payload.addr.eq(addr),
            access.payload.data.eq(read.data),
            self.o.payload.status.eq(status), self.o.payload.tag.eq(request.tag),
            self.o.payload.count.eq(Mux(is_read & (status == FrameStatus.OK), request.count, 0)),
        ]
        with m.FSM(name="frame_executor"):
            with m.State("IDLE"):
                m.d.sync += [
                    index.eq(0), target.eq(request.target), addr.eq(request.addr), first.eq(1),
                    status.eq(FrameStatus.OK),
                ]
                with m.If(self.i.valid):
                    with m.If(request.bad):
                        m.d.sync += status.eq(FrameStatus.BAD_CRC)
                        m.next = "ANSWER"
                    with m.Elif(~known | (request.count == 0) | (is_list & request.count[0])):
                        m.d.sync += status.eq(FrameStatus.BAD_REQUEST)
                        m.next = "ANSWER"
                    with m.Else():
                        m.next = "FETCH"
            with m.State("FETCH"):
                with m.If(is_list):
                    m.d.sync += index.eq(index + 1)
                    m.next = "PLACE"
                with m.Else():
                    m.next = "ISSUE"
            with m.State("PLACE"):
                m.d.sync += [target.eq(read.data >> ADDRESS_BITS), addr.eq(read.data)]
                m.next = "ISSUE"
            with m.State("ISSUE"):
                m.d.comb += access.valid.eq(1)
                with m.If(access.ready):
                    m.d.comb += self.started.eq(is_list & first)
                    m.d.sync += first.eq(0)
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += answer.ready.eq(1)
                with m.If(answer.valid):
                    with m.If(is_read):
                        m.d.comb += [write.en.eq(1), write.addr.eq(index), write.data.eq(answer.payload.data)]
                    m.d.sync += [index.eq(index + 1), addr.eq(addr + 4)]
                    with m.If(answer.payload.error):
                        m.d.sync += status.eq(FrameStatus.BUS_ERROR)
                        m.next = "ANSWER"
                    with m.Elif(index + 1 == request.count):
                        m.next = "ANSWER"
                    with m.Else():
                        m.next = "FETCH"
            with m.State("ANSWER"):
                m.d.comb += [offering.eq(1), self.o.valid.eq(1), self.i.ready.eq(self.o.ready)]
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m
