"""Fair choice between requests."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class RoundRobin(wiring.Component):
    """Chooses one of the requests: the next one after the last that was served, in circular order.

    Every request that is kept up is served after at most ``n - 1`` others.

    Timing: ``grant`` and ``index`` depend on ``requests`` combinationally; ``advance`` takes effect in
    the next cycle.

    Parameters
    ----------
    n : int
        Number of requesters. At least 1.

    Members
    -------
    requests : ``In(n)``
        Who wants to be served.
    advance : ``In(1)``
        The request granted in this cycle is being served: it is last in the order from now on.
    grant : ``Out(n)``
        One-hot choice; 0 if there is no request.
    index : ``Out(range(n))``
        Number of the choice; 0 if there is no request. One bit at least, for a vector of no bits is no good Verilog.
    """

    def __init__(self, *, n: int):
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n must be a positive integer, not {n!r}")
        self.n = n
        super().__init__({"requests": In(n), "advance": In(1), "grant": Out(n), "index": Out(range(max(n, 2)))})

    def elaborate(self, platform):
        m = Module()

        # Requests after the last one served go first; only without any of them the order starts over. Both answers are
        # found side by side, each by looking whether there is a request below: carry chains would be slower.
        after = Signal(self.n)
        preferred = self.requests & after
        restarts = ~preferred.any()

        def lowest(requests):
            return Cat(requests[k] & ~requests[:k].any() for k in range(self.n))

        m.d.comb += self.grant.eq(lowest(preferred) | (lowest(self.requests) & restarts.replicate(self.n)))

        # One-hot to binary: bit b is the OR of the grants whose number has bit b.
        for bit in range(len(self.index)):
            members = [self.grant[k] for k in range(self.n) if k >> bit & 1]
            m.d.comb += self.index[bit].eq(Cat(*members).any())

        with m.If(self.advance & self.requests.any()):
            # All ones above the bit granted.
            m.d.sync += after.eq(Cat(self.grant[:k].any() for k in range(self.n)))

        return m
