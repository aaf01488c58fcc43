"""Figures of the offload unit that software looks at."""

from amaranth import Array, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import UnitState
from firmware_models.config import Config
from rtl.buffer.buffer_statistics import statistics_layout
from rtl.buffer.packet_buffer import FaultOrder
from rtl.kit.index import index_bits
from rtl.nic.register_signatures import UnitViewSignature
from rtl.nic.state_counters import StateCounters


class UnitFigures(wiring.Component):
    """Shows the registers one unit of several, and counts for each in which state it has been.

    Timing: statistics are a cycle late, for the choice is wide.

    Members
    -------
    view : ``In(UnitViewSignature)``
        Registers.
    states : array of ``In(UnitState)``, statistics : array of ``In``
        Of the units.
    fault : ``Out(FaultOrder)``, arm : array of ``Out(1)``
        Test input of the units' packet buffers.
    """

    def __init__(self, config: Config):
        n = config.nic.n_cous
        super().__init__({
            "view": In(UnitViewSignature(config)), "states": In(range(len(UnitState))).array(n),
            "statistics": In(statistics_layout(index_bits(config.buffer_slots) + 1)).array(n),
            "fault": Out(FaultOrder), "arm": Out(1).array(n),
        })

    def elaborate(self, platform):
        m = Module()
        view, n = self.view, len(self.states)
        selected, cycles = view.select[: max(1, (n - 1).bit_length())], []
        for index, state in enumerate(self.states):
            m.submodules[f"states_{index}"] = counters = StateCounters()
            m.d.comb += [
                counters.state.eq(state), counters.index.eq(view.state_index),
                self.arm[index].eq(view.arm & (view.select == index)),
            ]
            cycles.append(counters.value)
        m.d.comb += [view.state_cycles.eq(Array(cycles)[selected]), self.fault.eq(view.fault)]
        m.d.sync += view.statistics.eq(Array(self.statistics)[selected])
        return m
