"""What the scheduler has fetched: descriptors of the turn that it serves, and of the one that is offered."""

from amaranth import Module, Mux, Signal

from rtl.queue.turn_in_progress import TurnInProgress


class FetchCommands:
    """Commands to the descriptor fetch, connected in the scheduler's module.

    They ask for what the turn in progress needs more, and, once it needs nothing more or none is in progress, for what
    the offered turn begins with. A command that is offered stays, whatever becomes of its turn.

    Parameters
    ----------
    m : Module
        The scheduler's.
    turn, stale, fetch
        Its ports: the offered turn, whether that may be served, and the descriptor fetch.
    serving : TurnInProgress
        The turn in progress.
    batch : int
        Most descriptors to fetch at once.

    Members
    -------
    more, resting
        Set by the scheduler: the turn in progress needs more (a register); none is in progress.
    begins, wanted
        There is something to serve in the offered turn; so many descriptors are fetched to begin with.
    further
        So many are fetched for the turn in progress when it needs more.
    wants_all
        That is all that there are.
    asked
        They have been asked for. Cleared by the scheduler when it takes the turn.
    """

    def __init__(self, m: Module, *, turn, stale, fetch, serving: TurnInProgress, batch: int):
        self.more, self.resting, self.begins, self.asked, self.wants_all = (
            Signal(name=name) for name in ("more", "resting", "begins", "asked", "wants_all")
        )
        self.wanted, self.further = (Signal(range(batch + 1), name=name) for name in ("wanted", "further"))
        offered, command, waits = turn.payload, fetch.payload, Signal(name="command_waits")

        def at_most(count):
            return Mux(count < batch, count, batch)

        may_begin = ((serving.covered | self.resting) & ~stale) | waits
        m.d.comb += [
            self.begins.eq(offered.enable & (offered.count != 0) & (offered.room != 0)),
            self.wanted.eq(Mux(offered.blocked, 1, at_most(offered.count))),
            self.further.eq(at_most(serving.left)),
            self.wants_all.eq(offered.count <= Mux(offered.blocked, 1, batch)),
            fetch.valid.eq(self.more | (turn.valid & self.begins & ~self.asked & may_begin)),
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
                command.count.eq(self.wanted),
            ]
        with m.If(~self.more & fetch.valid & fetch.ready):
            m.d.sync += self.asked.eq(1)
