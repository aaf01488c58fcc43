"""The pool of the packet buffer: outstanding and free shared credits are always the pool."""

from amaranth import Module, Mux, Signal

from testbench.formal.contract import Contract


class SharedPoolContract(Contract):
    """:class:`~rtl.credit.shared_pool.SharedPool`: no shared credit is lost or made, whatever
    peers return.

    Packets are consumed and shared credits return in any order. Of more that return than are out, those that are
    too many count for nothing.
    """

    def __init__(self, *, pool: int):
        super().__init__()
        self.pool = pool

    def build(self, m: Module) -> None:
        from rtl.credit.shared_pool import SharedPool

        m.submodules.unit = unit = SharedPool(pool=self.pool)
        pool = unit.consumption
        taken, loan, want, unused = (self.free(1, name) for name in ("taken", "loan", "want", "unused"))
        m.d.comb += [
            pool.taken.eq(taken), pool.consumed.loan.eq(loan), pool.consumed.want.eq(want), unit.unused.eq(unused),
        ]
        lost = self.free(2, "lost")
        m.d.comb += unit.lost.eq(lost)
        shared = Signal(range(self.pool + 2))
        without, packet, granted = Signal(), Signal(), Signal()
        m.d.comb += [
            without.eq(unused & (shared != 0)), packet.eq(loan & (shared > without)), granted.eq(taken & pool.granted),
        ]
        # Written off is at most what nothing else of this cycle is about.
        self.assume(lost + without + (taken & packet) <= shared)
        m.d.sync += shared.eq(shared + granted - without - (taken & packet) - lost)
        self.check(shared <= self.pool)
        self.check(unit.free == self.pool - shared)
        self.check(~unused | (unit.known == (shared != 0)))
        # `gone` counts the holds on the job that end: the packet and its shared credit, less a newly granted shared
        # credit.
        self.check(~taken | (pool.n_left + pool.granted == 1 + packet))

        # A loan that is free is lent to whoever wants it; a packet on a credit that got none has the next one.
        hungry = Signal()
        with m.If(taken & want & ~packet):
            m.d.sync += hungry.eq(~granted)
        self.check(~granted | want)
        self.check(~(taken & want) | (unit.free == 0) | granted)
        self.check(~(taken & packet & hungry & (unit.free == 0)) | ~granted)
        self.check(~(taken & packet & want & ~hungry) | granted)

        all_granted = shared == self.pool
        self.reach(all_granted & taken & packet & granted, "a loan is renewed")
        self.reach(all_granted & taken & want & packet & ~granted, "a loan is not renewed: another packet waits for it")
        self.reach(without & taken & packet, "two loans come back at once")
        self.reach(unused & (shared == 0), "a loan comes back that was not lent")
        self.reach(all_granted & (lost == 2), "two loans are written off")
        again = Signal()
        with m.If(all_granted):
            m.d.sync += again.eq(1)
        self.reach(again & (Mux(taken, shared, 1) == 0), "all loans have come back")
