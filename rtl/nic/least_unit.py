"""Which offload unit has the least to do."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import UNIT_BITS


class LeastUnit(wiring.Component):
    """A tournament: the unit with the fewest jobs, among those the one with the emptiest buffer, then the first one.

    Each round ends in registers, so the answer is as many cycles old as there are rounds. Since then jobs may have
    gone, but none has come: `valid` is low until an assignment has passed through. So the unit named has no more jobs
    than it won with.

    Parameters
    ----------
    n_units : int
        Units, a power of two.
    n_jobs : int
        Most jobs that a unit can have.
    level_bits : int
        Bits of a buffer's level.
    unit_bits : int
        Bits of the number of a unit.

    Members
    -------
    jobs, levels : arrays of n_units ``In``
        What the units have.
    taken : ``In(1)``
        `unit` has been given a job; its count says so from the next cycle on.
    unit : ``Out``, valid : ``Out(1)``
        The winner.
    """

    def __init__(self, *, n_units: int, n_jobs: int, level_bits: int, unit_bits: int = UNIT_BITS):
        self.n_units, self.n_jobs, self.level_bits, self.unit_bits = n_units, n_jobs, level_bits, unit_bits
        super().__init__({
            "jobs": In(range(n_jobs + 1)).array(n_units),
            "levels": In(level_bits).array(n_units),
            "taken": In(1),
            "unit": Out(unit_bits),
            "valid": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        entrants = [(Cat(self.levels[k], self.jobs[k]), k) for k in range(self.n_units)]
        rounds = 0
        while len(entrants) > 1:
            winners = []
            for k in range(0, len(entrants), 2):
                (load, unit), (other_load, other_unit) = entrants[k : k + 2]
                best_load = Signal(len(load), name=f"load_{rounds}_{k}")
                best_unit = Signal(self.unit_bits, name=f"unit_{rounds}_{k}")
                other = other_load < load
                m.d.sync += [best_load.eq(Mux(other, other_load, load)), best_unit.eq(Mux(other, other_unit, unit))]
                winners.append((best_load, best_unit))
            entrants = winners
            rounds += 1
        m.d.comb += self.unit.eq(entrants[0][1])

        stale = Signal(range(rounds + 1))
        m.d.comb += self.valid.eq(stale == 0)
        with m.If(self.taken):
            m.d.sync += stale.eq(rounds)
        with m.Elif(stale != 0):
            m.d.sync += stale.eq(stale - 1)
        return m
