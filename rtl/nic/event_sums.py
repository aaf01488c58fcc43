"""Sums of the pulses that blocks raise in a cycle, for the event counters."""

from collections.abc import Mapping

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.nic.event_counters import EVENT_BITS, Events


class EventSums(wiring.Component):
    """Adds up the pulses of each kind.

    Timing: `events` is a cycle late, so that the blocks that raise pulses stand apart from the adders of the counters.

    Parameters
    ----------
    sources : mapping of str to int
        How many blocks raise events of a kind, by the names of :data:`~rtl.nic.event_counters.Events`; 0 to 31.

    Members
    -------
    pulses : ``In(StructLayout)``
        A bit for each source of each kind.
    events : ``Out(Events)``
        Their sums.

    Raises
    ------
    ValueError
        If a kind is unknown, or has more sources than its sum has bits for.
    """

    def __init__(self, sources: Mapping[str, int]):
        for name, n in sources.items():
            if name not in Events.members:
                raise ValueError(f"sources must be kinds of events, not {name!r}")
            if not 0 <= n < 1 << EVENT_BITS:
                raise ValueError(f"sources[{name!r}] must be 0 to {(1 << EVENT_BITS) - 1}, not {n!r}")
        super().__init__({
            "pulses": In(data.StructLayout({name: n for name, n in sources.items() if n})), "events": Out(Events),
        })

    def elaborate(self, platform):
        m = Module()
        for name, _ in self.pulses.shape():
            m.d.sync += self.events[name].eq(sum(self.pulses[name]))
        return m
