"""Event counters of all ports of a switch."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from firmware_models.abi.registers import SWITCH_COUNTERS
from rtl.link.link_layer import LINK_EVENTS, LinkStatus

COUNTER_BITS = (len(SWITCH_COUNTERS) - 1).bit_length()
COUNT_BITS = 64
EVENT_BITS = 2
"""At most so many bits' worth of events of a kind in a cycle."""


def port_events() -> data.StructLayout:
    """Events of one port in one cycle: how many of each kind, by the names of the counters."""
    return data.StructLayout({counter.name: EVENT_BITS for counter in SWITCH_COUNTERS})


Traffic = data.StructLayout({"flit": 1, "packet": 1})
"""Of a link in one cycle: a flit moves; it is the last one of a packet."""


class CountSignature(wiring.Signature):
    """A question for a count, seen from whoever asks.

    Members
    -------
    ask : ``Out(1)``
        Held until ``answered``: the value of `counter` is wanted.
    counter : ``Out``
        Which one.
    answered : ``In(1)``
        ``value`` is the answer.
    value : ``In(64)``
        The count.
    """

    def __init__(self):
        super().__init__({
            "ask": Out(1), "counter": Out(COUNTER_BITS), "answered": In(1), "value": In(COUNT_BITS),
        })


class PortStatistics(wiring.Component):
    """Counts events in 64 bits, in one memory for all counters.

    Each counter has a few bits of its own. A walk visits one counter a cycle and adds its bits to the memory; a read
    waits for the walk, so that it is exact: the sum of the cycles before the answer.

    Timing: an answer takes at most a walk, which is as many cycles as there are counters, and four more.

    Parameters
    ----------
    n_ports : int
        Ports.
    reliable : bool
        If true, the events of reliable links are counted as well.

    Members
    -------
    events : array of `n_ports` ``In(port_events())``
        What happens, but on reliable links.
    links : array of `n_ports` ``In(LinkStatus)``
        With `reliable`: pulses of each link, counted as ``link_falls`` and so on.
    port : ``In``
        Whose counts are asked for. Ports that are not there must not be.
    read : ``In(CountSignature())``
        Questions.
    """

    def __init__(self, *, n_ports: int, reliable: bool = False):
        if not isinstance(n_ports, int) or not 2 <= n_ports <= 64:
            raise ValueError(f"n_ports must be from 2 to 64, not {n_ports!r}")
        self.n_ports, self.reliable = n_ports, reliable
        super().__init__({
            **({"links": In(LinkStatus).array(n_ports)} if reliable else {}),
            "events": In(port_events()).array(n_ports),
            "port": In(range(n_ports)), "read": In(CountSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        n_kinds = 1 << COUNTER_BITS
        n_counters = self.n_ports * n_kinds
        m.submodules.store = store = memory.Memory(shape=COUNT_BITS, depth=n_counters, init=[])
        read, write = store.read_port(), store.write_port()

        # The walk: a counter is read in one cycle and written in the next. The first one clears the memory.
        kind, port = Signal(COUNTER_BITS), Signal(range(self.n_ports))
        cleared = Signal()
        last_port = port == self.n_ports - 1
        # A walk in which nothing came ends in rest: all own bits are in the memory. An event or a question begins one.
        resting, stirred, any_event = Signal(), Signal(), Signal()
        happens = [self._happens(m, p) for p in range(self.n_ports)]
        m.d.sync += any_event.eq(Cat(events.as_value().any() for events in happens).any() | self.read.ask)
        with m.If(any_event):
            m.d.sync += [resting.eq(0), stirred.eq(1)]
        with m.Elif((kind == n_kinds - 1) & last_port):
            m.d.sync += [resting.eq(cleared & ~stirred), stirred.eq(0)]
        with m.If(~resting):
            m.d.sync += kind.eq(kind + 1)
        with m.If(~resting & (kind == n_kinds - 1)):
            m.d.sync += [port.eq(Mux(last_port, 0, port + 1)), cleared.eq(cleared | last_port)]

        # Own bits of the counters, as many as a walk's events need.
        width = bits_for(((1 << EVENT_BITS) - 1) * n_counters)
        recent = []
        for p, events in enumerate(happens):
            kinds = []
            for number, counter in enumerate(SWITCH_COUNTERS):
                own = Signal(width, name=f"{counter.name}_{p}")
                visited = ~resting & (kind == number) & (port == p)
                m.d.sync += own.eq(Mux(visited, 0, own) + events[counter.name])
                kinds.append(own)
            recent.append(Array(kinds)[kind])
        added, old, walks = Signal(width), Signal(), Signal()
        written_at = Signal(range(n_counters))
        m.d.sync += [
            added.eq(Array(recent)[port]), old.eq(cleared), walks.eq(~resting), written_at.eq(port * n_kinds + kind),
        ]
        m.d.comb += [
            read.addr.eq(port * n_kinds + kind),
            write.addr.eq(written_at),
            write.data.eq(Mux(old, read.data, 0) + added),
            write.en.eq(walks),
        ]

        # The written sum is the one that a read wants, if the walk is there.
        meant = Signal()
        m.d.sync += [
            meant.eq(
                ~resting & self.read.ask & ~meant & ~self.read.answered & (kind == self.read.counter)
                & (port == self.port)
            ),
            self.read.answered.eq(meant),
        ]
        with m.If(meant):
            m.d.sync += self.read.value.eq(write.data)
        return m

    def _happens(self, m: Module, port: int) -> data.View:
        """Events of a port, those of its link included."""
        if not self.reliable:
            return self.events[port]
        link, happens = self.links[port], Signal(port_events(), name=f"happens_{port}")
        m.d.comb += [
            happens.eq(self.events[port]),
            happens.link_lost.eq(self.events[port].link_lost + link.lost[0] + link.lost[1]),
            *(happens[f"link_{name}"].eq(link[name]) for name in LINK_EVENTS),
        ]
        return happens
