"""64-bit event counters, read in two halves."""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from firmware_models.abi.registers import EVENT_COUNTERS

COUNT_BITS = 64
EVENT_BITS = 5
"""Events of one kind that one cycle may bring: one from each of up to 16 offload units, and a few more."""

Events = data.StructLayout({counter.name: EVENT_BITS for counter in EVENT_COUNTERS})
"""How many events of each kind this cycle brings."""


class EventCounters(wiring.Component):
    """Counts events, in a memory for each half of all counters; one can be read at a time.

    Each counter has a few bits of its own. A walk visits one counter a cycle; its bits are added to the lower half in
    the cycle after, what that carries to the upper half in the next one. A read is a visit of the counter that is read,
    so it is exact. The first walk after a reset clears the memories.

    Reading a low half latches the high half of the same counter, so that the next high half read belongs to it.

    Timing: a half is on `value` from the third cycle after the one on in which `index` and `high` select it; it stays
    until the next one. Events count two cycles later, so that the adders stand apart from the blocks that raise them.

    Parameters
    ----------
    max_events : int
        Most events of one kind in a cycle, 1 to 31.

    Members
    -------
    events : ``In(Events)``
        Events of this cycle.
    index : ``In(range(n))``, high : ``In(1)``
        Counter, and half of it, to read.
    latch : ``In(1)``
        The half selected is being read; not in two cycles running.
    value : ``Out(32)``
        From three cycles after `latch` on: the half selected; the high half as latched.
    """

    def __init__(self, *, max_events: int):
        if not 1 <= max_events < 1 << EVENT_BITS:
            raise ValueError(f"max_events must be from 1 to {(1 << EVENT_BITS) - 1}, not {max_events!r}")
        self.max_events = max_events
        super().__init__({
            "events": In(Events),
            "index": In(range(len(EVENT_COUNTERS))),
            "high": In(1),
            "latch": In(1),
            "value": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        n = len(EVENT_COUNTERS)
        ports = []
        for half in ("low", "high"):
            m.submodules[half] = store = memory.Memory(shape=COUNT_BITS // 2, depth=n, init=[])
            ports.append((store.read_port(domain="comb"), store.write_port()))

        step, visited, cleared = Signal(range(n)), Signal(range(n)), Signal()
        resting, stirred, any_event = Signal(), Signal(), Signal()
        reading, high = Signal(), Signal()
        m.d.sync += [visited.eq(Mux(self.latch, self.index, step)), reading.eq(self.latch), high.eq(self.high)]
        # A walk in which nothing came ends in rest: all own bits are in the memory. An event begins the next one.
        m.d.sync += any_event.eq(self.events.as_value().any())
        with m.If(any_event):
            m.d.sync += [resting.eq(0), stirred.eq(1)]
        with m.Elif(~self.latch & (step == n - 1)):
            m.d.sync += [resting.eq(cleared & ~stirred), stirred.eq(0)]
        with m.If(~self.latch & ~resting):
            m.d.sync += step.eq(Mux(step == n - 1, 0, step + 1))
        with m.If(~reading & (visited == n - 1)):
            m.d.sync += cleared.eq(1)

        # Own bits of the counters: as many as the events of two walks need, for reads come in between. A read before
        # the first walk has passed leaves everything as it is.
        arriving = Signal(data.StructLayout({counter.name: bits_for(self.max_events) for counter in EVENT_COUNTERS}))
        width = bits_for(2 * n * self.max_events)
        takes = Signal()
        m.d.comb += takes.eq(Mux(reading, cleared, ~resting))
        recent = []
        for number, counter in enumerate(EVENT_COUNTERS):
            own = Signal(width, name=f"own_{counter.name}")
            m.d.sync += [
                arriving[counter.name].eq(self.events[counter.name]),
                own.eq(Mux(takes & (visited == number), 0, own) + arriving[counter.name]),
            ]
            recent.append(own)

        # Amount added to a half; flags: it counts, there was something before, the sum is shown.
        added, carry = Signal(width), Signal()
        shown = [Signal(COUNT_BITS // 2, name=f"shown_{half}") for half in ("low", "high")]
        at, counts, before, shows = visited, takes, cleared, reading & ~high
        m.d.sync += added.eq(Array(recent)[visited])
        for (read, write), addend, value in zip(ports, (added, carry), shown, strict=True):
            step_at, step_counts, step_before, step_shows = (
                Signal.like(at, name="at"), *(Signal(name=name) for name in ("counts", "before", "shows"))
            )
            m.d.sync += [step_at.eq(at), step_counts.eq(counts), step_before.eq(before), step_shows.eq(shows)]
            at, counts, before, shows = step_at, step_counts, step_before, step_shows
            total = Signal(len(value) + 1, name="total")
            m.d.comb += [
                read.addr.eq(at), total.eq(Mux(before, read.data, 0) + addend),
                write.addr.eq(at), write.data.eq(total), write.en.eq(counts),
            ]
            with m.If(shows):
                m.d.sync += value.eq(total)
            if addend is added:
                m.d.sync += carry.eq(total[-1])
        shows_high = Signal()
        with m.If(reading):
            m.d.sync += shows_high.eq(high)
        m.d.comb += self.value.eq(Mux(shows_high, shown[1], shown[0]))


        return m
