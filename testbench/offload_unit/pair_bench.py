"""A RTL unit back to back with its model, under Verilator: random programs, and what goes wrong on purpose."""

from typing import Any

import cocotb
from amaranth import Signal, Value
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.formats import JOB_BITS
from firmware_models.config import Config
from testbench import clock
from testbench.edge import bits
from testbench.offload_unit.pair import Pair
from testbench.offload_unit.scenarios import SCENARIOS
from testbench.offload_unit.stand_in import UnitStandIn, unit_signature
from testbench.offload_unit.wires import Wires
from testbench.runner import parameters, report, rng
from testbench.unit_config import UNIT


class DutWires(Wires):
    """Wires that end at the ports of a component in the simulator.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    interface : interface object
        Of its signature, whose signals stand for its ports.
    """

    def __init__(self, dut: SimHandleBase, interface: Any):
        super().__init__()
        self._handles: dict[int, Any] = {}
        self._samples: dict[int, Any] = {}
        for path, _, value in interface.signature.flatten(interface):
            handle, signal = getattr(dut, "__".join(map(str, path)), None), Value.cast(value)
            if handle is not None:
                self._handles[id(signal)], self._samples[id(signal)] = handle, bits(handle)

    def sample(self, signal: Signal) -> int:
        """Bits of a port."""
        return self._samples[id(signal)]()

    def put(self, signal: Signal, bits: int) -> None:
        """Drives a port, if it does not have these bits already."""
        if self._bits.get(id(signal)) != bits:
            self._handles[id(signal)].value = bits
            super().put(signal, bits)


def config() -> Config:
    """Of both units, as the test has made them."""
    return UNIT.changed(**parameters()["config"])


async def run(dut: SimHandleBase, pair: Pair, interface: Any, *, cycles: int) -> None:
    """Lets a pair run whose node 0 is the component."""
    await clock.start(dut, max_cycles=2 * cycles)
    # Orders about jobs are heard once all jobs are open.
    await clock.cycles(dut, (1 << JOB_BITS) + 10)
    contexts, edge = [DutWires(dut, interface), Wires()], RisingEdge(dut.clk)
    pair.begin()
    for _ in range(cycles):
        pair.drive(contexts)
        await edge
        if not pair.settle(contexts):
            break
    pair.end(contexts)


@cocotb.test()
async def scenarios(dut: SimHandleBase) -> None:
    """All kinds of programs, one after the other."""
    for name in parameters()["scenarios"]:
        numbers, built = rng(name), config()
        interface = unit_signature(built).create()
        units = [interface, UnitStandIn(built, numbers)]
        pair = SCENARIOS[name](units, built, numbers, parameters()["conversations"])
        await run(dut, pair, interface, cycles=20_000)
        report(**{name: [len(node.around.events) for node in pair.nodes]})
