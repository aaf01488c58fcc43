"""Detects that a design is at rest: nothing in it changes until an input does."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

DRAIN_CYCLES = 16
"""Cycles without work after which a design without registers between its blocks says that it is at rest."""


def drain_cycles() -> int:
    """The same for a design with registers between its blocks: what follows others has longer ways then.

    A NIC has them, and an offload unit; four times as many cycles are far above what the proofs find
    (``docs/formal.md``).
    """
    return 4 * DRAIN_CYCLES


def any_moves(*parts: Value) -> Value:
    """High while one of several parts is at work.

    A part that can change by itself has a member `moves`, a register: whether it was at work in the cycle before. It is
    enough that every circle in which something could go on changing holds one such register; what merely follows
    others comes to rest behind them.
    """
    return Cat(*parts).any()


class Quiescence(wiring.Component):
    """Reports a design at rest once no part has been active for some cycles.

    If `quiescent` is high in a cycle, then as long as no event comes no register of the design changes and no memory is
    written, whatever its other inputs do. That this is so is a property of the design; ``docs/formal.md`` says how it
    is proved. A cycle in which an event comes is still one of rest, the next one is not.

    Timing: `quiescent` is a register. Events act in the next cycle; `moves` may come some cycles late, as long
    as it comes while `cycles` are counted.

    Parameters
    ----------
    cycles : int
        Cycles without events and without work before `quiescent` rises: a power of two, at least 2. They must cover
        those that `moves` is late, and those that registers need which merely follow others.

    Members
    -------
    moves : ``In(1)``
        Something is at work.
    event : ``In(1)``
        An input event.
    quiescent : ``Out(1)``
        Nothing changes until an event comes.
    """

    def __init__(self, *, cycles: int):
        if not isinstance(cycles, int) or cycles < 2 or cycles & (cycles - 1):
            raise ValueError(f"cycles must be a power of two from 2 on, not {cycles!r}")
        self.cycles = cycles
        super().__init__({"moves": In(1), "event": In(1), "quiescent": Out(1)})

    def elaborate(self, platform):
        m = Module()
        # The highest bit of the count is the answer, and stops it.
        moved = Signal(init=1)
        count = Signal(range(self.cycles + 1))
        m.d.sync += [
            moved.eq(self.moves),
            count.eq(Mux(moved | self.event, 0, count + ~self.quiescent)),
        ]
        m.d.comb += self.quiescent.eq(count[-1])
        return m
