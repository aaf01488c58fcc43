"""Commands that fetch descriptors for the scheduler: those of the turn that it serves, and of the one that is offered.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import PureInterface

from rtl.queue.turn_in_progress import TurnInProgress


class FetchCommands:
    """Commands to the descriptor fetch, connected in the scheduler's module.

    They ask for what the turn in progress needs more, and, once it needs nothing more or none is in progress, for what
    the offered turn begins with. A command that is offered stays, whatever becomes of its turn.

    Parameters
    ----------
    m : Module
        The scheduler's.
    serving : TurnInProgress
        The turn in progress.
    turn, fetch
        Ports of the scheduler: to the VP table, which offers the next turn, and to the descriptor fetch.

    Members
    -------
    more
        Set by the scheduler: the turn in progress needs more; a register.
    further
        So many are fetched for the turn in progress when it needs more.
    asked
        They have been asked for. Cleared by the scheduler when it takes the turn.
    """

    def __init__(self, m: Module, serving: TurnInProgress, *, turn: PureInterface, fetch: stream.Interface):
        batch = serving.batch
        self.more, self.is_fetched = Signal(name="more"), Signal(name="is_fetched")
        self.further = Signal(range(batch + 1), name="further")
        offered, command, waits = turn.offer.payload, fetch.payload, Signal(name="command_waits")

        may_begin = ((serving.covered | serving.stands.TURN) & ~turn.stale) | waits
        m.d.comb += [
            self.further.eq(Mux(serving.left < batch, serving.left, batch)),
            fetch.valid.eq(self.more | (turn.offer.valid & offered.serves & ~self.is_fetched & may_begin)),
        ]
        with m.If(fetch.ready):
            m.d.sync += self.more.eq(0)
        m.d.sync += waits.eq(~self.more & fetch.valid & ~fetch.ready)
        with m.If(self.more):
            m.d.comb += [
                command.base.eq(serving.turn.base), command.mask.eq(serving.turn.mask), command.index.eq(serving.cons),
                command.count.eq(self.further),
            ]
        with m.Else():
            m.d.comb += [
                command.base.eq(offered.base), command.mask.eq(offered.mask), command.index.eq(offered.cons),
                command.count.eq(offered.first),
            ]
        with m.If(~self.more & fetch.valid & fetch.ready):
            m.d.sync += self.is_fetched.eq(1)
