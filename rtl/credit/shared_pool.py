"""The pool of the packet buffer: slots beyond the guaranteed credits, granted as shared credits.

Architecture: ``docs/packet_buffer.md``, ``docs/decisions/0010-loans-come-with-credits.md``.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.credit.pool_signature import ConsumptionSignature


class NoPool(wiring.Component):
    """Stands where a pool would, where a packet buffer has none: no shared credit is granted, and each packet that is
    consumed keeps the job here no longer.

    Members
    -------
    consumption, unused, lost, granted, free : ``In``, ``In``, ``In``, ``Out``, ``Out``
        As of :class:`SharedPool`, which others need not tell from it.
    """

    def __init__(self):
        super().__init__({
            "consumption": In(ConsumptionSignature()), "unused": In(1), "lost": In(1),
            "granted": Out(1), "free": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.consumption.n_left.eq(1)
        return m


class SharedPool(wiring.Component):
    """Grants at most one shared credit per packet that asks, and counts those that are not granted.

    A shared credit is outstanding from its grant until a packet that travelled on it is consumed, or until it returns
    unused. So at most `pool` packets are on shared credits, on their way and in the buffer together.

    A sender that holds a shared credit has it renewed for as long as it asks, but not at the cost of others: after a
    packet on a guaranteed credit has asked in vain, and until such a packet is granted one, a shared credit is renewed
    only if another one is free.

    An outstanding shared credit keeps the job at this offload unit as a packet does. `n_left` is by how many packets
    the job has fewer here: 0 if a packet on a guaranteed credit is consumed and a shared credit granted, 2 if a packet
    on a shared credit is consumed and none granted, otherwise 1.

    More shared credits than are outstanding cannot return: a packet that claims to be on one is then treated as one on
    a guaranteed credit.

    Timing: the answer to a consumed packet depends on it combinationally.

    Parameters
    ----------
    pool : int
        Shared credits. At least 1.

    Members
    -------
    consumption : ``In(ConsumptionSignature())``
        Packets that are consumed.
    unused : ``In(1)``
        Pulse: a shared credit returns without a packet.
    known : ``Out(1)``
        With `unused`: one is outstanding.
    lost : ``In(range(pool + 1))``
        So many outstanding ones are written off: whoever holds them will not use or return them.
    granted : ``Out(1)``
        A shared credit is granted in this cycle.
    free : ``Out(range(pool + 1))``
        Shared credits that are not outstanding.
    """

    def __init__(self, *, pool: int):
        if pool < 1:
            raise ValueError(f"pool must be at least 1, not {pool!r}")
        self.pool = pool
        super().__init__({
            "consumption": In(ConsumptionSignature()),
            "unused": In(1), "known": Out(1), "lost": In(range(pool + 1)),
            "granted": Out(1), "free": Out(range(pool + 1), init=pool),
        })

    def elaborate(self, platform):
        m = Module()
        consumption = self.consumption
        # At least one is outstanding; at least two are. A packet and an unused one may return in one cycle.
        any_free, two = Signal(), Signal()
        hungry, ends = Signal(), Signal()
        want = consumption.consumed.want
        m.d.comb += [
            any_free.eq(self.free != self.pool), two.eq(self.free + 1 < self.pool),
            self.known.eq(any_free),
            ends.eq(consumption.consumed.loan & (any_free & ~self.unused | two)),
            consumption.granted.eq(want & ((self.free != 0) | (ends & ~hungry))),
            self.granted.eq(consumption.taken & consumption.granted),
            consumption.n_left.eq(1 + ends - consumption.granted),
        ]
        with m.If(consumption.taken & want & ~ends):
            m.d.sync += hungry.eq(~consumption.granted)
        free = Signal(range(2 * self.pool + 3))
        m.d.comb += free.eq(
            self.free + (consumption.taken & ends) + (self.unused & any_free) - self.granted
            + self.lost
        )
        m.d.sync += self.free.eq(Mux(free > self.pool, self.pool, free))
        return m
