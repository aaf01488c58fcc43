"""The host's way in: from a serial line to accesses."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from fpga.selftest.access import AccessSignature
from fpga.selftest.answer_sender import AnswerSender
from fpga.selftest.frame_executor import FrameExecutor
from fpga.selftest.frame_receiver import FrameReceiver
from fpga.selftest.uart import UartReceiver, UartTransmitter

_timeout_bytes = 64
"""Idle time, in bytes, after which a frame is given up."""


class Bridge(wiring.Component):
    """Receives requests on a serial line, carries them out and answers: ``firmware_models.abi.board``.

    Parameters
    ----------
    divisor : int
        Clock cycles of a bit of the line, at least 4.

    Members
    -------
    rx, tx : ``In(1)``, ``Out(1)``
        The line; ``rx`` synchronised to the clock.
    access : ``Out(AccessSignature())``
        Accesses.
    started : ``Out(1)``
        In the cycle in which a request of op LIST makes its first access.
    bad_frame : ``Out(1)``
        In a cycle in which a frame turns out to be damaged.
    """

    def __init__(self, *, divisor: int):
        self.divisor = divisor
        super().__init__({
            "rx": In(1, init=1), "tx": Out(1, init=1), "access": Out(AccessSignature()), "started": Out(1),
            "bad_frame": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        m.submodules.uart_receiver = uart_receiver = UartReceiver(divisor=self.divisor)
        m.submodules.frame_receiver = frames = FrameReceiver(timeout=_timeout_bytes * 10 * self.divisor)
        m.submodules.executor = executor = FrameExecutor()
        m.submodules.answer_sender = sender = AnswerSender()
        m.submodules.uart_transmitter = uart_transmitter = UartTransmitter(divisor=self.divisor)
        connect(m, uart_receiver.o, frames.i)
        connect(m, frames.o, executor.i)
        connect(m, executor.o, sender.i)
        connect(m, sender.o, uart_transmitter.i)
        connect(m, executor.access, flipped(self.access))
        m.d.comb += [
            uart_receiver.rx.eq(self.rx), self.tx.eq(uart_transmitter.tx),
            executor.word_valid.eq(frames.word_valid), executor.word_index.eq(frames.word_index),
            executor.word.eq(frames.word), executor.read_index.eq(sender.read_index),
            sender.read_word.eq(executor.read_word),
            self.started.eq(executor.started), self.bad_frame.eq(frames.bad),
        ]
        return m
