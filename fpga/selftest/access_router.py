"""Brings accesses of the host to where they belong."""

from collections.abc import Sequence

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fpga.selftest.access import Access, AccessSignature


class AccessRouter(wiring.Component):
    """One access at a time, to the output of its target; an error if there is none.

    Parameters
    ----------
    targets : sequence of int
        The target of each output.

    Members
    -------
    i : ``In(AccessSignature())``
        Accesses.
    o : array of ``Out(AccessSignature())``
        The same, one output a target. Accesses come from registers.
    """

    def __init__(self, *, targets: Sequence[int]):
        if len(set(targets)) != len(targets) or not targets or not all(0 <= target < 256 for target in targets):
            raise ValueError(f"targets must be different numbers from 0 to 255, not {targets!r}")
        self.targets = tuple(targets)
        super().__init__({"i": In(AccessSignature()), "o": Out(AccessSignature()).array(len(self.targets))})

    def elaborate(self, platform: object) -> Module:
        """Builds it."""
        m = Module()
        held, result = Signal(Access), Signal.like(self.i.answer.payload)
        m.d.comb += [port.access.payload.eq(held) for port in self.o]
        m.d.comb += self.i.answer.payload.eq(result)
        with m.FSM(name="access_router"):
            with m.State("IDLE"):
                m.d.comb += self.i.access.ready.eq(1)
                m.d.sync += held.eq(self.i.access.payload)
                with m.If(self.i.access.valid):
                    m.next = "ISSUE"
            with m.State("ISSUE"), m.Switch(held.target):
                for target, port in zip(self.targets, self.o, strict=True):
                    with m.Case(target):
                        m.d.comb += port.access.valid.eq(1)
                        with m.If(port.access.ready):
                            m.next = "WAIT"
                with m.Default():
                    m.d.sync += [result.data.eq(0), result.error.eq(1)]
                    m.next = "ANSWER"
            with m.State("WAIT"), m.Switch(held.target):
                for target, port in zip(self.targets, self.o, strict=True):
                    with m.Case(target):
                        m.d.comb += port.answer.ready.eq(1)
                        with m.If(port.answer.valid):
                            m.d.sync += result.eq(port.answer.payload)
                            m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += self.i.answer.valid.eq(1)
                with m.If(self.i.answer.ready):
                    m.next = "IDLE"
        return m
