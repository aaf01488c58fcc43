"""Keeps an input from serving one output for ever while others of its packets wait."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Patience(wiring.Component):
    """Makes an input pause its requests for an output when it has long sent to no other.

    Grants go round among the inputs that are free when an output is. Two inputs that end their packets at different
    times are never free together: each would go on with the output that it has as long as packets for it come, and a
    packet that waits at one of them for the other's output would wait with them. So after `limit` cycles the input
    stops asking for what it has had, until something else has started or `pause` cycles are over: time enough for the
    other output to come to the end of a packet, and to grant the one that it has not served.

    Timing: ``avoid`` is a register.

    Parameters
    ----------
    radix : int
        Outputs.
    limit, pause : int
        Cycles.

    Members
    -------
    started : ``In(radix)``
        Outputs of a packet that starts now.
    others : ``In(radix)``
        Outputs that the input has packets for and that have room.
    avoid : ``Out(radix)``
        Outputs that the input should not ask for.
    """

    def __init__(self, *, radix: int, limit: int, pause: int):
        for name, value in (("radix", radix), ("limit", limit), ("pause", pause)):
            if not isinstance(value, int) or value < 2:
                raise ValueError(f"{name} must be an integer of at least 2, not {value!r}")
        self.radix = radix
        self.limit = limit
        self.pause = pause
        super().__init__({"started": In(radix), "others": In(radix), "avoid": Out(radix)})

    def elaborate(self, platform):
        m = Module()
        served = Signal(self.radix)
        pausing = Signal()
        cycles = Signal(range(max(self.limit, self.pause) + 1))
        changes, waits = Signal(), Signal()
        m.d.comb += [
            changes.eq((self.started & ~served).any()),
            waits.eq((self.others & ~served).any()),
        ]
        with m.If(self.started.any()):
            m.d.sync += served.eq(self.started)
        with m.If(changes | ~waits | (pausing & (cycles == self.pause))):
            m.d.sync += [cycles.eq(0), pausing.eq(0), self.avoid.eq(0)]
        with m.Elif(~pausing & (cycles == self.limit)):
            m.d.sync += [cycles.eq(0), pausing.eq(1), self.avoid.eq(Mux(self.started.any(), self.started, served))]
        with m.Else():
            m.d.sync += cycles.eq(cycles + 1)
        return m
