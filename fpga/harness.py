"""A unit between registers, behind three pins: what is placed when a unit's own speed is to be measured.

```
 d ─► shift register ─► operand registers ─► unit ─► result registers ─► pipelined XOR tree ─► q
```
"""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

_tree_inputs = 4


class Harness(wiring.Component):
    """Feeds a component from registers and reads it into registers, so that no path but its own is slow.

    Every input bit has a register of its own in front, every output bit one behind; the operands come in bit by
    bit, the results go out as their parity, at one four-input cell a cycle. So nothing can be optimised away, and no
    pin's timing counts.

    Parameters
    ----------
    component : wiring.Component
        The unit; any interface.

    Members
    -------
    d : ``In(1)``
        Bits of the operands.
    q : ``Out(1)``
        Parity of the results.
    """

    def __init__(self, component: wiring.Component):
        self.component = component
        super().__init__({"d": In(1), "q": Out(1)})

    def elaborate(self, platform: object) -> Module:
        """Builds it around the component."""
        m = Module()
        m.submodules.unit = unit = self.component
        ports = [(member.flow, Value.cast(value)) for _, member, value in unit.signature.flatten(unit)]
        inputs = [value for flow, value in ports if flow is In]
        width = sum(map(len, inputs))

        shifted, operands = Signal(width, reset_less=True), Signal(width, reset_less=True)
        m.d.sync += [shifted.eq(Cat(self.d, shifted)), operands.eq(shifted)]
        place = 0
        for value in inputs:
            m.d.comb += value.eq(operands[place:place + len(value)])
            place += len(value)

        results = Cat(value for flow, value in ports if flow is Out)
        m.d.sync += (row := Signal(len(results), name="results", reset_less=True)).eq(results)
        while len(row) > 1:
            parity = Cat(row[start:start + _tree_inputs].xor() for start in range(0, len(row), _tree_inputs))
            m.d.sync += (row := Signal(len(parity), name="parity", reset_less=True)).eq(parity)
        m.d.comb += self.q.eq(row)
        return m
