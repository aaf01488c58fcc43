"""Figures of the offload unit that software looks at."""

from amaranth import Array, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import UnitState
from firmware_models.abi.registers import CONTROL_PAGE
from rtl.buffer.buffer_statistics import statistics_layout
from rtl.buffer.packet_buffer import FaultOrder
from rtl.nic.register_signatures import UnitViewSignature
from rtl.nic.state_counters import StateCounters


class UnitFigures(wiring.Component):
    """Shows the registers one unit of several, and counts for each in which state it has been.

    Timing: statistics are a cycle late, for the choice is wide.

    Parameters
    ----------
    n_cous : int
        Offload units, from 1 to as many as the registers can select.
    level_bits : int
        Bits of a number of packets in a packet buffer.

    Members
    -------
    view : ``In(UnitViewSignature)``
        Registers.
    states : array of ``In(UnitState)``, statistics : array of ``In``
        Of the units.
    fault : ``Out(FaultOrder)``, arm : array of ``Out(1)``
        Test input of the units' packet buffers.
    """

    def __init__(self, *, n_cous: int, level_bits: int):
        most = 1 << CONTROL_PAGE["buffer_select"].width
        if not 1 <= n_cous <= most:
            raise ValueError(f"n_cous must be 1 to {most}, not {n_cous!r}")
        super().__init__({
            "view": In(UnitViewSignature(level_bits)), "states": In(range(len(UnitState))).array(n_cous),
            "statistics": In(statistics_layout(level_bits)).array(n_cous),
            "fault": Out(FaultOrder), "arm": Out(1).array(n_cous),
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
