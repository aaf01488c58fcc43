"""Writes completions into the completion rings."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import Status
from rtl.abi import Completion
from rtl.interface import CompletionEvent, ReceiveSlotSignature, WriteSignature
from rtl.kit.arbiter import StreamArbiter


class CompletionQueue(wiring.Component):
    """Takes events from `n` producers, in turn, and writes each to the next entry of its VP's completion ring.

    Room in the ring was reserved when the unit was taken, so no event ever waits for software. An event of a VP that
    has been disabled since has no ring to go to and is discarded.

    Parameters
    ----------
    n : int
        Producers, at least 1.
    data_width : int
        Bits of a flit.

    Members
    -------
    i : array of n ``In(stream.Signature(CompletionEvent))``
        Producers.
    slot : ``Out(ReceiveSlotSignature())``
        Entries of the completion rings (VP table).
    write : ``Out(WriteSignature(data_width))``
        DMA engine.
    cycles : ``In(64)``
        Cycle counter, for timestamps.
    posted : ``Out(1)``, posted_error : ``Out(1)``
        Pulse for every completion handed to the DMA engine; the second if its status is an error.
    written : ``Out(1)``
        Pulses when the memory has acknowledged a completion, or refused it.
    busy : ``Out(1)``
        Some completion has not been acknowledged.
    """

    def __init__(self, *, n: int, data_width: int):
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n!r}")
        if data_width not in (64, 128, 256, 512):
            raise ValueError(f"data_width must be 64, 128, 256 or 512, not {data_width!r}")
        self.n, self.data_width = n, data_width
        super().__init__({
            "i": In(stream.Signature(CompletionEvent)).array(n),
            "slot": Out(ReceiveSlotSignature()),
            "write": Out(WriteSignature(data_width)),
            "cycles": In(64),
            "posted": Out(1),
            "posted_error": Out(1),
            "written": Out(1),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = StreamArbiter(
            shape=CompletionEvent, n=self.n, full_rate=False, chooses_ahead=True
        )
        for k in range(self.n):
            connect(m, flipped(self.i[k]), arbiter.i[k])

        event, slot, write = arbiter.o.payload, self.slot, self.write
        n_beats = formats.COMPLETION.width // self.data_width
        completion = Signal(Completion, reset_less=True)
        beat = Signal(range(max(n_beats, 2)))
        bits = completion.as_value()
        m.d.comb += [
            slot.query.payload.vp.eq(event.vp),
            write.request.payload.bytes.eq(formats.COMPLETION.bytes),
            write.data.payload.data.eq(bits[: self.data_width]),
            write.data.payload.last.eq(beat == n_beats - 1),
        ]
        idle = Signal()
        with m.FSM():
            with m.State("ASK"):
                m.d.comb += [idle.eq(~arbiter.o.valid), slot.query.valid.eq(arbiter.o.valid)]
                with m.If(slot.query.valid & slot.query.ready):
                    m.next = "SLOT"
            with m.State("SLOT"):
                m.d.comb += [slot.answer.ready.eq(1), arbiter.o.ready.eq(slot.answer.valid)]
                m.d.sync += write.request.payload.addr.eq(slot.answer.payload.addr)
                for name in ("status", "kind", "job_id", "vp", "bytes", "tag", "detail"):
                    m.d.sync += completion[name].eq(event[name])
                m.d.sync += [completion.timestamp.eq(self.cycles), completion.phase.eq(slot.answer.payload.phase)]
                with m.If(slot.answer.valid):
                    m.next = "ASK"
                    with m.If(slot.answer.payload.ok):
                        m.next = "REQUEST"
            with m.State("REQUEST"):
                m.d.comb += write.request.valid.eq(1)
                with m.If(write.request.ready):
                    m.d.comb += [self.posted.eq(1), self.posted_error.eq(completion.status != Status.OK)]
                    m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += write.data.valid.eq(1)
                with m.If(write.data.ready):
                    m.d.sync += [bits.eq(bits >> self.data_width), beat.eq(beat + 1)]
                    with m.If(write.data.payload.last):
                        m.d.sync += beat.eq(0)
                        m.next = "ASK"

        # Requests that the DMA engine has taken and not answered: far fewer than this counter can hold.
        flying = Signal(16)
        sent = Signal()
        m.d.comb += [
            write.done.ready.eq(1),
            sent.eq(write.request.valid & write.request.ready),
            self.busy.eq(~idle | (flying != 0)),
        ]
        m.d.sync += [flying.eq(flying + sent - write.done.valid), self.written.eq(write.done.valid)]


        return m
