"""The order-preserving trigger: what can go on does."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal

from firmware_models.abi.formats import PEER_BITS
from testbench.formal.contracts.trigger import TriggerContract
from testbench.formal.contracts.trigger_environment import SEQ_BITS

FEW_STEPS = 8
"""Operand, look-up, credit, address and its report, length, pass; or a look-up for each packet that may be missing."""


class ProgressContract(TriggerContract):
    """A context for which something can be done has it done within a bound, cycles not counted in which others make
    the trigger wait.

    Nothing can be done for one that waits for its operand, the end of its pass, an answer, a packet that a look-up has
    missed and that has not come since, or a credit that was refused and none of which has come back since from its
    peer.

    Parameters
    ----------
    bound : int
        Cycles until its next step: a request, a report, a pass.
    """

    def __init__(self, *, bound: int, **parameters: Any):
        super().__init__(**parameters)
        self.bound = bound

    def claim(self, m: Module) -> None:
        unit, packets, credit = self.unit, self.packets, self.credit
        # Alone in the trigger: every request is its own.
        self.assume(~unit.i_start.valid | (self.operations.job == self.job) & (self.operations.pulse == self.pulse))
        reason, blocked, missing = (Signal(name=name) for name in ("reason", "blocked", "missing"))
        peer, asked_peer = Signal(PEER_BITS), unit.credits.ask.request.payload.peer
        back = self.returned & (self.returned_peer == Mux(credit.asks, asked_peer, peer))
        changed, needed = back | self.expired, Signal(SEQ_BITS)
        with m.If(credit.asks):
            m.d.sync += [reason.eq(changed), blocked.eq(0), peer.eq(asked_peer)]
        with m.Elif(changed):
            m.d.sync += reason.eq(1)
        with m.If(credit.answers):
            m.d.sync += blocked.eq(~self.granted)
        with m.If(packets.asked):
            m.d.sync += [missing.eq(0), needed.eq(packets.asked_seq)]
        with m.Elif(packets.answered):
            m.d.sync += missing.eq(~packets.hit)
        with m.If(self.begins | self.passed):
            m.d.sync += [blocked.eq(0), missing.eq(0)]
        absent = missing & ~(packets.there | packets.reported).bit_select(needed, 1) & ~self.expired
        waits = (
            self.passes.busy.any() | self.loads.busy.any() | packets.unanswered | credit.waits
            | self.window.waits | blocked & ~reason | absent
        )
        # A request for a credit that is not to be decided on is no reason to wait.
        request = unit.credits.ask.request
        steps_of = (
            unit.o_fault, unit.operands.load.request, unit.packets.lookup.request, unit.passes.run, unit.passes.send,
            unit.window.query,
        )
        stalls = Cat(
            port.valid & ~port.ready for port in (*steps_of, unit.o_damage)
        ).any() | request.valid & ~request.ready & ~unit.credits.ask.hold
        steps = Cat(port.valid & port.ready for port in (*steps_of, request)).any()
        idle = Signal(range(self.bound + 2))
        with m.If(~self.alive | waits | steps):
            m.d.sync += idle.eq(0)
        with m.Elif(~stalls):
            m.d.sync += idle.eq(idle + 1)
        self.check(idle <= self.bound)
        # The steps lead somewhere: without an answer to wait for there are few of them before a pass, or the end.
        few = Signal(range(FEW_STEPS + 2), name="few")
        with m.If(~self.alive | self.passed | blocked | self.loads.busy.any()):
            m.d.sync += few.eq(0)
        with m.Elif(steps):
            m.d.sync += few.eq(few + 1)
        self.check(few <= FEW_STEPS)
        # The trigger accepts each item at once, or a few cycles later.
        for port, name in ((unit.i_start, "start"), (unit.passes.done, "done")):
            ignored = Signal(3, name=f"{name}_ignored")
            with m.If(port.valid & ~port.ready & ~stalls):
                m.d.sync += ignored.eq(ignored + 1)
            with m.Elif(~port.valid | port.ready):
                m.d.sync += ignored.eq(0)
            self.check(ignored <= 4)
        woken, again = Signal(), Signal()
        with m.If(missing & packets.comes & (packets.comes_seq == needed)):
            m.d.sync += woken.eq(1)
        with m.If(blocked & back):
            m.d.sync += again.eq(1)
        self.reach(woken & self.takes, "a packet that was waited for")
        self.reach(again & self.passed, "a pass whose credit was refused before")
