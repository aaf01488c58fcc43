"""Components with faults planted on purpose: what the tests of runner and checkers must catch."""

from amaranth import Module, Signal
from amaranth.hdl import Assert
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

FAULTS = ("none", "valid_falls", "payload_changes", "loses", "duplicates", "swaps", "assertion")


class FaultyRegister(wiring.Component):
    """A stream register that misbehaves in one way, every now and then.

    Parameters
    ----------
    fault : str
        One of :data:`FAULTS`; ``none`` behaves.
    """

    def __init__(self, *, fault: str):
        if fault not in FAULTS:
            raise ValueError(f"fault must be one of {', '.join(FAULTS)}, not {fault!r}")
        self.fault = fault
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        valid, payload, count = Signal(), Signal(8), Signal(4)
        now = Signal()
        m.d.comb += [
            now.eq(count == 15),
            self.o.valid.eq(valid),
            self.o.payload.eq(payload),
            self.i.ready.eq(~valid | self.o.ready),
        ]
        m.d.sync += count.eq(count + 1)
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), payload.eq(self.i.payload)]
        stalled = valid & ~self.o.ready

        match self.fault:
            case "valid_falls":
                m.d.comb += self.o.valid.eq(valid & ~now)
                with m.If(now):
                    m.d.comb += self.i.ready.eq(0)
            case "payload_changes":
                with m.If(stalled & now):
                    m.d.sync += payload.eq(~payload)
            case "loses":
                with m.If(self.i.ready & now):
                    m.d.sync += valid.eq(0)
            case "duplicates":
                with m.If(valid & self.o.ready & now):
                    m.d.comb += self.i.ready.eq(0)
                    m.d.sync += [valid.eq(1), payload.eq(payload)]
            case "swaps":
                with m.If(self.i.ready & now):
                    m.d.sync += payload.eq(self.i.payload ^ 1)
            case "assertion":
                m.d.sync += Assert(~(stalled & now), "the output stalled at the wrong moment")
        return m
