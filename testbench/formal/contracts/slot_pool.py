"""The free list of the packet buffer: slots are conserved."""

from amaranth import Module, Signal

from testbench.formal.contract import Contract


class SlotPoolContract(Contract):
    """No slot is handed out twice, none is lost, and the counts are right.

    The environment gives back only what it holds, whenever it likes.
    """

    def __init__(self, *, n_slots: int):
        super().__init__()
        self.n_slots = n_slots

    def build(self, m: Module) -> None:
        from rtl.buffer.packet_slots import SlotPool

        n = self.n_slots
        m.submodules.unit = unit = SlotPool(n_slots=n)
        give, slot, take = self.free(1, "give"), self.free(unit.slot_bits, "slot"), self.free(1, "take")
        m.d.comb += [unit.i.valid.eq(give), unit.i.payload.eq(slot), unit.o.ready.eq(take)]

        held = Signal(n)
        taken, given = unit.o.valid & unit.o.ready, unit.i.valid
        for k in range(n):
            with m.If(taken & (unit.o.payload == k)):
                m.d.sync += held[k].eq(1)
            with m.Elif(given & (slot == k)):
                m.d.sync += held[k].eq(0)
        self.assume(~give | held.bit_select(slot, 1) & (slot < n))

        count = sum(held[k] for k in range(n))
        self.check(~unit.o.valid | (unit.o.payload < n) & ~held.bit_select(unit.o.payload, 1))
        self.check(unit.level == count)
        self.check(~given | unit.i.ready)
        # A free slot is offered after two cycles at the latest.
        missing = Signal(2)
        with m.If(unit.o.valid | (count == n)):
            m.d.sync += missing.eq(0)
        with m.Else():
            m.d.sync += missing.eq(missing + 1)
        self.check(missing < 2)
        most = Signal(range(n + 1))
        m.d.sync += most.eq(unit.level)
        self.check(unit.peak >= most)

        self.reach(count == n, "every slot in use")
        again = Signal()
        with m.If(given):
            m.d.sync += again.eq(1)
        self.reach(again & taken & (held.all() == 0) & (count == n - 1), "a slot comes back and is used again")
