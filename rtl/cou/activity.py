"""The activity of an offload unit, cycle by cycle."""

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import UnitState

Doing = data.StructLayout({"decides": 1, "credit": 1, "packet": 1, "operand": 1, "runs": 1})
"""Activity of the contexts: the trigger looks at one; the oldest of a job waits for a credit, for a packet, for its
operand; one has a pass under way."""

Path = data.StructLayout({"works": 1, "held": 1, "starved": 1})
"""Activity of a path for passes: a beat passes; a beat is there and is not taken; a beat is there, its packet's beat is
not."""


class Activity(wiring.Component):
    """Classifies each cycle of the unit. Activity comes before waiting; of several waits the one
    nearest to the end counts.

    Members
    -------
    lane, engine : ``In(Path)``
        Passes that combine, and those that only send.
    doing : ``In(Doing)``
        Contexts.
    o : ``Out(UnitState)``
        A cycle later.
    """

    def __init__(self):
        super().__init__({
            "lane": In(Path), "engine": In(Path), "doing": In(Doing), "o": Out(range(len(UnitState))),
        })

    def elaborate(self, platform):
        m = Module()
        paths = self.lane, self.engine
        reasons = (
            (UnitState.WORKING, paths[0].works | paths[1].works), (UnitState.OUTPUT, paths[0].held | paths[1].held),
            (UnitState.PACKET, paths[0].starved | paths[1].starved), (UnitState.TRIGGER, self.doing.decides),
            (UnitState.CREDIT, self.doing.credit), (UnitState.PACKET, self.doing.packet),
            (UnitState.OPERAND, self.doing.operand), (UnitState.TRIGGER, self.doing.runs),
        )
        m.d.sync += self.o.eq(UnitState.NOTHING)
        for state, reason in reversed(reasons):
            with m.If(reason):
                m.d.sync += self.o.eq(state)
        return m
