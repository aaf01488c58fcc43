"""The pool of the packet buffer: places beyond the guaranteed credits, lent by need.

Architecture: ``docs/packet_buffer.md``, ``docs/decisions/0010-loans-come-with-credits.md``.
"""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

Consumed = data.StructLayout({"loan": 1, "want": 1})
"""What a consumed packet said: it came on a loan; its sender wants one."""


class Lender(wiring.Component):
    """Decides with each consumed packet whether its sender is granted a loan, and counts what is not lent.

    A loan is lent from the grant on until a packet that travelled on it is consumed, or until it comes back
    unused. So the packets of the pool, on their way and in the buffer, are never more than `pool`.

    A sender that holds a loan may go on with it for as long as it asks for one, but not at the cost of others: while
    a packet that came on a credit of its own has asked in vain since such a packet was last granted a loan, a loan is
    renewed only if another one is free.

    An outstanding loan keeps the job at this unit as a packet does. `gone` says how many packets fewer the job has
    here: not one if a credit's packet is consumed and a loan granted, two if a loan's packet is and none is granted.

    More loans than were lent cannot come back: a packet that claims to be on one is then one like others.

    Timing: `granted` and `gone` depend on `consumed` combinationally.

    Parameters
    ----------
    pool : int
        Loans that there are. At least 1.

    Members
    -------
    consumed : ``In(Consumed)``, taken : ``In(1)``
        A packet, and whether it is consumed in this cycle.
    granted : ``Out(1)``, gone : ``Out(2)``
        Its sender is granted a loan; how many packets fewer keep the job here.
    unused : ``In(1)``
        Pulse: a loan comes back without a packet.
    known : ``Out(1)``
        With `unused`: there is one that is lent.
    free : ``Out(range(pool + 1))``
        Loans that are not lent.
    """

    def __init__(self, *, pool: int):
        if pool < 1:
            raise ValueError(f"pool must be at least 1, not {pool!r}")
        self.pool = pool
        super().__init__({
            "consumed": In(Consumed), "taken": In(1), "granted": Out(1), "gone": Out(2),
            "unused": In(1), "known": Out(1), "free": Out(range(pool + 1), init=pool),
        })

    def elaborate(self, platform):
        m = Module()
        # One loan at least is out; two are. What comes back in one cycle may be one or the other.
        some, two = Signal(), Signal()
        hungry, ends = Signal(), Signal()
        want = self.consumed.want
        m.d.comb += [
            some.eq(self.free != self.pool), two.eq(self.free + 1 < self.pool),
            self.known.eq(some),
            ends.eq(self.consumed.loan & (some & ~self.unused | two)),
            self.granted.eq(want & ((self.free != 0) | (ends & ~hungry))),
            self.gone.eq(1 + ends - self.granted),
        ]
        with m.If(self.taken & want & ~ends):
            m.d.sync += hungry.eq(~self.granted)
        m.d.sync += self.free.eq(
            self.free + (self.taken & ends) + (self.unused & some) - (self.taken & self.granted)
        )
        return m
