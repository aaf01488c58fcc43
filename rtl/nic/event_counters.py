"""64-bit event counters, read in two halves."""

from amaranth import Array, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.registers import EVENT_COUNTERS

EVENT_BITS = 5
"""Events of one kind that one cycle may bring: one from each of up to 16 offload units."""

Events = data.StructLayout({counter.name: EVENT_BITS for counter in EVENT_COUNTERS})
"""How many events of each kind this cycle brings."""


class EventCounters(wiring.Component):
    """Counts events; one counter can be read at a time.

    Reading a low half latches the high half of the same counter, so that the next high half read belongs to it.

    Timing: a half is on `value` in the same cycle in which `index` and `high` select it. Events count two cycles
    later, so that the adders stand apart from the blocks that raise them.

    Members
    -------
    events : ``In(Events)``
        Events of this cycle.
    index : ``In(range(n))``, high : ``In(1)``
        Which half of which counter to read.
    latch : ``In(1)``
        The half selected is being read.
    value : ``Out(32)``
        The half selected; the high half as latched.
    """

    def __init__(self):
        super().__init__({
            "events": In(Events),
            "index": In(range(len(EVENT_COUNTERS))),
            "high": In(1),
            "latch": In(1),
            "value": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        pending = Signal(Events)
        m.d.sync += pending.eq(self.events)
        counters = []
        for counter in EVENT_COUNTERS:
            count = Signal(64, name=counter.name)
            m.d.sync += count.eq(count + pending[counter.name])
            counters.append(count)

        selected, latched = Signal(64), Signal(32)
        m.d.comb += selected.eq(Array(counters)[self.index])
        with m.If(self.latch & ~self.high):
            m.d.sync += latched.eq(selected[32:])
        with m.If(self.high):
            m.d.comb += self.value.eq(latched)
        with m.Else():
            m.d.comb += self.value.eq(selected[:32])
        return m
