"""Virtual output queues of one channel of an input port, and the queue of its multicasts."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.switch.choice import one_of


def queued_layout(radix: int, n_names: int) -> data.StructLayout:
    """Event: a packet comes. Its name, whether it is short, and its ports: one, or the set of a multicast, maybe empty.
    """
    return data.StructLayout({"name": range(n_names), "short": 1, "multicast": 1, "ports": radix})


class ChannelQueues(wiring.Component):
    """Puts the names of packets into linked lists: one for each output, and one for the multicasts.

    A packet is in one list at most, so all lists share one memory with an entry a name. The multicast at the head stays
    there until a copy has been taken for each of its ports: `mc_ports` are those that wait.

    Timing: a packet pushed in one cycle can be taken in the next; the packet behind it in the cycle after that.

    Parameters
    ----------
    radix : int
        Outputs.
    n_names : int
        Names, from 0.

    Members
    -------
    push : ``In(stream.Signature(queued_layout(radix, n_names), always_ready=True))``
        Packets that come.
    waiting, waiting_short : ``Out(radix)``
        For each output whether a packet waits, and whether the first one is short.
    mc_waits, mc_short, mc_name, mc_ports : ``Out``
        A multicast waits; the first one is short; its name, and the ports without a copy yet.
    take : ``In(radix)``
        The first packet for this output is taken: one at most.
    take_mc, take_mc_ports : ``In``
        Copies of the first multicast are taken for these ports; not together with ``take``.
    taken_name : ``Out(range(n_names))``
        Name of what is taken.
    taken_whole : ``Out(1)``
        Nothing of it stays in the queue.
    """

    def __init__(self, *, radix: int, n_names: int):
        if not isinstance(radix, int) or radix < 2:
            raise ValueError(f"radix must be an integer of at least 2, not {radix!r}")
        if not isinstance(n_names, int) or n_names < 2:
            raise ValueError(f"n_names must be an integer of at least 2, not {n_names!r}")
        self.radix = radix
        self.n_names = n_names
        name = range(n_names)
        super().__init__({
            "push": In(stream.Signature(queued_layout(radix, n_names), always_ready=True)),
            "waiting": Out(radix), "waiting_short": Out(radix),
            "mc_waits": Out(1), "mc_short": Out(1), "mc_name": Out(name), "mc_ports": Out(radix),
            "take": In(radix), "take_mc": In(1), "take_mc_ports": In(radix),
            "taken_name": Out(name), "taken_whole": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        n_queues = self.radix + 1
        entry = data.StructLayout({"name": range(self.n_names), "short": 1, "ports": self.radix})
        m.submodules.links = links = memory.Memory(shape=entry, depth=self.n_names, init=[])
        put = links.write_port()
        get = links.read_port(transparent_for=(put,))

        # First and last packet of each queue. A first packet taken in the cycle before is replaced by the packet behind
        # it.
        filled = Signal(n_queues)
        filled_now = Signal(n_queues)
        firsts = [Signal(range(self.n_names), name=f"first_{q}") for q in range(n_queues)]
        lasts = [Signal(range(self.n_names), name=f"last_{q}") for q in range(n_queues)]
        shorts = Signal(n_queues)
        ports = Signal(self.radix)
        removed, removed_name = Signal(n_queues), Signal(range(self.n_names))
        emptied = Signal()
        m.d.comb += [
            emptied.eq(one_of(removed, lasts) == removed_name),
            filled_now.eq(filled & ~Mux(emptied, removed, 0)),
        ]
        heads = [Mux(removed[q], get.data.name, firsts[q]) for q in range(n_queues)]
        short = Signal(n_queues)
        m.d.comb += [
            short.eq(Mux(get.data.short, shorts | removed, shorts & ~removed)),
            self.waiting.eq(filled_now),
            self.waiting_short.eq(short),
            self.mc_waits.eq(filled_now[-1]),
            self.mc_short.eq(short[-1]),
            self.mc_name.eq(heads[-1]),
            self.mc_ports.eq(Mux(removed[-1], get.data.ports, ports)),
        ]

        # Taking.
        rest = Signal(self.radix)
        remove = Signal(n_queues)
        m.d.comb += [
            rest.eq(self.mc_ports & ~self.take_mc_ports),
            self.taken_whole.eq(~self.take_mc | ~rest.any()),
            remove.eq(Cat(self.take, self.take_mc & ~rest.any())),
            self.taken_name.eq(one_of(Cat(self.take, self.take_mc), heads)),
            get.addr.eq(self.taken_name),
        ]
        m.d.sync += [
            removed.eq(remove),
            removed_name.eq(self.taken_name),
            filled.eq(filled_now),
            shorts.eq(short),
            ports.eq(Mux(self.take_mc, rest, self.mc_ports)),
            *(firsts[q].eq(heads[q]) for q in range(n_queues)),
        ]

        # Pushing: behind the last one, or to the head of an empty queue.
        queue, joins, pushed = Signal(n_queues), Signal(), self.push.payload
        m.d.comb += [
            queue.eq(Mux(pushed.multicast, 1 << self.radix, pushed.ports)),
            joins.eq((queue & filled_now).any()),
            put.addr.eq(one_of(queue, lasts)),
            put.data.name.eq(pushed.name),
            put.data.short.eq(pushed.short),
            put.data.ports.eq(pushed.ports),
            put.en.eq(self.push.valid & joins),
        ]
        with m.If(self.push.valid):
            m.d.sync += filled.eq(filled_now | queue)
            for q in range(n_queues):
                with m.If(queue[q]):
                    m.d.sync += lasts[q].eq(pushed.name)
                    with m.If(~joins):
                        m.d.sync += [firsts[q].eq(pushed.name), shorts[q].eq(pushed.short)]
            with m.If(queue[-1] & ~joins):
                m.d.sync += ports.eq(pushed.ports)
        return m
