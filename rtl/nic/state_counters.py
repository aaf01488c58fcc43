"""Cycles of an offload unit, by what it did or waited for."""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import UnitState
from firmware_models.abi.registers import STATE_COUNTERS
from rtl.kit.quiescent import TIMER

COUNT_BITS = 64


class StateCounters(wiring.Component):
    """Adds up cycles by state. All counters together have counted every cycle since reset, but for the last.

    A register counts cycles of the same state that follow each other; it is added to the state's entry in a memory
    when another state comes.

    Timing: `value` follows `index` in the same cycle; a cycle is counted a cycle later.

    Members
    -------
    state : ``In(UnitState)``
        In this cycle.
    index : ``In(range(n))``
        Counter to be looked at.
    value : ``Out(64)``
        Its cycles.
    """

    def __init__(self):
        states = range(len(STATE_COUNTERS))
        super().__init__({
            "state": In(states), "index": In(states), "value": Out(COUNT_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        n = len(STATE_COUNTERS)
        m.submodules.store = store = memory.Memory(shape=COUNT_BITS, depth=n, init=[])
        write, kept, shown = store.write_port(), store.read_port(domain="comb"), store.read_port(domain="comb")

        # A reset does not reach into the memory: what has been written since counts.
        written = Signal(n)
        state, run = Signal(range(n), init=UnitState.NOTHING), Signal(COUNT_BITS, attrs={TIMER: 1})
        # Count of the state before it began: read as it begins, when another one is written.
        before = Signal(COUNT_BITS)
        changes = Signal()
        m.d.comb += [
            changes.eq(self.state != state), kept.addr.eq(self.state), write.addr.eq(state), write.en.eq(changes),
            write.data.eq(before + run), shown.addr.eq(self.index),
        ]
        # That another one comes is known late in a cycle: the sum does not wait for it.
        m.d.sync += run.eq(Mux(changes, 1, run + 1))
        # The sum of the state that lasts is there anyway; of the others there is nothing to add.
        m.d.comb += self.value.eq(
            Mux(state == self.index, write.data, Mux(written.bit_select(self.index, 1), shown.data, 0))
        )
        with m.If(changes):
            m.d.sync += [
                state.eq(self.state), written.bit_select(state, 1).eq(1),
                before.eq(Mux(written.bit_select(self.state, 1), kept.data, 0)),
            ]
        return m
